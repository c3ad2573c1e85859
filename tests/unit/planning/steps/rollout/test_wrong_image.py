"""An image with another version in it than its tag and the spec say."""

from msgspec.structs import replace

from stateward.planning.model import observation as o
from tests.unit.planning.world import World, hot, managers


class Mislabelled(World):
    """A registry whose image 2.17.2 was built from 2.17.1."""

    def database(self) -> o.Database | o.Unknown:
        found = super().database()
        if isinstance(found, o.Unknown):
            return found
        nodes = {
            name: replace(node, version="2.17.1") if node.version == "2.17.2" else node
            for name, node in found.nodes.items()
        }
        return replace(found, nodes=nodes)


def test_a_user_learns_that_the_image_runs_another_version() -> None:
    world = Mislabelled(managers(), hot(3))
    world.run().index((2,)).run()
    world.edit(version="2.17.2").ticks(120)
    (stuck,) = (m for m in world.status.member_states if m.not_serving_since_time)
    said = [stuck.reason, *(w.message for w in world.status.waiting if w.subject == stuck.name)]
    assert any("2.17.1" in text for text in said), said
