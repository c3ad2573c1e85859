"""Keeps the NetworkPolicy of each cluster, or removes all of them if the operator is configured to create none.

Level-based, as detection is: the desired policies follow from the clusters, the existing ones are listed, and the
difference is applied. A policy whose cluster this process does not know completely is left alone: unknown is not
absent.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from stateward.api.kinds.cluster import Cluster
from stateward.api.validation import errors, validate
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.metadata import Key, PartialObject, key_of
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import NETWORK_POLICIES
from stateward.kube.timing.clock import Clock
from stateward.operator.network.policy import network_policy, policy_name
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import ClusterKind
from stateward.operator.objects.waves import Turn, turn
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.runtime.periodic import Periodic
from stateward.planning.report.reconcile_failure import REASON

REFUSED, FAILED = 400, 500
"""The first status of answers that refuse one request, and that of a server that fails."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the control; `everywhere`: each cluster gets a policy, or none does."""

    api: Api
    recorder: EventRecorder
    clock: Clock
    namespace: str
    """The operator's own: its pods may connect to the members."""
    kinds: Sequence[Caches]
    namespaces: tuple[str, ...] = ("",)
    everywhere: bool = False
    gauge: FailureGauge = field(default_factory=Uncounted)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A desired NetworkPolicy, and its cluster; `body` is None if the existing one stays as it is."""

    kind: ClusterKind
    cluster: Cluster
    body: Json | None


class NetworkControl:
    """Creates, changes and removes the NetworkPolicies."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._made: dict[Key, tuple[str, int, Json]] = {}
        self._said: dict[Key, str] = {}
        failing = Failing[str]("network", setting.gauge, setting.clock, self._tell_failure)
        self._loop = Periodic("networkpolicies", self.sweep, setting.clock, failing)

    async def run(self) -> None:
        """Work until cancelled, or until `stop`."""
        for caches in self._setting.kinds:
            caches.clusters.subscribe(self._loop.hear)
        await self._loop.run()

    async def stop(self, grace: float) -> None:  # noqa: ARG002 - a sweep is one write at a time
        """Begin nothing more."""
        self._loop.stop()

    async def sweep(self) -> None:
        """Apply the desired policies, and remove the others; raises ApiError if they cannot be listed or removed."""
        there: dict[Key, PartialObject] = {}
        for namespace in self._setting.namespaces:
            selection = Selection(namespace, labels=names.LABEL_CLUSTER)
            state = await list_all(self._setting.api, NETWORK_POLICIES, selection)
            there |= {key_of(policy): policy for policy in state.hand_over()}
        wanted = self._wanted()
        for key, one in wanted.items():
            await self._make(key, one, there.get(key))
        self._made = {key: made for key, made in self._made.items() if key in wanted}
        self._said = {key: said for key, said in self._said.items() if key in wanted}
        await self._remove_all(policy for key, policy in there.items() if key not in wanted)

    async def _remove_all(self, policies: Iterable[PartialObject]) -> None:
        """Remove those that are not desired any more; raises ApiError: a refusal after all were tried."""
        first: ApiError | None = None
        for policy in policies:
            try:
                if await self._unwanted(policy):
                    await self._remove(policy)
            except ApiError as error:
                if not REFUSED <= error.status < FAILED:
                    raise  # The API server does not answer: neither does it for the next one.
                first = first or error
        if first is not None:
            raise first

    def _wanted(self) -> Mapping[Key, Wanted]:
        found: dict[Key, Wanted] = {}
        for caches in self._setting.kinds if self._setting.everywhere else ():
            for cluster in caches.managed():
                # An invalid spec and a deleted cluster change nothing: no port is opened or closed.
                good = cluster.metadata.deletion_timestamp is None and not errors(validate(cluster))
                body = network_policy(cluster, caches.kind.engine, self._setting.namespace) if good else None
                found[Key(cluster.metadata.namespace, policy_name(cluster))] = Wanted(caches.kind, cluster, body)
        return found

    async def _make(self, key: Key, one: Wanted, policy: PartialObject | None) -> None:
        if one.body is None:
            return
        if policy is not None and self._made.get(key) == (policy.metadata.uid, policy.metadata.generation, one.body):
            return
        try:
            if policy is None or policy.metadata.controller_uid != one.cluster.metadata.uid:
                await self._free(key, one)
            made = await self._setting.api.apply(
                NETWORK_POLICIES, key, one.body, ApplyOptions(names.FIELD_MANAGER, force=True)
            )
        except ApiError as error:
            self._tell(key, one, f"the NetworkPolicy is refused: {error}")
            return
        except TakenError:
            self._tell(key, one, f"a NetworkPolicy {key.name} exists that does not belong to this cluster")
            return
        self._said.pop(key, None)
        self._made[key] = (made.metadata.uid, made.metadata.generation, one.body)

    async def _free(self, key: Key, one: Wanted) -> None:
        """Raise TakenError if a policy of another owner has the name."""
        with suppress(NotFound):
            found = await self._setting.api.get(NETWORK_POLICIES, key)
            if found.metadata.controller_uid != one.cluster.metadata.uid:
                raise TakenError(str(key))

    async def _remove(self, policy: PartialObject) -> None:
        with suppress(NotFound):
            await self._setting.api.delete(NETWORK_POLICIES, key_of(policy), DeleteOptions(Preconditions.of(policy)))

    async def _unwanted(self, policy: PartialObject) -> bool:
        """Return whether a policy was created here for a cluster that still exists; no other one is removed."""
        labels, meta = policy.metadata.labels, policy.metadata
        key = Key(meta.namespace, labels.get(names.LABEL_CLUSTER, ""))
        for caches in self._setting.kinds:
            cached = caches.clusters.get(key)
            if caches.kind.engine != labels.get(names.LABEL_ENGINE) or cached is None:
                continue
            # No request for what is not of the cluster, or is going: a tenant can give labels to thousands of policies.
            if meta.controller_uid != cached.metadata.uid or meta.terminating:
                return False
            if turn(cached, caches.wave) is not Turn.MANAGE:
                return False
            with suppress(NotFound):  # It goes with its cluster.
                cluster = await self._setting.api.get(caches.kind.resource, key)
                return meta.controller_uid == cluster.metadata.uid
        return False

    async def _tell_failure(self, _: str, sentence: str) -> None:
        """Tell as an event on each cluster that should have a policy that it is not kept."""
        for one in self._wanted().values():
            self._say(one, REASON, f"the operator does not maintain the NetworkPolicy of the cluster: {sentence}")

    def _tell(self, key: Key, one: Wanted, note: str) -> None:
        """Say once what is wrong, as an event on the cluster."""
        if self._said.get(key) != note:
            self._said[key] = note
            _log.warning("no network policy", cluster=str(key_of(one.cluster)), why=note)
            self._say(one, "NetworkPolicyRefused", note)

    def _say(self, one: Wanted, reason: str, note: str) -> None:
        subject = about(one.kind.resource, one.cluster)
        self._setting.recorder.record(Occurrence(subject, Severity.WARNING, reason, "Protect", note))


class TakenError(Exception):
    """The name of a cluster's NetworkPolicy belongs to another owner."""
