"""The engines of worlds by name: the parameters of each, and the operator's family.

Everything else uses a `Product` and names no engine, so another engine of the family is another entry here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stateward.api.kinds.search import SearchCluster
from stateward.engines import elasticsearch, opensearch
from stateward.engines.connection.answer_limits import LOOK, Rooms
from stateward.engines.connection.base import Transport
from stateward.engines.search.database.driver import SearchEngine
from stateward.engines.search.objects import desired
from stateward.engines.search.spec.flavor import Flavor
from stateward.operator.databases.agents import Agents
from stateward.operator.databases.engine import Family, SearchFamily
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from stateward.planning.model.observation import Desired


@dataclass(frozen=True)
class Product:
    """One engine."""

    kind: ClusterKind
    flavor: Flavor
    versions: tuple[str, ...]
    """Available versions; each is reachable from the one before."""
    absent: str
    """A version whose image cannot be pulled."""
    broken: str
    """A version that exits as soon as it starts."""
    voting_only: bool = False
    """Whether it has nodes that vote and cannot be elected."""

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.kind.engine

    @property
    def manager(self) -> str:
        """The role that votes and can be elected, by the name that all versions accept."""
        return self.flavor.lineage.role_name("master", self.versions[-1])

    def desired(self, cluster: SearchCluster) -> Desired:
        """Return the desired state from the driver."""
        return desired.desired(self.flavor, cluster)

    def family(self, transport: Transport, agent_image: str, agents: Agents, *, announces: bool) -> Family:
        """Return the operator's family of the engine, with the transports of a world.

        Virtual time does not wait for worker processes, so this process decodes all responses.
        """
        flavor = replace(self.flavor, announces=announces)
        return SearchFamily(self.kind, flavor, SearchEngine(flavor, transport, Rooms(usual=LOOK)), agent_image, agents)


PRODUCTS: Mapping[str, Product] = {
    product.engine: product
    for product in (
        Product(
            OPENSEARCH,
            opensearch.OPENSEARCH,
            versions=("2.17.1", "2.18.0", "2.19.5", "3.4.0"),
            absent="2.19.9",
            broken="2.19.8",
        ),
        Product(
            ELASTICSEARCH,
            elasticsearch.ELASTICSEARCH,
            versions=("7.17.28", "7.17.29", "8.18.8", "8.19.4"),
            absent="8.19.99",
            broken="8.19.98",
            voting_only=True,
        ),
    )
}
"""By the engine's name; the first is the default."""
DEFAULT = PRODUCTS[OPENSEARCH.engine]
