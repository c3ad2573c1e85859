"""Temporarily changed settings are restored exactly, even by another operator process."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.engines.search.database import marks
from stateward.engines.search.database.wire import ClusterSettings
from stateward.planning.model.observation import Allocation

Section = Mapping[str, str | list[str]]


def after(settings: ClusterSettings, change: marks.Change | None) -> ClusterSettings:
    """Do what the database does with a change."""
    if change is None:
        return settings
    sections: dict[str, dict[str, str | list[str]]] = {}
    for name, current in (("persistent", settings.persistent), ("transient", settings.transient)):
        merged = {**current, **change.get(name, {})}
        sections[name] = {key: value for key, value in merged.items() if value is not None}
    return ClusterSettings(**sections)


VALUES = st.sampled_from([None, "all", "primaries", "new_primaries", "none"])
NAMES = st.lists(st.sampled_from(["logs-hot-0", "logs-hot-1", "theirs-1", "rack*"]), unique=True)
MEMBERS = st.sets(st.sampled_from(["logs-hot-0", "logs-hot-1", "logs-hot-2"]))


def sections(key: str, persistent: str | None, transient: str | None) -> ClusterSettings:
    other: dict[str, str | list[str]] = {"cluster.max_shards_per_node": "500"}
    return ClusterSettings(
        persistent={**other, **({} if persistent is None else {key: persistent})},
        transient={} if transient is None else {key: transient},
    )


@settings(deadline=None)
@given(VALUES, VALUES, st.sampled_from(list(Allocation)), st.integers(1, 3))
def test_a_limit_is_lifted_without_a_trace(
    persistent: str | None, transient: str | None, wanted: Allocation, times: int
) -> None:
    before = sections(marks.ENABLE, persistent, transient)
    settings = before
    for _ in range(times):
        settings = after(settings, marks.limit(settings, wanted))
    assert marks.limited(settings)
    strictness = list(Allocation)
    assert strictness.index(marks.allocation(settings)) >= strictness.index(wanted)
    assert marks.limit(settings, wanted) is None
    lifted = after(settings, marks.restore(settings))
    assert lifted == before
    assert marks.restore(lifted) is None


BALANCE = st.sampled_from([None, "all", "primaries", "replicas", "none"])


@settings(deadline=None)
@given(BALANCE, BALANCE, st.integers(1, 3))
def test_balancing_is_paused_and_resumed_without_a_trace(
    persistent: str | None, transient: str | None, times: int
) -> None:
    before = sections(marks.REBALANCE, persistent, transient)
    paused = before
    for _ in range(times):
        paused = after(paused, marks.pause_balancing(paused))
    assert marks.balance_paused(paused)
    assert marks.REBALANCE not in paused.transient
    assert paused.persistent[marks.REBALANCE] == "none"
    assert marks.pause_balancing(paused) is None
    resumed = after(paused, marks.resume_balancing(paused))
    assert resumed == before
    assert marks.resume_balancing(resumed) is None


def test_balancing_that_a_user_resumes_meanwhile_is_paused_again_and_given_back_as_it_was_first() -> None:
    before = sections(marks.REBALANCE, "primaries", None)
    paused = after(before, marks.pause_balancing(before))
    meddled = after(paused, {"transient": {marks.REBALANCE: "all"}})
    again = after(meddled, marks.pause_balancing(meddled))
    assert again.persistent[marks.REBALANCE] == "none"
    assert marks.REBALANCE not in again.transient
    assert again.persistent[marks.BALANCING] == "primaries"


def test_what_the_user_set_is_saved_once() -> None:
    before = sections(marks.ENABLE, "new_primaries", None)
    limited = after(before, marks.limit(before, Allocation.PRIMARIES))
    meddled = after(limited, {"transient": {marks.ENABLE: "all"}})
    again = after(meddled, marks.limit(meddled, Allocation.PRIMARIES))
    assert again.persistent[marks.LIMITED] == "new_primaries"
    assert marks.allocation(again) is not Allocation.ALL
    assert after(again, marks.restore(again)) == after(before, {"transient": {marks.ENABLE: "all"}})


@pytest.mark.parametrize("theirs", ["none", "all", None])
def test_a_value_that_a_person_sets_during_a_restart_outlives_the_limit(theirs: str | None) -> None:
    before = sections(marks.ENABLE, "primaries", None)
    limited = after(before, marks.limit(before, Allocation.NEW_PRIMARIES))
    meddled = after(limited, {"persistent": {marks.ENABLE: theirs}})
    assert after(meddled, marks.restore(meddled)) == after(before, {"persistent": {marks.ENABLE: theirs}})


def test_a_transient_value_that_a_person_sets_meanwhile_outlives_the_limit() -> None:
    before = sections(marks.ENABLE, None, "all")
    limited = after(before, marks.limit(before, Allocation.PRIMARIES))
    meddled = after(limited, {"transient": {marks.ENABLE: "none"}})
    assert after(meddled, marks.restore(meddled)) == sections(marks.ENABLE, None, "none")


def test_a_limit_of_an_earlier_version_is_lifted() -> None:
    """It stored only the value from before."""
    limited = sections(marks.ENABLE, "primaries", None)
    limited = after(limited, {"persistent": {marks.LIMITED: "new_primaries"}})
    assert after(limited, marks.restore(limited)) == sections(marks.ENABLE, "new_primaries", None)


def test_a_stricter_setting_is_never_loosened() -> None:
    before = sections(marks.ENABLE, "none", None)
    assert marks.allocation(after(before, marks.limit(before, Allocation.PRIMARIES))) is Allocation.NONE


def test_an_unheard_of_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="sometimes"):
        marks.allocation(sections(marks.ENABLE, "sometimes", None))


def test_a_member_that_a_user_has_taken_out_of_the_exclusion_is_not_drained() -> None:
    drained = after(sections(marks.EXCLUDE, None, None), marks.drain(sections(marks.EXCLUDE, None, None), {"hot-0"}))
    assert marks.draining(drained) == {"hot-0"}
    for somebody in ({"persistent": {marks.EXCLUDE: "theirs"}}, {"transient": {marks.EXCLUDE: "theirs"}}):
        changed = after(drained, somebody)
        assert marks.draining(changed) == frozenset()
        assert marks.marked_as_draining(changed) == {"hot-0"}
        assert marks.draining(after(changed, marks.drain(changed, {"hot-0"}))) == {"hot-0"}


@settings(deadline=None)
@given(NAMES, st.none() | NAMES, st.lists(MEMBERS, max_size=3))
def test_draining_ends_without_a_trace(theirs: list[str], overriding: list[str] | None, steps: list[set[str]]) -> None:
    transient = None if not overriding else ",".join(overriding)
    before = sections(marks.EXCLUDE, ",".join(theirs) or None, transient)
    settings = before
    for members in steps:
        settings = after(settings, marks.drain(settings, members))
        assert marks.draining(settings) == members
        section = settings.transient if transient else settings.persistent
        excluded = str(section.get(marks.EXCLUDE, "")).split(",")
        assert members <= set(excluded)
        assert set(overriding or theirs) <= set(excluded)
        assert marks.drain(settings, members) is None
    assert after(settings, marks.drain(settings, ())) == before


@pytest.mark.parametrize("again", [True, False])
def test_nothing_stays_excluded_after_a_person_excluded_another_node_during_a_drain(again: bool) -> None:
    """A transient exclusion overrides the persistent one in which the drained member is."""
    before = sections(marks.EXCLUDE, None, None)
    settings = after(before, marks.drain(before, {"hot-0"}))
    settings = after(settings, {"transient": {marks.EXCLUDE: "theirs"}})
    if again:  # The plan drains the member once more, because its drain is not in force.
        settings = after(settings, marks.drain(settings, {"hot-0"}))
        assert marks.draining(settings) == {"hot-0"}
    lifted = after(settings, marks.drain(settings, set()))
    assert lifted.transient == {marks.EXCLUDE: "theirs"}
    assert lifted.persistent == before.persistent


def test_a_list_is_read_like_text() -> None:
    settings = ClusterSettings(persistent={marks.EXCLUDE: ["a", "b"]}, transient={})
    assert after(settings, marks.drain(settings, {"c"})).persistent[marks.EXCLUDE] == "a,b,c"
