"""The plan as a whole: the order of its actions, and the one sentence that says what goes on."""

from msgspec.structs import replace

from stateward.planning import actions as a
from stateward.planning import observation as o
from stateward.planning.plan import plan as planned
from tests.unit.planning.world import GIB, gateway, hot, managers, settled

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


def test_the_sentence_names_what_goes_on_before_what_waits() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(config=A), hot(config=A)])
    assert world.tick().doing == "c-hot-2 is prepared for a restart to apply config/a: its next template is written"
    assert world.tick().doing == "c-hot-2 restarts with a new pod (its pod has no agent) to apply config/a"
    assert "c-hot-2" in world.tick().doing


def test_a_refusal_is_said_where_nothing_else_goes_on() -> None:
    refusal = o.Refusal("spec.version", "UpgradeRefused", "2.17.1 cannot become 1.3.0", everything=False)
    assert settled(managers(), hot()).edit(refusals=(refusal,)).plan().doing == "2.17.1 cannot become 1.3.0"


def test_a_pause_is_said() -> None:
    made = settled(managers(), hot()).edit(policy={"paused": True}, version="2.19.5").plan()
    assert made.doing == "update.paused is set: no new step is taken"
    assert not made.settled


def test_a_plan_that_destroys_says_so() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=A)])
    assert not world.tick().destructive
    assert world.tick().destructive


def test_what_a_process_starts_with_is_written_from_live_reads() -> None:
    """It is written over what is there, and an old cache may show the spec of before."""
    world = settled(managers(), hot(), indices=((2,), (2,)))
    assert not world.plan().needs_live
    made = world.edit(pools=[managers(), hot(config=A)]).plan()
    assert any(isinstance(action, a.Stage) for action in made.actions)
    assert not made.destructive
    assert made.needs_live


def test_a_plan_by_which_somebody_is_forgotten_is_made_from_live_reads() -> None:
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
