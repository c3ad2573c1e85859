"""A coordinated restart deletes no pod that holds data or the state of the cluster."""

import dataclasses

import pytest
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.steps.rollout.test_restart import NEW, changed, phases, world
from tests.unit.planning.world import World, hot, managers, mixed, settled

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


def test_a_setting_with_which_no_manager_joins_is_corrected_in_the_pods_also_if_another_change_needs_new_ones() -> None:
    """The disaster this prevents: it waits for new pods, with which the state of the cluster is lost, and hangs."""
    made = World(managers(ephemeral=True), hot(2)).edit(agents=True, hang={("config/a", "hang")}).run()
    made.edit(pools=[managers(ephemeral=True, config={"config/a": "hang", "template/x": "1"}), hot(2)])
    for body in made.bodies.values():
        assert body.pod is not None
        body.pod.phase = "schedule-coordinated"
    made.until(lambda w: bool(w.did(a.StartProcess))).ticks(5)
    assert not made.available
    made.log.clear()
    made.edit(pools=[managers(ephemeral=True, config={"config/a": "1", "template/y": "1"}), hot(2)])
    made.until(lambda w: w.available and len(w.pods()) == 5)
    assert not made.did(a.DeletePod)
    made.run()


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


def crashed_with_a_bad_setting() -> World:
    """The last copy of each shard is in a pod whose process restarted with a setting with which it does not start."""
    made = World(managers(1), hot(1, ephemeral=True)).edit(agents=True, crash={("config/a", "bad")}).run()
    made.index((1,)).run().edit(pools=[managers(1), hot(1, ephemeral=True, config={"config/a": "bad"})])
    body = made.bodies["c-hot-0"]
    assert body.pod is not None
    body.pod.phase = "schedule"
    made.until(lambda w: w.bodies["c-hot-0"].pod is not None and "Crash" in w.bodies["c-hot-0"].pod.trouble)
    made.log.clear()
    return made


@pytest.mark.parametrize("more", [{}, {"template/a": "1"}], ids=["setting", "setting and template"])
def test_a_bad_setting_is_reverted_in_a_pod_with_the_last_copy_also_if_another_change_needs_a_new_pod(
    more: dict[str, str],
) -> None:
    """The disaster this prevents: the corrected setting never reaches the only process that has the data."""
    made = crashed_with_a_bad_setting()
    made.edit(pools=[managers(1), hot(1, ephemeral=True, config={"config/a": "1", **more})])
    made.until(lambda w: w.pods().keys() >= {"c-hot-0"})
    assert not made.did(a.DeletePod)


def test_a_pod_with_the_last_copy_that_no_setting_repairs_is_reported() -> None:
    made = crashed_with_a_bad_setting()
    made.edit(pools=[managers(1), hot(1, ephemeral=True, config={"config/a": "bad", "template/a": "1"})]).ticks(30)
    assert not made.did(a.DeletePod)
    assert any("may hold the last copy" in w.message for w in made.plan().waits)


def test_a_process_that_crashes_in_its_pod_while_all_are_stopped_together_starts_as_one_of_them() -> None:
    """The disaster this prevents: it begins a restart of its own, which no phase of stopping together allows."""
    pools = EPHEMERAL["state"]
    made = World(*pools).edit(agents=True).run().edit(pools=secured(*pools))
    made.until(lambda w: "stop-coordinated" in phases(w))
    made.edit(mute={"c-managers-1"}, stumbling={"c-managers-2"}).ticks(10)
    crashed = made.bodies["c-managers-2"].pod
    assert crashed is not None
    assert crashed.phase == "start-coordinated"
    made.edit(stumbling=set(), mute=set()).run()


def secured(*pools: PoolSpec) -> list[PoolSpec]:
    """Return the pools with a change that only works in all members together."""
    return [dataclasses.replace(p, config={"security/on": "1"}, coordinated=frozenset({"security"})) for p in pools]


def test_members_of_a_removed_pool_are_not_left_out_of_a_change_without_which_they_cannot_talk_to_the_others() -> None:
    """The disaster this prevents: encryption is turned on, the data pool gets another name, and no copy is left."""
    made = settled(managers(), hot(2), indices=((2,), (2,))).edit(hang={("security/on", "1")})
    renamed = secured(managers(), hot(2, "warm"))
    made.edit(pools=renamed).ticks(30)
    (wait,) = [w for w in made.plan().waits if (w.subject, w.reason) == ("c-hot-0", "PoolNeeded")]
    assert wait.message == (
        "c-hot-0 leaves before all others restart together to apply security/on, because it would not be able to talk"
        " to them; if it cannot leave, only with pool hot in the spec it gets the change"
    )
    assert not wait.stalled
    assert not made.did(a.DeletePod)
    made.ticks(40)
    needed = {w.subject: w.stalled for w in made.plan().waits if w.reason == "PoolNeeded"}
    assert needed == {"c-hot-0": True, "c-warm-0": True, "c-warm-1": True}
    made.edit(pools=[*renamed, *secured(hot(2))], hang=set()).run()
    assert {"c-hot-0", "c-hot-1", "c-managers-0"} <= set(made.did(a.DeletePod))
    made.edit(pools=renamed).run()
    assert "c-hot-0" in made.did(a.Release)


