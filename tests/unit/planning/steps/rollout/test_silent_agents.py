"""A member with a silent agent: it is replaced if its pod cannot be recreated, and never because of the network."""

from dataclasses import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.steps.membership.test_replacement import AFTER, DUE, fail, missing, told, wishes
from tests.unit.planning.world import World, hot, managers
from tests.unit.planning.world_objects import Body, Pod


def with_agents(**more: object) -> World:
    world = World(managers(), hot(4, **more), **wishes(enabled=True, after=AFTER))  # type: ignore[arg-type]
    world.agents = True
    return world.run().index((2,), (2,)).run()


def silent() -> World:
    """Return a cluster with a member that was to be restarted, whose agent is silent, and whose data is in its pod."""
    world = with_agents(ephemeral=True).edit(mute={"c-hot-2"})
    pod = world.bodies["c-hot-2"].pod
    assert pod is not None
    pod.phase = o.Phase.STOP.value
    return world.until(lambda w: missing(w, "c-hot-2") == "AgentUnreachable")


def test_a_member_whose_agent_stays_silent_while_others_answer_is_replaced() -> None:
    world = silent().ticks(DUE - 5)
    assert not world.did(a.RecordRemoval)
    world.until(lambda w: bool(w.did(a.Release)))
    assert world.did(a.RecordRemoval) == ["c-hot-2"]
    world.run()
    assert {n for n in world.pods() if "hot" in n} == {f"c-hot-{i}" for i in (0, 1, 3, 4)}


def test_where_no_agent_answers_it_is_the_network_and_no_member_is_replaced() -> None:
    world = with_agents()
    world.edit(mute=set(world.bodies), pools=[managers(), hot(4, config={"config/a": "1"})]).ticks(DUE + 60)
    assert missing(world, "c-hot-2") == "AgentUnreachable"
    assert not world.did(a.RecordRemoval)
    assert "so the network between the operator and the pods may be the cause" in told(world, "ReplacementHeld")


def test_the_time_of_a_silent_agent_does_not_count_for_a_failure() -> None:
    world = fail(silent().ticks(DUE - 5), "c-hot-2").ticks(DUE - 5)
    assert missing(world, "c-hot-2") == "NodeNotReady"
    assert not world.did(a.RecordRemoval)


def test_a_member_that_a_user_keeps_stopped_is_not_missing() -> None:
    world = with_agents().edit(kept_stopped=frozenset({"c-hot-1"})).ticks(DUE + 40)
    assert "c-hot-1" not in world.did(a.RecordRemoval)
    assert missing(world, "c-hot-1") == ""


def test_one_that_cannot_be_reached_does_not_keep_all_others_stopped() -> None:
    for ephemeral in (False, True):
        together = frozenset({"security"})
        pools = [managers(coordinated=together), hot(3, ephemeral=ephemeral, coordinated=together)]
        world = World(*pools)
        world.agents = True
        world.run().index((2,), (2,)).run()
        tls = {"security/tls": "on"}
        world.pools = [replace(pool, config=tls) for pool in pools]
        world.until(lambda w: any(b.pod and b.pod.phase == "stop-coordinated" for b in w.bodies.values()))
        world.edit(mute={"c-hot-1"}).ticks(120)
        serving = {b.name for b in world.bodies.values() if b.pod and b.pod.ready and b.pod.process == "running"}
        assert serving >= {*world.bodies} - {"c-hot-1"}
        assert ephemeral is ("start without it" in told(world, "AgentSilent"))
        world.edit(mute=set()).run()
        assert all(b.pod and not b.pod.phase and b.pod.inputs.items() >= tls.items() for b in world.bodies.values())


class Undying(World):
    """A cluster with a process that no signal ends: it waits in the kernel for a disk that does not answer."""

    undying = ""

    def step_process(self, body: Body, pod: Pod) -> None:
        held = body.name == self.undying and pod.process == "stopping"
        super().step_process(body, pod)
        pod.process = "stopping" if held else pod.process


def others(world: World) -> list[Pod]:
    return [body.pod for body in world.bodies.values() if body.pod is not None and body.name != "c-hot-1"]


