"""Data that changes several times in a row is rolled out once: no restart begins before a quiet period."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.values.settling import LONGEST_SETTLE_SECONDS, SETTLE_SECONDS
from stateward.planning.facts.debounce import SETTLING, is_settling, with_observed_change
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Changing, Phase
from stateward.planning.plan import Plan, plan
from tests.unit.planning.model.test_data import ONE, TWO, using
from tests.unit.planning.steps.rollout.test_restart import set_phase, world
from tests.unit.planning.world import World, hot, managers

KEPT = "keystore/Secret/word:a"


def made_at(made: World, *, since: float, last: float) -> Plan:
    """Return the plan of a cluster whose data began to change, and last changed, so many seconds ago."""
    changing = Changing(made.now - since, made.now - last)
    return plan(msgspec.structs.replace(made.observe(), changing=changing), made.now)


def settling(made: Plan) -> set[str]:
    return {wait.subject for wait in made.waits if wait.reason == SETTLING}


@pytest.mark.parametrize("data", [({WORD: "key/1"}, {WORD: "key/2"}) for WORD in (*ONE, KEPT)])
def test_members_begin_when_what_they_use_has_been_quiet_and_a_user_can_read_why_they_wait(
    data: tuple[dict[str, str], dict[str, str]],
) -> None:
    made = using(data[0]).edit(pools=[managers(), hot(config=data[1])])
    fresh = made_at(made, since=4.0, last=4.0)
    assert fresh.actions == ()
    assert settling(fresh) == {"c-hot-0", "c-hot-1", "c-hot-2"}
    assert not fresh.settled
    said = fresh.intents["c-hot-0"].sentence
    assert said.startswith(f"c-hot-0 waits ({next(iter(data[1]))}): the data has changed just now")
    quiet = made_at(made, since=20.0, last=SETTLE_SECONDS)
    assert settling(quiet) == set()
    assert quiet.actions


def test_a_stream_of_changes_is_waited_for_a_minute_and_no_longer() -> None:
    made = using(ONE).edit(pools=[managers(), hot(config=TWO)])
    assert made_at(made, since=LONGEST_SETTLE_SECONDS - 1, last=1.0).actions == ()
    assert made_at(made, since=LONGEST_SETTLE_SECONDS, last=1.0).actions


def test_other_changes_do_not_wait_and_neither_do_members_that_use_no_data() -> None:
    made = using(ONE).edit(pools=[managers(config={"config/a": "1"}), hot(config=TWO)])
    now = made_at(made, since=1.0, last=1.0)
    assert settling(now) == {"c-hot-0", "c-hot-1", "c-hot-2"}
    assert {action.member for action in now.actions if isinstance(action, a.Stage)} <= {
        name for name in made.bodies if "managers" in name
    }
    assert now.actions


def test_a_member_that_was_asked_to_restart_by_a_user_does_not_wait() -> None:
    made = using(ONE).edit(pools=[managers(), hot(config=TWO)])
    set_phase(made, "c-hot-1", Phase.SCHEDULE)
    now = made_at(made, since=1.0, last=1.0)
    assert {action.member for action in now.actions if isinstance(action, a.DeletePod)} == {"c-hot-1"}


def test_a_member_that_is_broken_is_repaired_at_once_with_what_there_is() -> None:
    """The disaster this prevents: data that keeps changing would keep a member down that it could start with."""
    made = using({KEPT: "key/1"}).edit(crash={(KEPT, "key/bad")}, pools=[managers(), hot(config={KEPT: "key/bad"})])
    made.ticks(30)
    broken = {name for name, body in made.bodies.items() if body.pod is not None and body.pod.trouble}
    assert len(broken) == 1
    made.edit(pools=[managers(), hot(config={KEPT: "key/3"})])
    now = made_at(made, since=1.0, last=1.0)
    assert {action.member for action in now.actions if isinstance(action, a.Stage)} == broken
    assert not broken & settling(now)


def test_a_restart_that_has_begun_continues_while_data_changes() -> None:
    made = world().edit(pools=[managers(), hot(config={KEPT: "key/1"})]).run()
    made.edit(pools=[managers(), hot(config={KEPT: "key/2"})])
    made.until(lambda w: any(body.pod is not None and body.pod.phase == Phase.STOP.value for body in w.bodies.values()))
    down = next(name for name, body in made.bodies.items() if body.pod is not None and body.pod.phase)
    made.edit(pools=[managers(), hot(config={KEPT: "key/3"})])
    now = made_at(made, since=1.0, last=1.0)
    assert down not in settling(now)
    assert len(settling(now)) == 2


digests = st.dictionaries(
    st.sampled_from(["Secret/a:x", "Secret/a:y", "ConfigMap/b:", "keystore/Secret/s:k"]),
    st.sampled_from(["key/1", "key/2", "other/1", "-", "+"]),
)


@given(digests, digests, st.none() | st.builds(Changing, st.floats(0, 50), st.floats(50, 100)))
def test_only_a_change_that_could_restart_a_member_begins_to_settle(
    was: dict[str, str], data: dict[str, str], before: Changing | None
) -> None:
    now = with_observed_change(before, was, data, 100.0)
    if data and now != before:
        assert now is not None
        assert now.last == 100.0
        assert was != data
    if was == data and data:
        assert now == before
    assert with_observed_change(now, data, data, 200.0) == (now if data else None)


def test_what_appears_goes_or_is_written_with_another_key_changes_nothing() -> None:
    assert with_observed_change(None, {}, ONE, 5.0) is None
    assert with_observed_change(None, {"Secret/word:WORD": "key/1"}, {"Secret/word:WORD": "other/2"}, 5.0) is None
    assert with_observed_change(Changing(1.0, 1.0), ONE, {}, 5.0) is None
    assert with_observed_change(None, ONE, TWO, 5.0) == Changing(5.0, 5.0)


def test_a_burst_keeps_its_beginning_and_one_that_is_over_does_not() -> None:
    first = with_observed_change(None, ONE, TWO, 100.0)
    second = with_observed_change(first, TWO, ONE, 104.0)
    assert second == Changing(100.0, 104.0)
    assert with_observed_change(second, ONE, TWO, 109.0) == Changing(109.0, 109.0)
    assert is_settling(second, ["Secret/word:WORD"], 108.9)
    assert not is_settling(second, ["Secret/word:WORD"], 109.0)
    assert not is_settling(second, ["config/a", "version"], 104.0)
    assert not is_settling(None, ["Secret/word:WORD"], 104.0)
