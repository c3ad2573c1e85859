"""One kind of cluster as the operator handles it: its objects, and the database behind them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines import elasticsearch, opensearch
from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import Engine, Target, Transport
from stateward.engines.connection.http import HttpTransport, open_session
from stateward.engines.foundationdb.database.target import Shell
from stateward.engines.pods.objects import MemberObjects
from stateward.engines.search.configuration.security import TOGETHER, secured
from stateward.engines.search.objects import desired, member, shared
from stateward.engines.search.spec.flavor import HTTP_PORT, Flavor
from stateward.engines.search.spec.identity import cluster_name
from stateward.kube.client.exec import Execute
from stateward.kube.objects.pods import Pod
from stateward.operator.databases.agents import Agents, open_agents
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import CLUSTER_KINDS, ELASTICSEARCH, FOUNDATIONDB, OPENSEARCH, ClusterKind
from stateward.operator.objects.translate import inputs
from stateward.planning.model.observation import Desired, Inputs, ProtocolSwitch
from stateward.planning.model.phase import BEGUN, parse_phase
from stateward.planning.safety.disruption_budget import Budget


class Family(Protocol):
    """What the operator needs of a kind of cluster. All but the engine is pure."""

    kind: ClusterKind
    container: str
    """Name of the database's container in the pods."""
    engine: Engine
    agents: Agents | None
    """The agents in the pods; None if no connection to them exists."""

    def desired(self, cluster: Cluster) -> Desired:
        """Return what should be, with every default filled in."""
        ...

    def member_objects(  # noqa: PLR0913 - the last three are for few members, and by name
        self,
        cluster: Cluster,
        pool: str,
        ordinal: int,
        version: str,
        *,
        crossing: ProtocolSwitch = ProtocolSwitch.NONE,
        extra_files: Mapping[str, str] | None = None,
        keeps: Inputs | None = None,
    ) -> MemberObjects:
        """Return the objects of one member; raises KeyError if the spec has no such pool.

        `extra_files` are files of its configuration whose content is in no resource; `keeps` are the member's inputs
        that only a new one can change.
        """
        ...

    def cluster_objects(self, existing: ClusterObjects, budgets: tuple[Budget, ...]) -> list[Json]:
        """Return the objects that all members share."""
        ...

    def target(self, existing: ClusterObjects) -> Target:
        """Return the addresses of the database, and how to recognise it."""
        ...


class SearchFamily:
    """Clusters of one search engine."""

    def __init__(
        self, kind: ClusterKind, flavor: Flavor, engine: Engine, agent_image: str = "", agents: Agents | None = None
    ) -> None:
        self.kind = kind
        self.container = flavor.engine
        self.engine = engine
        self.agents = agents
        self._flavor = replace(flavor, agent_image=agent_image)

    def desired(self, cluster: Cluster) -> Desired:
        """Return what should be, with every default filled in."""
        return desired.desired(self._flavor, searched(cluster))

    def member_objects(  # noqa: PLR0913 - the last three are for few members, and by name
        self,
        cluster: Cluster,
        pool: str,
        ordinal: int,
        version: str,
        *,
        crossing: ProtocolSwitch = ProtocolSwitch.NONE,  # noqa: ARG002 - versions of search engines talk to each other
        extra_files: Mapping[str, str] | None = None,
        keeps: Inputs | None = None,
    ) -> MemberObjects:
        """Return the objects of one member; raises KeyError when the spec has no such pool."""
        found = searched(cluster)
        return member.member_objects(self._flavor, found, pool, ordinal, version, extra_files=extra_files, keeps=keeps)

    def cluster_objects(self, existing: ClusterObjects, budgets: tuple[Budget, ...]) -> list[Json]:
        """Return the objects that all members share; seeds are the addresses of the pods that vote."""
        voters = (pod.status.pod_ip for pod in existing.pods if votes(pod))
        return shared.cluster_objects(self._flavor, searched(existing.cluster), voters, budgets)

    def target(self, existing: ClusterObjects) -> Target:
        """Return the addresses of the cluster's pods, those that serve first, and of them those that stay."""
        pods = [pod for pod in existing.pods if pod.status.pod_ip and not pod.metadata.terminating]
        pods.sort(key=lambda pod: (not pod.ready, restarts(pod), pod.metadata.name))
        return Target(
            endpoints=tuple(url for pod in pods for url in endpoints(existing, pod)),
            name=cluster_name(searched(existing.cluster)),
            identity=existing.cluster.status.cluster_uuid,
            access=existing.access,
        )


