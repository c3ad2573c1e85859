"""The scenes of all engines, by the engine's name; the first is the default."""

from collections.abc import Mapping

from stateward.simulation.foundationdb_scene import FoundationScene
from stateward.simulation.product import PRODUCTS
from stateward.simulation.scene import Scene, SearchScene

FOUNDATIONDB = "foundationdb"

SCENES: Mapping[str, Scene] = {
    **{name: SearchScene(product) for name, product in PRODUCTS.items()},
    FOUNDATIONDB: FoundationScene(),
}
ENGINES = tuple(SCENES)
