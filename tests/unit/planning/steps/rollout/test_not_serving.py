"""What is said of a member that does not serve, also because its image has another version than its tag says."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import Facts, derive
from stateward.planning.model import observation as o
from stateward.planning.model.intent import Intent, State, Wait
from stateward.planning.plan import plan
from stateward.planning.steps.rollout.default_intent import default_intent
from tests.unit.planning.world import PoolSpec, World, hot, managers, settled
from tests.unit.planning.world_objects import Body

NAME = "c-hot-1"


def seen(*, listed: bool = False, away: float | None = None, record: bool = True, **pod: object) -> Facts:
    """Return the facts of a settled cluster in which one member has another pod and is not in the database."""
    world = settled(managers(), hot(3), indices=((2,), (2,)))
    obs = world.observe()
    assert isinstance(obs.database, o.Database)
    was = next(m.pod for m in obs.members if m.name == NAME)
    assert was is not None
    new = replace(was, created=world.now - 300, **pod)
    return derive(
        replace(
            obs,
            members=tuple(replace(m, pod=new) if m.name == NAME else m for m in obs.members),
            records={n: r for n, r in obs.records.items() if record or n != NAME},
            away={} if away is None else {NAME: world.now - away},
            database=replace(
                obs.database, nodes={n: node for n, node in obs.database.nodes.items() if listed or n != NAME}
            ),
        ),
        world.now,
    )


def said(facts: Facts) -> Intent:
    return default_intent(facts, facts.members[NAME]).intents[NAME]


def test_a_member_that_left_the_cluster_does_not_start_while_its_node_still_counts_as_ready() -> None:
    for away in (None, 40):  # The first look, and one when the status has the time already.
        found = said(seen(away=away))
        assert found.state is State.DOWN
        assert (
            found.sentence
            == "c-hot-1 is no longer in the cluster, and its pod on node-hot-1 is still reported as ready"
        )


def test_the_plan_says_what_has_happened_to_it() -> None:
    facts = seen(away=40)
    assert plan(facts.obs, facts.now).intents[NAME].state is State.DOWN


def test_a_pod_that_was_created_after_the_member_served_starts() -> None:
    assert said(seen(away=310)).state is State.STARTING
    assert said(seen(away=310, ready=False)).sentence == "c-hot-1 starts"


def test_a_member_that_has_never_joined_starts_also_with_a_ready_pod() -> None:
    assert said(seen(away=40, record=False)).state is State.STARTING


def test_a_process_that_is_not_ready_starts_again() -> None:
    assert said(seen(away=40, ready=False)).sentence == "c-hot-1 starts"
    assert said(seen(away=40, ready=False, listed=True)).sentence == "c-hot-1 has joined and is not ready yet"


def test_a_pod_that_ends_on_a_lost_node_is_not_stopping() -> None:
    found = said(seen(away=40, ready=False, terminating=True, node_ready=False))
    assert found.state is State.DOWN
    assert found.sentence == "node node-hot-1 of c-hot-1 is not ready, and the pod does not end"


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
