"""A coordinated restart deletes no pod that holds data or the state of the cluster."""

import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.steps.rollout.test_restart import changed, phases, world
from tests.unit.planning.world import World, hot, managers, settled

EPHEMERAL = {
    "data": (managers(), hot(2, ephemeral=True)),
    "state": (managers(3, ephemeral=True), hot(2)),
}


@pytest.mark.parametrize("kind", EPHEMERAL)
def test_members_without_an_agent_that_keep_their_data_in_pods_hold_up_a_coordinated_restart(kind: str) -> None:
    """The disaster this prevents: all pods are deleted at once, and all copies of each shard with them."""
    made = settled(*EPHEMERAL[kind], indices=((2,), (2,)))
    made.schedule = o.Schedule("schedule-coordinated")
    made.ticks(30)
    assert not made.did(a.DeletePod)
    name = "c-hot-0" if kind == "data" else "c-managers-0"
    (wait,) = [w for w in made.plan().waits if w.reason == "DataInPod" and w.subject == name]
    assert wait.stalled
    assert wait.message == (
        f"{name} keeps its data in its pod, which would be deleted together with the others, because its pod has no"
        " agent: take the request or the change back that needs a restart of all members together, and restart the"
        " members one after the other with update.inPlace: Preferred first, which gives their pods agents"
    )
    withdraw(made).run()


def withdraw(made: World) -> World:
    for body in made.bodies.values():
        if body.pod is not None:
            body.pod.phase = ""
    return made


def test_a_coordinated_change_waits_for_members_that_keep_their_data_in_pods_without_an_agent() -> None:
    pools: tuple[PoolSpec, ...] = EPHEMERAL["data"]
    made = settled(*pools, indices=((2,), (2,)))
    secured, together = {"security/on": "1"}, frozenset({"security"})
    edited = [
        managers(config=secured, coordinated=together),
        hot(2, ephemeral=True, config=secured, coordinated=together),
    ]
    made.edit(pools=edited).ticks(30)
    assert not made.did(a.DeletePod) + made.did(a.Stage)
    assert "DataInPod" in {w.reason for w in made.plan().waits}
    made.edit(pools=list(pools)).run()


def test_processes_that_restart_together_keep_their_pods_when_the_spec_stops_allowing_that_meanwhile() -> None:
    made = World(managers(), hot(2, ephemeral=True)).edit(agents=True).run().index((2,), (2,)).run()
    made.log.clear()
    made.schedule = o.Schedule("schedule-coordinated")
    made.until(lambda w: "stop-coordinated" in phases(w))
    made.policy = {**made.policy, "in_place": False}
    made.run()
    assert not made.did(a.DeletePod)


def test_members_with_volumes_and_without_agents_still_restart_together() -> None:
    made = settled(managers(), hot(2), indices=((2,),))
    made.schedule = o.Schedule("schedule-coordinated")
    made.run()
    assert len(made.did(a.DeletePod)) == 5
    assert changed(world()).run()


def proxies(kind: str) -> PoolSpec:
    """Return a pool whose members count as members with data; those of the class `stateless` hold none."""
    return PoolSpec("proxies", 2, data=True, ephemeral=True, config={"storage/class": kind})


def settled_with(pool: PoolSpec) -> World:
    made = settled(managers(), hot(2), pool)
    made.policy = {**made.policy, "stateless": {"storage/class": "stateless"}}
    return made


def test_members_without_state_restart_together_without_agents() -> None:
    made = settled_with(proxies("stateless"))
    made.schedule = o.Schedule("schedule-coordinated")
    made.run()
    assert len(made.did(a.DeletePod)) == 7


def test_members_that_were_made_to_hold_data_are_not_without_state_because_their_pool_is_from_now_on() -> None:
    made = settled_with(proxies("storage")).edit(pools=[managers(), hot(2), proxies("stateless")])
    made.schedule = o.Schedule("schedule-coordinated")
    made.tick()
    assert {w.subject for w in made.plan().waits if w.reason == "DataInPod"} == {"c-proxies-0", "c-proxies-1"}
