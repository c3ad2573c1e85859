"""An image with another version in it than its tag and the spec say."""

import pytest
from msgspec.structs import replace

from stateward.planning.model import observation as o
from stateward.planning.model.intent import Wait
from tests.unit.planning.world import PoolSpec, World, hot, managers
from tests.unit.planning.world_objects import Body


class Mislabelled(World):
    """A registry whose image 2.17.2 was built from another version."""

    RUNS = "2.17.1"

    def __init__(self, *pools: PoolSpec, image: str = "") -> None:
        super().__init__(*pools)
        self.image = image

    def member(self, body: Body) -> o.Member:
        found = super().member(body)
        return replace(found, pod=found.pod and replace(found.pod, image=self.image))

    def database(self) -> o.Database | o.Unknown:
        found = super().database()
        if isinstance(found, o.Unknown):
            return found
        nodes = {
            name: replace(node, version=self.RUNS) if node.version == "2.17.2" else node
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


@pytest.mark.parametrize("image", ["", "registry.test/opensearch:2.17.2"])
def test_the_wait_names_the_member_the_image_both_versions_and_what_to_do(image: str) -> None:
    world = Mislabelled(managers(), hot(3), image=image)
    world.run().index((2,)).run()
    world.edit(version="2.17.2").until(lambda w: any(m.reason for m in w.status.member_states), 20)
    began = world.now
    world.until(lambda w: bool(waits(w)), 30)
    assert world.now - began >= 60.0, "the database may list the process of the last pod"
    (wait,) = waits(world)
    assert wait.subject == "c-hot-2"
    assert wait.message == (
        f"c-hot-2 runs 2.17.1 from the image {image or 'of its pod'}, and spec.version is 2.17.2: set spec.version to"
        " 2.17.1, or spec.image to an image that has 2.17.2"
    )
    world.ticks(30)
    assert any(c.type == "Stalled" and c.status == "True" for c in world.status.conditions)
    assert {"c-hot-0", "c-hot-1"} == {n for n, v in world.pods().items() if "hot" in n and v == "2.17.1"}


def test_a_member_that_has_joined_with_a_later_version_is_not_told_to_go_back() -> None:
    class Later(Mislabelled):
        RUNS = "2.17.3"

    world = Later(managers(), hot(3))
    world.run().index((2,)).run()
    world.edit(version="2.17.2").ticks(30)
    (wait,) = waits(world)
    assert wait.message.endswith("and spec.version is 2.17.2: set spec.version to 2.17.3")


def waits(world: World) -> list[Wait]:
    return [wait for wait in world.plan().waits if wait.reason == "WrongVersion"]