def test_one_whose_process_does_not_end_does_not_keep_all_others_stopped() -> None:
    together = frozenset({"security"})
    world = Undying(managers(coordinated=together), hot(3, coordinated=together))
    world.agents = True
    world.run().index((2,), (2,)).run()
    tls = {"security/tls": "on"}
    world.undying = "c-hot-1"
    world.pools = [replace(pool, config=tls) for pool in world.pools]
    world.until(lambda w: all(pod.process == "stopped" for pod in others(w)))
    world.until(lambda w: all(pod.ready for pod in others(w)), limit=1000)
    assert "start without it" in told(world, "ProcessDoesNotEnd")
    world.undying = ""
    world.run()
    assert all(b.pod and not b.pod.phase and b.pod.inputs.items() >= tls.items() for b in world.bodies.values())


def two_managers_with_a_silent_voter(*, talk: bool) -> World:
    """Return two managers, of which the one with the vote has a silent agent, before a change of all together."""
    world = World(managers(2), hot(2))
    world.agents = True
    world.run().index((2,)).run()
    (voter,) = world.voters
    old = world.bodies[voter].pod
    assert old is not None

    def between(_: object) -> None:
        there = world.bodies[voter].pod
        same = there is not None and there.uid == old.uid
        world.edit(mute={voter} if same else set(), hang={("security/on", "1")} if same and not talk else set())

    world.hooks.append(between)
    world.edit(mute={voter}).ticks(40).log.clear()
    together = frozenset({"security"})
    changed = (replace(p, config={"security/on": "1"}, coordinated=together) for p in world.pools)
    return world.edit(pools=list(changed))


def test_a_voter_with_a_silent_agent_is_recreated_with_all_others_and_waits_for_none() -> None:
    """The disaster this prevents: the other manager cannot join it, and it waits until the other one is back."""
    for talk in (True, False):
        world = two_managers_with_a_silent_voter(talk=talk)
        (voter,) = world.voters
        world.run()
        assert world.did(a.DeletePod) == [voter]
        assert voter not in world.did(a.Release)


def test_a_voter_with_a_silent_agent_gives_its_vote_away_once_the_others_are_back() -> None:
    """The disaster this prevents: it counts as out of reach because of its vote, which then nothing moves."""
    world = two_managers_with_a_silent_voter(talk=True)
    (voter,) = world.voters
    pod = world.bodies[voter].pod
    assert pod is not None
    pod.phase, pod.begun = o.Phase.STOP_COORDINATED.value, True
    world.edit(pools=[managers(2), hot(2)]).run()
    kinds = [type(x) for _, x in world.log]
    assert kinds.index(a.ExcludeVoters) < kinds.index(a.DeletePod)


def test_a_member_that_leaves_with_a_silent_agent_is_not_prepared_for_the_restart_of_all_again() -> None:
    """The others were recreated while all were stopped, with a setting with which they do not start."""
    world, together, bad = with_agents(), frozenset({"security"}), {"security/on": "1", "config/a": "bad"}
    world.edit(pools=[replace(p, config={"security/on": "1"}, coordinated=together) for p in world.pools])
    world.until(lambda w: all(b.pod and b.pod.phase == o.Phase.STOP_COORDINATED.value for b in w.bodies.values()))
    for name, body in world.bodies.items():
        assert body.pod is not None
        assert body.workload is not None
        if name != "c-managers-1":
            inputs = {**body.workload.inputs, **bad}
            body.pod = replace(body.pod, uid=f"{name}-new", phase="", begun=False, inputs=inputs, given={})
    world.edit(crash={("config/a", "bad")}, pools=[replace(p, config=bad, coordinated=together) for p in world.pools])
    world.edit(mute={"c-managers-1"}, policy=wishes(replace=frozenset({"c-managers-1"})))
    world.until(lambda w: missing(w, "c-managers-1") == "AgentUnreachable").ticks(20)
    assert world.did(a.RecordRemoval) == ["c-managers-1"]
    assert world.bodies["c-managers-1"].pod is not None
    assert world.bodies["c-managers-1"].pod.phase == o.Phase.STOP_COORDINATED.value
