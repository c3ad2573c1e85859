"""Reading everything that a plan is made from, from wherever a person sits: objects, and the database behind them.

Pods have addresses that only their own network knows, so the database is asked through the API server, which carries
requests to pods for those who may (`pods/proxy`). Only questions are carried. Where it cannot be asked, the cluster's
status stands in for it, and the answer says so: members and versions are then known, shards are not.
"""

import dataclasses
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.pod_policy import Level
from stateward.api.validation import validate
from stateward.api.values.problem import Problem, errors
from stateward.cli.preview.offered_data import Objects, with_offered
from stateward.cli.preview.pacing import Pacing, asked, pacing
from stateward.cli.shared.session import Session
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, RefusedError, Target, UnreachableError
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.search.database.recovery import Speed
from stateward.engines.search.spec.flavor import HTTP_PORT
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import ApiError, Forbidden, NotFound, Unauthorized
from stateward.kube.objects.resources import PODS
from stateward.operator.databases.engine import Family, family_of
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.objects.cluster_objects import Holdings
from stateward.operator.objects.kinds import ClusterKind
from stateward.operator.objects.live import read_live
from stateward.operator.objects.translate import observation
from stateward.operator.observe.desired_state import wanted
from stateward.operator.observe.inventory import needs_of, read_inventory
from stateward.operator.observe.read_only_session import onlook
from stateward.planning.facts.placement import obstacles
from stateward.planning.model.observation import Database, Health, Node, Observation, Unknown

QUESTIONS = frozenset({"/_cluster/allocation/explain"})
"""What is asked with a body."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: the observation, the problems of the spec, and what could not be seen from here."""

    cluster: Cluster
    observed: Observation
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    exists: bool
    pacing: Pacing = field(default_factory=Pacing)
    obstacles: tuple[Problem, ...] = ()
    """What keeps a new pod from starting, by the nodes and classes that the server has now."""


async def look(
    session: Session,
    kind: ClusterKind,
    name: str,
    changed: Cluster | None = None,
    offered: Objects | None = None,
    *,
    level: Level = Level.PRIVILEGED,
) -> Look:
    """Return what a plan for the cluster is made from, with the spec of `changed` in place of its own if given.

    `offered` are ConfigMaps and Secrets that come with the change, `level` what pods may be at most.

    Raises NotFound when there is no such cluster and nothing that would make one.
    """
    try:
        holdings, exists = await read_live(session.api, session.key(name), kind), True
    except NotFound:
        if changed is None:
            raise
        holdings, exists = nothing_yet(changed, session.namespace), False
    cluster = holdings.cluster if changed is None else replace(holdings.cluster, spec=changed.spec)
    cluster = await with_offered(session, cluster, offered or {})
    holdings = with_cluster(holdings, cluster)
    family = family_of(kind, Carried(session.api), ExecShell(session.execute, asks=True))
    database, notes = await ask(family, holdings, exists=exists)
    problems = tuple(validate(cluster))
    observed = observation(holdings, wanted(family, cluster, level), database, family.container)
    if isinstance(database, Unknown) and exists:
        observed, more = stand_in(observed, cluster)
        notes += more
    silent = isinstance(database, Unknown) or isinstance(cluster, FoundationDBCluster)
    known = Speed() if silent else await asked(Carried(session.api), target_of(family, holdings))
    obstacles = await obstacles_of(session.api, family, cluster) if not errors(list(problems)) else ()
    return Look(cluster, observed, problems, notes, exists, pacing(holdings, known), obstacles)


async def obstacles_of(api: Api, family: Family, cluster: Cluster) -> tuple[Problem, ...]:
    """Return what keeps a new pod of the cluster from starting, as far as it can be read."""
    needs = needs_of(family, cluster)
    return obstacles(needs, await read_inventory(api, needs, cluster.metadata.namespace))


def nothing_yet(changed: Cluster, namespace: str) -> Holdings:
    """Return the holdings of a cluster that is not there yet."""
    cluster = replace(changed, metadata=replace(changed.metadata, namespace=namespace, uid="new"))
    return Holdings(cluster, (), (), (), (), {}, {}, live=True)


def with_cluster(holdings: Holdings, cluster: Cluster) -> Holdings:
    """Return the holdings with another spec."""
    return dataclasses.replace(holdings, cluster=cluster)


async def ask(family: Family, holdings: Holdings, *, exists: bool) -> tuple[Database | Unknown, tuple[str, ...]]:
    """Return the database's answer, and a note when there is none from here."""
    if not exists:
        return Unknown("not formed yet"), ()
    answer = await onlook(family.engine, target_of(family, holdings))
    return answer, (f"the database could not be reached from here: {answer.why}",) if isinstance(
        answer, Unknown
    ) else ()


def target_of(family: Family, holdings: Holdings) -> Target:
    """Return the cluster as it is reached from here."""
    target = family.target(holdings)
    return target if isinstance(target, FoundationTarget) else replace(target, endpoints=endpoints(holdings))


def endpoints(holdings: Holdings) -> tuple[str, ...]:
    """Return the paths on the API server under which the pods' databases answer, ready ones first."""
    pods = sorted(holdings.pods, key=lambda pod: (not pod.ready, pod.metadata.name))
    return tuple(
        PODS.path(pod.metadata.namespace, f"{pod.metadata.name}:{HTTP_PORT}", "proxy")
        for pod in pods
        if not pod.metadata.terminating
    )


class Carried:
    """An engine's transport through the API server; what is no question is refused before it is sent."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def within(self, access: Access) -> "Carried":  # noqa: ARG002 - the API server shows nobody's certificate
        """Return the same way: through the API server there is no other."""
        return self

    async def send(self, call: Call) -> Answer:
        """Return the whole answer, whatever its status; raise `UnreachableError` where there is none."""
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


def stand_in(observed: Observation, cluster: Cluster) -> tuple[Observation, tuple[str, ...]]:
    """Return the observation with what the status says of the database, if the operator could see it."""
    status = cluster.status
    if status.health not in {health.value for health in Health}:
        return observed, ()
    pools = {pool.name: pool for pool in observed.desired.pools}
    nodes: dict[str, Node] = {}
    for member in observed.members:
        pool = pools.get(member.pool)
        if member.pod is not None and member.pod.ready and not member.pod.terminating:
            data, voting = (pool.data, pool.voting) if pool else (True, False)
            nodes[member.name] = Node(member.name, member.pod.version, data=data, voting=voting)
    voters = frozenset(node.name for node in nodes.values() if node.voting)
    database = Database(status.cluster_uuid, Health(status.health), nodes, voters=voters)
    note = "members and versions come from the cluster's status; shards and the elected manager are not known"
    return replace(observed, database=database), (note,)
