"""One kind of cluster as the operator handles it: its objects, and the database behind them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

import aiohttp

from stateward.api import names
from stateward.api.base import Json
from stateward.api.cluster import OpenSearchCluster
from stateward.engines import opensearch
from stateward.engines.base import Engine, Target
from stateward.engines.http import HttpTransport
from stateward.engines.search.flavor import HTTP_PORT
from stateward.kube.pods import Pod
from stateward.operator.agents import Agents, open_agents
from stateward.operator.holdings import Holdings
from stateward.planning.budget import Budget
from stateward.planning.observation import Desired


class Family(Protocol):
    """What the operator needs of a kind of cluster. All but the engine is pure."""

    container: str
    """Name of the database's container in the pods."""
    engine: Engine
    agents: Agents | None
    """The agents in the pods; None where nobody talks to them."""

    def desired(self, cluster: OpenSearchCluster) -> Desired:
        """Return what should be, with every default filled in."""
        ...

    def member_objects(
        self, cluster: OpenSearchCluster, pool: str, ordinal: int, version: str
    ) -> opensearch.MemberObjects:
        """Return the objects of one member; raises KeyError when the spec has no such pool."""
        ...

    def cluster_objects(self, holdings: Holdings, budgets: tuple[Budget, ...]) -> list[Json]:
        """Return the objects that all members share."""
        ...

    def target(self, holdings: Holdings) -> Target:
        """Return where the database may answer, and how to know that it is this one."""
        ...


class OpenSearchFamily:
    """OpenSearch clusters."""

    container = opensearch.OPENSEARCH.engine

    def __init__(self, engine: Engine, agent_image: str = "", agents: Agents | None = None) -> None:
        self.engine = engine
        self.agents = agents
        self._agent_image = agent_image

    def desired(self, cluster: OpenSearchCluster) -> Desired:
        """Return what should be, with every default filled in."""
        return opensearch.desired(cluster)

    def member_objects(
        self, cluster: OpenSearchCluster, pool: str, ordinal: int, version: str
    ) -> opensearch.MemberObjects:
        """Return the objects of one member; raises KeyError when the spec has no such pool."""
        return opensearch.member_objects(cluster, pool, ordinal, version, agent_image=self._agent_image)

    def cluster_objects(self, holdings: Holdings, budgets: tuple[Budget, ...]) -> list[Json]:
        """Return the objects that all members share; seeds are the addresses of the pods that vote."""
        voters = sorted(pod.status.pod_ip for pod in holdings.pods if votes(pod) and pod.status.pod_ip)
        return opensearch.cluster_objects(holdings.cluster, voters, budgets)

    def target(self, holdings: Holdings) -> Target:
        """Return the addresses of the cluster's pods, those that serve first."""
        pods = [pod for pod in holdings.pods if pod.status.pod_ip and not pod.metadata.terminating]
        pods.sort(key=lambda pod: (not pod.ready, pod.metadata.name))
        return Target(
            endpoints=tuple(endpoint(pod.status.pod_ip) for pod in pods),
            name=opensearch.cluster_name(holdings.cluster),
            identity=holdings.cluster.status.cluster_uuid,
        )


def endpoint(address: str) -> str:
    """Return the base URL of the database in a pod; an IPv6 address needs brackets in it."""
    return f"http://[{address}]:{HTTP_PORT}" if ":" in address else f"http://{address}:{HTTP_PORT}"


def votes(pod: Pod) -> bool:
    """Return whether a pod's member may vote, by its label."""
    return "voting" in pod.metadata.labels.get(names.LABEL_ROLES, "")


@asynccontextmanager
async def open_family(agent_image: str = "") -> AsyncGenerator[OpenSearchFamily]:
    """Open the connections to databases while the block runs."""
    async with aiohttp.ClientSession() as session, open_agents() as agents:
        yield OpenSearchFamily(opensearch.driver(HttpTransport(session)), agent_image, agents)
