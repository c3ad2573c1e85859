"""The scenes of all engines, by the engine's name; the first is the default."""

from collections.abc import Mapping

from stateward.simulation.campaign.foundationdb_scene import FoundationScene
from stateward.simulation.campaign.scene import Scene, SearchScene
from stateward.simulation.world.product import PRODUCTS

FOUNDATIONDB = "foundationdb"

SCENES: Mapping[str, Scene] = {
    **{name: SearchScene(product) for name, product in PRODUCTS.items()},
    FOUNDATIONDB: FoundationScene(),
}
ENGINES = tuple(SCENES)