def restarts(pod: Pod) -> bool:
    """Return whether the process in a pod is stopping or starting: it answers late or never."""
    return parse_phase(pod.metadata.annotations.get(names.ANNOTATION_PHASE, "")) in BEGUN


class OpenSearchFamily(SearchFamily):
    """OpenSearch clusters."""

    def __init__(self, engine: Engine, agent_image: str = "", agents: Agents | None = None) -> None:
        super().__init__(OPENSEARCH, opensearch.OPENSEARCH, engine, agent_image, agents)


class ElasticsearchFamily(SearchFamily):
    """Elasticsearch clusters."""

    def __init__(self, engine: Engine, agent_image: str = "", agents: Agents | None = None) -> None:
        super().__init__(ELASTICSEARCH, elasticsearch.ELASTICSEARCH, engine, agent_image, agents)


def endpoints(existing: ClusterObjects, pod: Pod) -> tuple[str, ...]:
    """Return the base URLs of the database in a pod: two of them while it may be on its way from one to the other."""
    asked = secured(searched(existing.cluster))
    if existing.access is None:
        return (endpoint(pod.status.pod_ip),)
    runs = TOGETHER in inputs(pod.metadata.annotations)
    order = (asked,) if asked is runs else (asked, not asked)
    return tuple(endpoint(pod.status.pod_ip, secure=secure) for secure in order)


def endpoint(address: str, *, secure: bool = False) -> str:
    """Return a base URL of the database in a pod; an IPv6 address needs brackets in it."""
    scheme = "https" if secure else "http"
    return f"{scheme}://[{address}]:{HTTP_PORT}" if ":" in address else f"{scheme}://{address}:{HTTP_PORT}"


def votes(pod: Pod) -> bool:
    """Return whether a pod's member may vote, by its label."""
    return "voting" in pod.metadata.labels.get(names.LABEL_ROLES, "")


def searched(cluster: Cluster) -> SearchCluster:
    """Return a cluster of the search family as what it is."""
    if not isinstance(cluster, SearchCluster):
        raise TypeError(f"{cluster.kind} is not a cluster of a search engine")
    return cluster


def family_of(
    kind: ClusterKind,
    transport: Transport,
    shell: Shell,
    agent_image: str = "",
    agents: Agents | None = None,
    rooms: Rooms | None = None,
) -> Family:
    """Return the family of a kind of cluster, whose databases are reached by HTTP or by a command in their pods.

    Kinds that share `rooms` share the limit on answers in memory at the same time.
    """
    if kind is FOUNDATIONDB:
        return FoundationDBFamily(shell, agent_image, agents, rooms)
    if kind is ELASTICSEARCH:
        return ElasticsearchFamily(elasticsearch.driver(transport, rooms), agent_image, agents)
    return OpenSearchFamily(opensearch.driver(transport, rooms), agent_image, agents)


def unconnected(kind: ClusterKind) -> Family:
    """Return the pure part of a kind's family, with agents in its pods; it cannot reach a database."""
    nowhere: Any = None
    return family_of(kind, nowhere, nowhere, "stateward")


@asynccontextmanager
async def open_families(execute: Execute, agent_image: str = "") -> AsyncGenerator[tuple[Family, ...]]:
    """Open the connections to databases for the block; each kind has its own, so that none waits for others.

    `execute` runs commands in pods. Pods get an agent from `agent_image`, Stateward's own image, if it is set.
    """
    async with AsyncExitStack() as stack:
        families: list[Family] = []
        rooms = Rooms()
        for kind in CLUSTER_KINDS:
            session = await stack.enter_async_context(open_session())
            agents = await stack.enter_async_context(open_agents())
            transport, shell = HttpTransport(session), ExecShell(execute)
            families.append(family_of(kind, transport, shell, agent_image, agents, rooms))
        yield tuple(families)
