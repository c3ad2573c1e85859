"""Reads all inputs of a plan from outside the cluster: objects, and the database.

Pod addresses are valid only in the pods' network, so the requests go through the API server, which forwards requests to
pods for authorized users (`pods/proxy`). Only queries are forwarded. If the database cannot be reached, the cluster's
status replaces it, and a note says so: members and versions are then known, shards are not.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.pod_policy import Level
from stateward.api.validation import validate, validate_access
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem, errors
from stateward.cli.preview.database_view import ask_operator
from stateward.cli.preview.offered_data import with_offered
from stateward.cli.preview.pacing import Pacing, pacing
from stateward.cli.shared.output import plural_of
from stateward.cli.shared.picture import outdated
from stateward.cli.shared.session import Session
from stateward.cli.shared.stored_history import read_history
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, RefusedError, Speed, Target, UnreachableError
from stateward.engines.exporter.preview import exporter_notes
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.search.configuration.security import secured
from stateward.engines.search.dashboards.preview import access_notes
from stateward.engines.search.remote.preview import remote_notes
from stateward.engines.search.spec.flavor import HTTP_PORT
from stateward.forecast.world import node_of
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import ApiError, Forbidden, NotFound, Unauthorized
from stateward.kube.objects.resources import NODES, PODS, SECRETS, STORAGE_CLASSES
from stateward.operator.databases.engine import Family, family_of
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.declared.snapshots.first_restore import read_first_restore
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import ClusterKind
from stateward.operator.objects.live import read_live
from stateward.operator.objects.translate import observation
from stateward.operator.observe.desired_state import desired_or_refused
from stateward.operator.observe.durations import recovery_speed
from stateward.operator.observe.inventory import needs_of, read_inventory
from stateward.operator.observe.read_only_session import observe_read_only
from stateward.operator.pod_rights.server_validation import ServerValidation
from stateward.planning.facts.placement import obstacles
from stateward.planning.model.observation import Database, Health, Node, Observation, Unknown
from stateward.timeline.history import History

MISSED = {
    SECRETS.kind: "the configuration of members is read from their StatefulSets",
    NODES.kind: "zones, taints and failed nodes are not known",
    STORAGE_CLASSES.kind: "whether volumes can grow is not known",
}
"""What a plan does not know without the right to list a kind."""

QUESTIONS = frozenset({"/_cluster/allocation/explain"})
"""Queries with a request body."""


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """The result: the observation, the problems of the spec, and notes on what could not be read."""

    cluster: Cluster
    observed: Observation
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    exists: bool
    pacing: Pacing = field(default_factory=Pacing)
    obstacles: tuple[Problem, ...] = ()
    """What keeps a new pod from starting, according to the server's present nodes and classes."""
    reported: Database | None = None
    """What the database itself reported; None if only the status is known."""


async def read_inputs(
    session: Session,
    kind: ClusterKind,
    name: str,
    changed: Cluster | None = None,
    offered: Iterable[Json] = (),
    *,
    level: Level = Level.PRIVILEGED,
) -> PlanInputs:
    """Return the inputs of a plan for the cluster, with the spec of `changed` instead of its own if given.

    `offered` are ConfigMaps and Secrets in the change, `level` is the pod policy. If the database cannot be reached
    with the viewer's own rights, the operator is asked.

    Raise NotFound if there is no such cluster and `changed` is None.
    """
    denied = list[str]()
    try:
        existing, exists = await read_live(session.api, session.key(name), kind, denied=denied), True
    except NotFound:
        if changed is None:
            raise
        existing, exists = nothing_yet(changed, session.namespace), False
    before, cluster = existing, existing.cluster if changed is None else applied(existing.cluster, changed)
    cluster = await with_offered(session, cluster, offered)
    existing = with_cluster(existing, cluster)
    if exists:
        existing = dataclasses.replace(existing, restore=await read_first_restore(session.api, cluster))
    family = family_of(kind, ProxyTransport(session.api), ExecShell(session.execute, asks=True))
    database, notes = await ask(session, family, before) if exists else NOT_FORMED
    notes += tuple(f"you may not list {plural_of(kind)}: {MISSED[kind]}" for kind in denied)
    notes += notes_on(cluster)
    problems = (*validate(cluster), *validate_access(cluster))
    observed = observation(existing, desired_or_refused(family, cluster, level), database, family.container)
    if SECRETS.kind in denied:
        observed = with_written_configuration(observed)
    if isinstance(database, Unknown) and exists:
        observed, more = with_recorded_database(observed, cluster)
        notes += more
    reported = database if isinstance(database, Database) else None
    known = Speed() if reported is None else await speed_of(session, family, before)
    history = (await read_history(session, existing.cluster)).history if exists else History()
    obstacles = await obstacles_of(session.api, family, cluster) if not errors(list(problems)) else ()
    paced = pacing(existing, history, known)
    return PlanInputs(cluster, observed, problems, notes, exists, paced, obstacles, reported)


def applied(cluster: Cluster, changed: Cluster) -> Cluster:
    """Return a cluster after a change is applied: its spec, and its annotations beside those that are there."""
    annotations = {**cluster.metadata.annotations, **changed.metadata.annotations}
    return replace(cluster, spec=changed.spec, metadata=replace(cluster.metadata, annotations=annotations))


def notes_on(cluster: Cluster) -> tuple[str, ...]:
    """Return what a cluster's own spec and status say that a plan does not show."""
    pending = cluster.status.outdated_pods
    more = (*access_notes(cluster), *exporter_notes(cluster), *remote_notes(cluster))
    return (outdated(pending), *more) if pending else more


