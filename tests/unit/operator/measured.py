"""The measured effect of a change of one field on a settled cluster: plan, objects and Secrets."""

import asyncio
import base64
import random
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.access.dashboards import DashboardsTls
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.replacement import ReplacementPolicy
from stateward.api.kinds.search import SearchCluster
from stateward.api.parse import convert_cluster
from stateward.api.schema.custom_resources import FOUNDATIONDB, Kind
from stateward.api.schema.living import Does
from stateward.api.validation import errors, validate
from stateward.api.values.base import Json
from stateward.cli.preview.preview import Kind as Change
from stateward.cli.preview.preview import preview
from stateward.engines.exporter import objects as exporter
from stateward.engines.exporter.objects import asked_of
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.database.upkeep import redundancy_change
from stateward.engines.foundationdb.spec.security import requested
from stateward.engines.search.configuration.security import secured
from stateward.engines.search.dashboards import objects
from stateward.engines.search.dashboards.frontend import frontend
from stateward.engines.search.dashboards.routes import manifest, routes_of
from stateward.engines.search.dashboards.settings import Secrets, files
from stateward.engines.search.remote.decision import Wanted, values
from stateward.engines.search.remote.objects import address
from stateward.engines.search.spec.consent import named
from stateward.forecast.forecast import run_forecast
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.engine import Family, family_of
from stateward.operator.detection.cronjob import Place, cron_job
from stateward.operator.network.policy import network_policy
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.security.foundationdb_tls import TransportKeeper
from stateward.operator.security.own_secrets import RAW_SECRETS
from stateward.operator.security.protection import refusals
from stateward.operator.security.security import Keeper
from stateward.planning.model.observation import Database, Desired, Health, Observation, Unknown
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock

NOW = 1_000.0
PLACE = Place("stateward-system", "stateward:1")
KEPT_MEMBERS = {
    Change.RELOAD: Does.RELOAD,
    Change.RESTART: Does.RESTART,
    Change.RECREATE: Does.RECREATE,
    Change.REPLACE: Does.REPLACE,
    Change.CREATE: Does.MEMBERS,
    Change.REMOVE: Does.MEMBERS,
}
HARDEST = (Does.MEMBERS, Does.REPLACE, Does.RECREATE, Does.RESTART, Does.RELOAD)
"""What counts where members of one cluster meet different ends: a replacement also creates."""


