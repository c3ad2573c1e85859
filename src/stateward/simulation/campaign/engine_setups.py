"""The setups of all engines by name; the first is the default."""

from collections.abc import Mapping

from stateward.simulation.campaign.engine_setup import EngineSetup, SearchSetup
from stateward.simulation.campaign.foundationdb_setup import FoundationDBSetup
from stateward.simulation.users.profiles import profiles_of
from stateward.simulation.world.engine_products import PRODUCTS

FOUNDATIONDB = "foundationdb"

ENGINE_SETUPS: Mapping[str, EngineSetup] = {
    **{name: SearchSetup(product, profiles=profiles_of(product)) for name, product in PRODUCTS.items()},
    FOUNDATIONDB: FoundationDBSetup(),
}
ENGINES = tuple(ENGINE_SETUPS)