def test_a_removed_pool_leaves_before_the_others_restart_together() -> None:
    made = settled(managers(), hot(2), hot(1, "warm"), indices=((2,), (2,)))
    made.edit(pools=secured(managers(), hot(2))).run()
    kinds = [type(x) for _, x in made.log]
    assert kinds.index(a.Release) < kinds.index(a.DeletePod)


def test_members_that_cannot_talk_to_any_of_a_removed_pool_ask_for_that_pool() -> None:
    """The disaster this prevents: a user replaces them without draining, one after the other, and none ever joins."""
    made = settled(mixed(3), indices=((2,),)).edit(hang={("security/on", "1")})
    renamed = secured(dataclasses.replace(mixed(3), name="other"))
    made.edit(pools=renamed).ticks(80)
    reasons = {w.subject: w for w in made.plan().waits if w.reason in ("PoolNeeded", "NeverJoined")}
    wait = reasons["c-other-0"]
    assert (wait.reason, wait.stalled) == ("PoolNeeded", True)
    assert wait.message == (
        "c-other-0 runs, and cannot talk to c-all-0, which has not changed to security/on: only with pool all in the"
        " spec it gets the change"
    )
    made.edit(pools=[*renamed, *secured(mixed(3))]).until(lambda w: "stop-coordinated" in phases(w))
    made.edit(hang=set()).run()
    made.edit(pools=renamed).run()
    assert set(made.pods()) == {"c-other-0", "c-other-1", "c-other-2"}


def test_a_new_member_that_is_ahead_of_all_others_waits_for_their_restart() -> None:
    """The disaster this prevents: the user is told to replace it, and the next one does not join either."""
    pools = [managers(), hot(1, ephemeral=True)]
    made = settled(*pools, indices=((1,),)).edit(hang={("security/on", "1")})
    made.edit(pools=secured(*pools, hot(1, "warm"))).ticks(80)
    waits = {w.reason: (w.message, w.stalled) for w in made.plan().waits if w.subject == "c-warm-0"}
    text = "c-warm-0 runs, and joins when all others have restarted together to apply security/on"
    assert waits == {"RestartsFirst": (text, False)}
    made.edit(pools=[*pools, hot(1, "warm")], hang=set()).run()


def test_a_pool_without_agents_that_is_renamed_while_all_are_stopped_gets_the_change_of_the_others() -> None:
    """The disaster this prevents: its members hold the only copies, and go on with what no other member talks to."""
    made = settled(managers(), hot(2), indices=((2,), (2,)))
    made.edit(pools=secured(managers(), hot(2)))
    made.until(lambda w: phases(w) == {"stop-coordinated"})
    made.edit(pools=secured(managers(), hot(2, "warm"))).tick()
    assert {"c-hot-0", "c-hot-1", "c-managers-0"} <= set(made.did(a.DeletePod))
    made.run()
    assert "c-hot-0" in made.did(a.Release)


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


@pytest.mark.parametrize("beside", [False, True])
def test_a_claim_that_a_pod_does_not_use_is_no_place_for_its_data(beside: bool) -> None:
    """Someone creates a claim with the labels of a member that keeps the last copy of a shard in its pod."""
    seen = facts_of([managers(), hot(2, ephemeral=True)], [("hot-1",)]).obs
    members = [replace(m, pod=replace(m.pod, claims=m.pool != "hot")) if m.pod is not None else m for m in seen.members]
    members = [m if beside or m.pool != "hot" else replace(m, claim=None) for m in members]
    (kept, pool) = seen.desired.pools
    inputs = {**pool.inputs, "template/a": "new"}
    desired = replace(
        seen.desired,
        pools=(kept, replace(pool, inputs=inputs, held_inputs=inputs)),
        max_unavailable=1,
        sole_copy=o.SoleCopy.INTERRUPT,
    )
    workloads = [
        replace(m, workload=replace(m.workload, inputs=inputs), config=inputs) if m.workload and m.pool == "hot" else m
        for m in members
    ]
    made = plan(replace(seen, members=tuple(workloads), desired=desired), NOW)
    assert not [action for action in made.actions if isinstance(action, a.DeletePod)]
    assert [action.members for action in made.actions if isinstance(action, a.Drain)] == [{"hot-1"}]


def test_a_setting_restarts_the_only_manager_in_the_pod_that_holds_the_cluster_state() -> None:
    """The disaster this prevents: a small cluster without volumes never gets a setting, though its pod would stay."""
    made = world(mixed(1, ephemeral=True), indices=((1,),))
    pod = made.bodies["c-all-0"].pod
    made.edit(pools=[mixed(1, ephemeral=True, config=NEW)]).run()
    assert made.did(a.StopProcess) == ["c-all-0"]
    made.edit(pools=[mixed(1, ephemeral=True, config={**NEW, "template/a": "1"})]).ticks(30)
    assert made.bodies["c-all-0"].pod is pod
    assert [w.reason for w in made.plan().waits] == ["NotSafeYet"], "a new pod would be empty"