class SettledCluster:
    """Clusters of one kind, and the Secrets that secured ones have."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        found = next(k for k in CLUSTER_KINDS if k.resource.kind == kind.name)
        self.family: Family = family_of(found, cast("Any", None), cast("Any", None), "stateward-agent:1")
        self.clock = clock = WorldClock(asyncio.get_running_loop())
        store = Store(clock.monotonic, clock.now)
        self.api = WorldApi(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
        self.keeper = Keeper(self.api, Caches(found), clock)
        self.tls: bool | None = None
        self.transport = TransportKeeper(self.api, Caches(found), clock)

    def typed(self, spec: Json, status: Json | None = None) -> Cluster:
        meta = {"name": "c", "namespace": "data", "uid": "u"}
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": self.kind.name, "metadata": meta}
        return convert_cluster({**head, "spec": deepcopy(spec), "status": status or {}})

    def settled(self, cluster: Cluster) -> Observation:
        """Return the observation of a cluster that has become what it should be, with agents in all pods."""
        desired = replace(self.family.desired(cluster), formed_by_word=False, agent="")
        there = Database(identity="id", health=Health.GREEN, nodes={}) if self.kind is FOUNDATIONDB else None
        database = there or Unknown("not formed yet")
        start = Observation("c", "data", "u", 1, desired, members=(), database=database)
        end = run_forecast(start, NOW).end
        members = tuple(replace(m, pod=replace(m.pod, agent=True) if m.pod else None) for m in end.members)
        return replace(end, members=members)

    async def secured(self, cluster: Cluster) -> tuple[Cluster, bool]:
        """Return the cluster as its keeper has secured it, and whether what was given is refused."""
        if isinstance(cluster, FoundationDBCluster):
            # It is created with the first spec, and keeps it.
            self.tls = bool(requested(cluster)) if self.tls is None else self.tls
            found = await self.transport.keep(cluster, on=self.tls)
            return found.cluster, bool(found.refusals)
        if not isinstance(cluster, SearchCluster):
            return cluster, False
        kept = await self.keeper.keep(cluster)
        return kept.cluster, kept.protection is not None and bool(refusals(cluster, kept.protection))

    async def begin(self) -> "SettledCluster":
        """Make the namespace of the clusters."""
        await self.api.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
        return self

    async def give(self, name: str, files: Mapping[str, str]) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in files.items()}
        body = {"metadata": {"name": name, "namespace": "data"}, "data": data}
        await self.api.create(kinds.SECRETS, body, namespace="data")

    async def secrets(self) -> list[Json]:
        """Return the content of the Secrets that the cluster has."""
        found: list[Json] = []
        for name in ("c-ca", "c-tls", "c-operator-tls", "c-client-tls", "c-admin"):
            with suppress(NotFound):
                found.append((await self.api.get(RAW_SECRETS, Key("data", name)))["data"])
        return found

    async def measure(self, before: Json, after: Json) -> Does:
        """Return what follows from a change of a settled cluster's spec."""
        if errors(validate(self.typed(after))):
            return Does.REFUSED
        version = before["version"]
        status = {"version": version, "clusterUUID": "id"}
        old, _ = await self.secured(self.typed(before, status))
        given = await self.secrets()
        new, refused = await self.secured(replace(self.typed(after, status), status=old.status))
        if refused:
            return Does.REFUSED
        start = self.settled(old)
        wanted = self.family.desired(new)
        shown = preview(replace(start, desired=replace(wanted, formed_by_word=False, agent="")), NOW)
        if shown.refused:
            return Does.REFUSED
        found = {KEPT_MEMBERS[change.effect] for change in shown.members if change.effect is not Change.NONE}
        if Does.REPLACE in found:
            return Does.REPLACE
        if found:
            return next(does for does in HARDEST if does in found)
        differs = essence(self.family.desired(old)) != essence(wanted) or self.objects(old) != self.objects(new)
        differs = differs or told(old, new) or await self.secrets() != given
        return Does.AT_ONCE if differs else Does.NOTHING

    def objects(self, cluster: Cluster) -> list[Json]:
        """Return the objects that all members share, the CronJob and the NetworkPolicy."""
        existing = ClusterObjects(cluster, sets=(), pods=(), claims=(), secrets=(), nodes={}, classes={})
        policy = cluster.spec.replacement or ReplacementPolicy()
        job = [cron_job(PLACE, "engine", Key("data", "c"), policy)] if policy.enabled else []
        network = network_policy(cluster, self.family.kind.engine, PLACE.namespace)
        engine = self.family.kind.engine
        beside = beside_the_database(cluster, engine) if isinstance(cluster, SearchCluster) else []
        found = [*self.family.cluster_objects(existing, ()), *job, network, *beside, *exporter_of(cluster, engine)]
        return [*found, *remote_of(cluster)]


def remote_of(cluster: Cluster) -> list[Json]:
    """Return the settings in the database for remote clusters, if these exist and let themselves be searched."""
    asked = (cluster.spec.remote_clusters or []) if isinstance(cluster, SearchCluster) else []
    return [
        {each.name: values(Wanted(address(named(cluster, each.cluster)), each.skip_unavailable))}
        for each in asked
        if isinstance(cluster, SearchCluster)
    ]


def exporter_of(cluster: Cluster, engine: str) -> list[Json]:
    """Return the exporter of metrics."""
    asked = asked_of(cluster)
    if asked is None:
        return []
    return [exporter.deployment(cluster, asked, engine, image="stateward:1", config="config")]


def beside_the_database(cluster: SearchCluster, engine: str) -> list[Json]:
    """Return the objects of the dashboards, and the routes."""
    which, asked = frontend(cluster), cluster.spec.dashboards
    safe = secured(cluster)
    found = [manifest(route, cluster, {}) for route in routes_of(cluster, secured=safe)]
    if asked is None:
        return found
    version = asked.version or cluster.spec.version
    given = (asked.tls or DashboardsTls()).secret_name or "own"
    trusted = "trusted" if safe else ""
    keys = Secrets("session", "objects", "reporting", trusted, "user", "password", certificate=given, key="key")
    content = files(which, cluster, asked, version, keys)
    body = objects.deployment(
        which,
        cluster,
        asked,
        engine,
        version=version,
        replicas=asked.replicas,
        secured=safe,
        config=objects.config_name(cluster, content),
    )
    return [*found, body, objects.service(which, cluster, asked, engine, secured=safe)]


def essence(desired: Desired) -> Desired:
    """Return what should be but for what members are made from, which shows in what happens to them."""
    bare = tuple(replace(pool, inputs={}, held_inputs={}, crossings={}) for pool in desired.pools)
    return replace(desired, pools=bare)


def told(before: Cluster, after: Cluster) -> bool:
    """Return whether the database receives a command."""
    if not isinstance(before, FoundationDBCluster) or not isinstance(after, FoundationDBCluster):
        return False
    mode = {"cluster": {"configuration": {"redundancy_mode": before.spec.redundancy.value}}}
    status = msgspec.convert(mode, Status)
    return bool(redundancy_change(FoundationTarget((), "c", cluster=after), status))