def with_written_configuration(observed: Observation) -> Observation:
    """Return the observation with the configuration of each member that its StatefulSet was written with."""
    members = tuple(replace(m, config=m.workload.inputs if m.workload else None) for m in observed.members)
    return replace(observed, members=members)


async def obstacles_of(api: Api, family: Family, cluster: Cluster) -> tuple[Problem, ...]:
    """Return what keeps a new pod of the cluster from starting, as far as it can be read."""
    needs = needs_of(family, cluster)
    return obstacles(needs, await read_inventory(api, needs, cluster.metadata.namespace))


async def not_accepted(api: Api, family: Family, cluster: Cluster) -> tuple[Problem, ...]:
    """Return what the API server does not accept of pods and Services; empty without the right to create them."""
    refused = await ServerValidation(api, family).all_refusals(cluster)
    return tuple(Problem(each.subject, None, each.message.removeprefix(f"{each.subject}: ")) for each in refused)


def nothing_yet(changed: Cluster, namespace: str) -> ClusterObjects:
    """Return the objects of a cluster that does not exist yet."""
    cluster = replace(changed, metadata=replace(changed.metadata, namespace=namespace, uid="new"))
    return ClusterObjects(cluster, (), (), (), (), {}, {}, live=True)


def with_cluster(existing: ClusterObjects, cluster: Cluster) -> ClusterObjects:
    """Return the objects with another spec."""
    return dataclasses.replace(existing, cluster=cluster)


NOT_FORMED: tuple[Database | Unknown, tuple[str, ...]] = (Unknown("not formed yet"), ())


async def ask(session: Session, family: Family, existing: ClusterObjects) -> tuple[Database | Unknown, tuple[str, ...]]:
    """Return the database's answer, with the viewer's rights or from the operator, and a note without one.

    `existing` is the cluster before the change: whether the database asks for credentials now. In the operator's own
    process only the operator's reading counts.
    """
    if session.reads is not None:
        said = await session.reads.report(existing.cluster)
        return said, () if isinstance(said, Database) else (unread(said),)
    answer: Database | Unknown = Unknown("it is secured, and only the operator has credentials")
    if not is_secured(existing.cluster):
        answer = await observe_read_only(family.engine, target_of(family, existing))
    if isinstance(answer, Database):
        return answer, ()
    said = await ask_operator(session, existing.cluster)
    if isinstance(said, Database):
        return said, ()
    return answer, (f"the database could not be reached from here: {answer.why}; {said.why}",)


def unread(answer: Unknown) -> str:
    """Return the note about a database that the operator itself could not read."""
    return f"the operator could not read the database: {answer.why}"


async def speed_of(session: Session, family: Family, existing: ClusterObjects) -> Speed:
    """Return the recovery speed of a database that has answered; unknown values if it cannot be read."""
    if session.reads is not None:
        return await session.reads.speed(existing.cluster)
    if is_secured(existing.cluster):
        return Speed()
    return await recovery_speed(family.engine, target_of(family, existing))


def is_secured(cluster: Cluster) -> bool:
    """Return whether the database answers only with credentials, which viewers do not have."""
    return isinstance(cluster, SearchCluster) and secured(cluster)


def target_of(family: Family, existing: ClusterObjects) -> Target:
    """Return the target with endpoints that are reachable from here."""
    target = family.target(existing)
    return target if isinstance(target, FoundationTarget) else replace(target, endpoints=endpoints(existing))


def endpoints(existing: ClusterObjects) -> tuple[str, ...]:
    """Return the API server paths to the databases in the pods, ready pods first."""
    pods = sorted(existing.pods, key=lambda pod: (not pod.ready, pod.metadata.name))
    return tuple(
        PODS.path(pod.metadata.namespace, f"{pod.metadata.name}:{HTTP_PORT}", "proxy")
        for pod in pods
        if not pod.metadata.terminating
    )


class ProxyTransport:
    """An engine's transport through the API server; it refuses commands before they are sent."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def within(self, access: Access) -> "ProxyTransport":  # noqa: ARG002 - the API server shows nobody's certificate
        """Return this transport: through the API server there is no other access."""
        return self

    async def send(self, call: Call) -> Answer:
        """Return the whole answer with any status; raise `UnreachableError` if there is none."""
        if call.method != "GET" and call.path not in QUESTIONS:
            raise RefusedError(f"{call.method} {call.path} is not a read-only request")
        try:
            raw = RawRequest(call.endpoint + call.path, call.method, call.params, call.body)
            return Answer(200, await self._api.request(raw))
        except (Forbidden, Unauthorized) as error:
            if call.method != "GET":
                raise RefusedError(error.message, error.status) from error
            raise UnreachableError(f"{error.message} (it needs the right to get pods/proxy)") from error
        except ApiError as error:
            if not error.status:
                raise UnreachableError(str(error)) from error
            return Answer(error.status, msgspec.json.encode({"error": error.message}))


def with_recorded_database(observed: Observation, cluster: Cluster) -> tuple[Observation, tuple[str, ...]]:
    """Return the observation with the database state from the status, if the operator could observe it."""
    status = cluster.status
    if status.health not in {health.value for health in Health}:
        return observed, ()
    pools = {pool.name: pool for pool in observed.desired.pools}
    nodes: dict[str, Node] = {}
    for member in observed.members:
        if member.pod is not None and member.pod.ready and not member.pod.terminating:
            nodes[member.name] = node_of(member, member.pod, pools.get(member.pool), None)
    voters = frozenset(node.name for node in nodes.values() if node.voting)
    database = Database(status.cluster_uuid, Health(status.health), nodes, voters=voters)
    note = "members and versions come from the cluster's status; shards and the elected manager are not known"
    return replace(observed, database=database), (note,)
