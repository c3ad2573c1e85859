"""Members trust the CAs of the clusters that both sides have joined: public certificates, and no longer than that."""

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from stateward import pki
from stateward.api.kinds.search import OpenSearchCluster, SearchCluster
from stateward.api.parse import convert_cluster
from stateward.api.values.base import Json
from stateward.engines.search.spec.consent import Place
from stateward.kube.client.client import ApplyOptions, PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Unavailable
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.secret_content import text_content
from stateward.operator.objects.caches import Caches
from stateward.operator.security.material import Material, Stored, desired_material
from stateward.operator.security.own_secrets import RAW_SECRETS
from stateward.operator.security.protection import protection
from stateward.operator.security.remote_trust import MOST, file_of, remote_authorities, together
from stateward.operator.security.security import Keeper
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock
from tests.unit.pki.year_zero import without_a_life

NOW = 1_800_000_000.0
DAY = 86400.0
THERE = Place("b", "events")
THEIRS = pki.new_authority("events CA", NOW)
NEXT = pki.new_authority("events CA", NOW)
LEAF = pki.issue(THEIRS.signs, "member.x", ["events.b.svc"], NOW)


def trusted(
    others: Mapping[Place, str | None], before: dict[str, str] | None = None, now: float = NOW
) -> dict[str, str]:
    return remote_authorities(others, before or {}, now)


def test_a_bundle_is_taken_with_all_its_authorities_and_nothing_else() -> None:
    """The next CA is trusted before it signs; a certificate of a member, a key or noise is no CA."""
    bundle = f"{THEIRS.bundle}{LEAF.certificate}{THEIRS.signs.key}noise\n{NEXT.bundle}"
    assert trusted({THERE: bundle}) == {file_of(THERE): THEIRS.bundle + NEXT.bundle}
    assert trusted({THERE: THEIRS.signs.key + LEAF.certificate}) == {}


def test_what_cannot_be_read_now_stays_and_what_is_not_joined_goes() -> None:
    known = trusted({THERE: THEIRS.bundle})
    assert trusted({THERE: None}, known) == known
    assert trusted({THERE: "no certificate"}, known) == known
    assert trusted({}, known) == {}
    assert trusted({THERE: NEXT.bundle}, known) == {file_of(THERE): NEXT.bundle}
    assert trusted({THERE: None}, {file_of(Place("c", "events")): THEIRS.bundle}) == {}


def test_an_authority_that_has_ended_or_not_begun_is_not_trusted() -> None:
    """OpenSearch would load no changed certificate with it: the cluster's own ones would run out."""
    coming = pki.new_authority("events CA", NOW + 10 * DAY)
    assert trusted({THERE: coming.bundle}) == {}
    known = trusted({THERE: THEIRS.bundle})
    assert trusted({THERE: None}, known, NOW + 6 * 365 * DAY) == {}


def test_another_owner_cannot_fill_the_file() -> None:
    many = "".join(pki.new_authority(f"{i} CA", NOW).bundle for i in range(MOST + 3))
    assert len(pki.split(trusted({THERE: many})[file_of(THERE)])) == MOST


def test_an_authority_of_another_cluster_whose_life_cannot_be_read_is_not_trusted() -> None:
    """It ended every round of the clusters that are joined with its owner's."""
    assert trusted({THERE: without_a_life() + THEIRS.bundle}) == {file_of(THERE): THEIRS.bundle}


def cluster(namespace: str, name: str, **spec: Any) -> SearchCluster:
    body: Json = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 1}], "security": {"enabled": True}, **spec}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster"}
    meta = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
    found = convert_cluster({**head, "metadata": meta, "spec": body})
    assert isinstance(found, SearchCluster)
    return found


LOGS = cluster("a", "logs", remoteClusters=[{"name": "east", "cluster": {"name": "events", "namespace": "b"}}])
EVENTS = cluster("b", "events", remoteAccess={"from": [{"name": "logs", "namespace": "a"}]})


def material(known: Stored, now: float = NOW) -> Material:
    found = desired_material(LOGS, known, now).material
    assert found is not None
    return found


def stored(found: Material, others: Mapping[Place, str | None] | None = None) -> Stored:
    authority, members, operator = found.files
    return Stored(authority, members, operator, others=others or {})


FIRST = material(Stored())


def test_members_trust_the_other_cluster_and_clients_and_the_operator_do_not() -> None:
    joined = material(stored(FIRST, {THERE: THEIRS.bundle}))
    authority, members, operator = joined.files
    assert members["ca.crt"] == FIRST.authority.bundle + THEIRS.bundle
    assert "PRIVATE" not in members[file_of(THERE)]
    for files in (authority, operator):
        assert THEIRS.bundle not in "".join(files.values())
    assert replace(joined, remote={}) == FIRST


def test_members_that_must_restart_for_it_are_told_by_the_mark() -> None:
    marks = [
        protection(LOGS, desired_material(LOGS, stored(FIRST, others), NOW), "", on=True).mark
        for others in ({}, {THERE: THEIRS.bundle}, {THERE: NEXT.bundle}, {THERE: ""})
    ]
    assert marks[0] == marks[3]
    assert len(set(marks)) == 3


