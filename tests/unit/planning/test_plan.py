"""The plan as a whole: the order of its actions, and its one-sentence summary."""

from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan as planned
from tests.unit.planning.world import GIB, World, gateway, hot, managers, settled

A = {"config/a": "1"}


def test_what_is_undone_comes_first_and_what_may_be_refused_for_long_last() -> None:
    world = settled(managers(), hot(4), gateway(1), indices=((2,), (1,), (1,)))
    world.edit(pools=[managers(), hot(4, size=20 * GIB), gateway(2, config=A)])
    world.edit(allocation=o.Allocation.PRIMARIES, limited=True)
    kinds = [type(action) for action in world.plan().actions]
    assert kinds[0] is a.RestoreAllocation
    assert kinds.index(a.Stage) < kinds.index(a.GrowVolume) < kinds.index(a.Create)


def test_what_was_begun_is_ended_before_anything_that_may_be_refused() -> None:
    world = settled(managers(), hot(4), indices=((2,), (1,)))
    world.edit(pools=[managers(), hot(5)], allocation=o.Allocation.PRIMARIES, limited=True)
    made = world.plan()
    assert [type(action) for action in made.endings] == [a.RestoreAllocation]
    assert made.endings + made.steps == made.actions


def test_a_drain_that_is_lifted_does_not_go_before_what_keeps_a_process_stopped() -> None:
    """What it may meet in the database would end the round."""
    world = settled(managers(), hot(4), indices=((2,), (1,)))
    world.edit(draining=frozenset({"c-gone-0"}), allocation=o.Allocation.PRIMARIES, limited=True)
    made = world.plan()
    assert [type(action) for action in made.endings] == [a.RestoreAllocation]
    assert [type(action) for action in made.steps] == [a.Drain]


def test_the_sentence_names_what_continues_before_what_waits() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(config=A), hot(config=A)])
    assert world.tick().activity == "c-hot-2 is prepared for a restart to apply config/a: its next template is written"
    assert world.tick().activity == "c-hot-2 restarts with a new pod (its pod has no agent) to apply config/a"
    assert "c-hot-2" in world.tick().activity


def test_a_refusal_is_reported_if_no_other_step_continues() -> None:
    refusal = o.Refusal("spec.version", "UpgradeRefused", "2.17.1 cannot become 1.3.0", everything=False)
    assert settled(managers(), hot()).edit(refusals=(refusal,)).plan().activity == "2.17.1 cannot become 1.3.0"


def test_a_pause_is_reported() -> None:
    made = settled(managers(), hot()).edit(policy={"paused": True}, version="2.19.5").plan()
    assert made.activity == "update.paused is set: no new step is taken"
    assert not made.settled


ON_CACHED_READS = {
    a.Create,
    a.RecordData,
    a.MarkVolume,
    a.MarkState,
    a.RetainVolume,
    a.RecordRemoval,
    a.CancelRemoval,
    a.RestoreAllocation,
    a.ResumeBalancing,
}


def test_all_kinds_of_actions_but_a_few_need_live_reads() -> None:
    """That includes every command to the database but the one that gives back what it does by itself."""
    assert {kind for kind in a.Action.__subclasses__() if not kind.needs_live} == ON_CACHED_READS


def test_a_plan_with_one_action_that_needs_live_reads_is_made_from_them() -> None:
    world = settled(managers(), hot(), indices=((2,), (2,)))
    assert not world.plan().needs_live
    made = world.copy().edit(pools=[managers(), hot(config=A)]).plan()
    assert [type(action) for action in made.actions] == [a.Stage]
    assert made.needs_live
    made = world.copy().edit(pools=[managers(), hot(2)]).plan()
    assert a.Drain in {type(action) for action in made.actions}
    assert made.needs_live
    limited = world.copy().edit(allocation=o.Allocation.PRIMARIES, limited=True).plan()
    assert [type(action) for action in limited.actions] == [a.RestoreAllocation]
    assert not limited.needs_live


def test_the_status_is_written_before_the_version_of_data_is_marked_on_a_claim() -> None:
    """The disaster this prevents: the operator is killed in between, and the status still says the older version."""
    world = settled(managers(), hot(), indices=((2,), (2,)))
    assert not world.plan().records_first
    world.edit(version="2.18.0").until(lambda w: any(isinstance(x, a.MarkState) for x in w.plan().actions))
    made = world.plan()
    assert [x.version for x in made.actions if isinstance(x, a.MarkState)] == ["2.18.0"]
    assert made.records_first


def test_while_caches_lag_behind_no_member_is_drained_and_drains_that_nothing_needs_are_lifted_on_a_live_read() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,))).edit(settled_writes=False)
    assert not world.copy().edit(pools=[managers(), hot(3)]).plan().actions
    drained = frozenset({"c-hot-0", "c-hot-1"})
    for left in (drained, drained | {"c-gone-0"}):
        made = world.copy().edit(draining=left, exclusions=left).plan()
        assert {type(action) for action in made.actions} == {a.Drain, a.ExcludeVoters}
        assert made.needs_live


def test_a_drain_that_changes_both_ways_waits_for_caches_that_lag_behind() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,)))
    world.edit(pools=[managers(), hot(3)], draining=frozenset({"c-hot-0"}), settled_writes=False)
    assert not world.plan().actions
    made = world.edit(settled_writes=True).plan()
    (drain,) = (action for action in made.actions if isinstance(action, a.Drain))
    assert not drain.lifts


def test_a_stopped_process_does_not_wait_for_caches_that_lag_behind() -> None:
    """What starts it is read live."""
    world = World(managers(), hot()).edit(agents=True).run().index((2,), (2,)).run()
    world.edit(pools=[managers(), hot(config=A)])
    world.until(lambda w: any(b.pod is not None and b.pod.process == "stopped" for b in w.bodies.values()))
    made = world.edit(settled_writes=False).plan()
    assert made.actions
    assert all(action.ends for action in made.actions)
    assert made.needs_live


def test_a_plan_that_forgets_a_member_is_made_from_live_reads() -> None:
    """A member that is not seen may be one that an old cache does not show."""
    seen = settled(managers(), hot(), indices=((2,),)).observe()
    assert not planned(seen, 0.0).needs_live
    unseen = replace(seen, members=tuple(m for m in seen.members if m.name != "c-hot-2"))
    made = planned(replace(unseen, desired=replace(seen.desired, paused=True)), 0.0)
    assert not made.actions
    assert made.needs_live


def test_nor_is_a_replacement_forgotten_of_a_member_that_was_not_seen() -> None:
    seen = settled(managers(), hot(), indices=((2,),)).observe()
    removal = o.Removal(reason="it was down for too long", since=0.0, automatic=True)
    assert planned(replace(seen, removals={"c-hot-7": removal}), 0.0).needs_live
