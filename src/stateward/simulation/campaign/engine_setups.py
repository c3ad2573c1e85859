"""The scenes of all engines, by the engine's name; the first is the default."""

from collections.abc import Mapping

from stateward.simulation.campaign.engine_setup import Scene, SearchScene
from stateward.simulation.campaign.foundationdb_setup import FoundationScene
from stateward.simulation.world.engine_products import PRODUCTS

FOUNDATIONDB = "foundationdb"

SCENES: Mapping[str, Scene] = {
    **{name: SearchScene(product) for name, product in PRODUCTS.items()},
    FOUNDATIONDB: FoundationScene(),
}
ENGINES = tuple(SCENES)