def test_a_lost_authority_is_not_followed_by_one_that_takes_the_others_for_its_own() -> None:
    _, members, operator = material(stored(FIRST, {THERE: THEIRS.bundle})).files
    again = material(Stored(None, members, operator, others={THERE: None}))
    assert pki.split(FIRST.authority.bundle)[0] in again.authority.retired
    assert THEIRS.bundle not in again.authority.bundle
    assert THEIRS.bundle in again.files[1]["ca.crt"]
    alone = material(Stored(None, members, operator))
    assert THEIRS.bundle not in alone.files[1]["ca.crt"]


def test_one_authority_of_both_is_trusted_once() -> None:
    assert (
        together(THEIRS.bundle, {"a": THEIRS.bundle, "b": THEIRS.bundle + NEXT.bundle}) == THEIRS.bundle + NEXT.bundle
    )


class Unreadable(WorldApi):
    """An API server that does not show certain Secrets."""

    hidden: frozenset[str] = frozenset()

    async def get(self, resource: Resource[Any], key: Key) -> Any:
        if resource.plural == "secrets" and key.name in self.hidden:
            raise Unavailable("the Secret cannot be read now")
        return await super().get(resource, key)


class Two:
    """Two clusters in one cache, and their keeper."""

    def __init__(self, *clusters: SearchCluster) -> None:
        clock = WorldClock(asyncio.get_running_loop())
        store = Store(clock.monotonic, clock.now)
        self.api = Unreadable(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
        self.caches = Caches()
        self.keeper = Keeper(self.api, self.caches, clock)
        self.version = 0
        for each in clusters:
            self.show(each)

    def show(self, one: SearchCluster) -> None:
        """Have the cache know a cluster, in its newest version."""
        self.version += 1
        self.caches.clusters.wrote(replace(one, metadata=replace(one.metadata, resource_version=str(self.version))))

    async def begin(self) -> "Two":
        for name in ("a", "b"):
            await self.api.create(kinds.NAMESPACES, {"metadata": {"name": name}})
        return self

    async def trust(self, one: SearchCluster) -> str:
        await self.keeper.keep(one)
        meta = one.metadata
        return text_content(await self.api.get(RAW_SECRETS, Key(meta.namespace, f"{meta.name}-tls")))["ca.crt"]

    async def authority(self, one: SearchCluster) -> str:
        meta = one.metadata
        return text_content(await self.api.get(RAW_SECRETS, Key(meta.namespace, f"{meta.name}-ca")))["ca.crt"]


async def test_both_sides_trust_each_other_once_both_have_written_it() -> None:
    two = await Two(LOGS, EVENTS).begin()
    await two.trust(LOGS)
    both = await two.trust(EVENTS)
    assert both == await two.authority(EVENTS) + await two.authority(LOGS)
    assert await two.trust(LOGS) == await two.authority(LOGS) + await two.authority(EVENTS)
    two.show(cluster("b", "events"))
    assert await two.trust(LOGS) == await two.authority(LOGS)


@pytest.mark.parametrize(
    "other",
    [
        cluster("b", "events"),
        cluster("b", "events", remoteAccess={"from": [{"name": "logs"}]}),
        cluster("b", "events", remoteClusters=[{"name": "x", "cluster": {"name": "logs", "namespace": "a"}}]),
        cluster(
            "b", "events", remoteAccess={"from": [{"name": "logs", "namespace": "a"}]}, security={"enabled": False}
        ),
    ],
)
async def test_without_the_others_word_nothing_is_trusted(other: SearchCluster) -> None:
    two = await Two(LOGS, other).begin()
    await two.trust(EVENTS)  # Its Secrets are there.
    assert await two.trust(LOGS) == await two.authority(LOGS)
    two.show(replace(LOGS, spec=replace(LOGS.spec, remote_clusters=None)))
    assert await two.trust(EVENTS) == await two.authority(EVENTS)


async def test_an_unreadable_secret_of_the_other_stops_nothing_and_takes_nothing_away() -> None:
    two = await Two(LOGS, EVENTS).begin()
    await two.trust(EVENTS)
    before = await two.trust(LOGS)
    two.api.hidden = frozenset({"events-ca"})
    again = Keeper(two.api, two.caches, WorldClock(asyncio.get_running_loop()))
    two.keeper = again
    assert await two.trust(LOGS) == before


async def test_a_secret_of_the_name_that_the_other_cluster_does_not_have_is_not_taken() -> None:
    two = await Two(LOGS, EVENTS).begin()
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "events-ca", "namespace": "b"}}
    await two.api.apply(
        kinds.SECRETS, Key("b", "events-ca"), {**body, "stringData": {"ca.crt": THEIRS.bundle}}, ApplyOptions("person")
    )
    assert await two.trust(LOGS) == await two.authority(LOGS)
    await two.api.patch(
        kinds.SECRETS, Key("b", "events-ca"), {"metadata": {"labels": {"a": "b"}}}, kind=PatchKind.MERGE
    )
    assert await two.trust(LOGS) == await two.authority(LOGS)


async def test_a_cluster_that_is_being_deleted_is_not_trusted() -> None:
    two = await Two(LOGS, EVENTS).begin()
    await two.trust(EVENTS)
    assert isinstance(EVENTS, OpenSearchCluster)
    two.show(replace(EVENTS, metadata=replace(EVENTS.metadata, deletion_timestamp="2026-01-01T00:00:00Z")))
    assert await two.trust(LOGS) == await two.authority(LOGS)
