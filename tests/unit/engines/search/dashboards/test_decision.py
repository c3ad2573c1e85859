"""The version that may run: never ahead of the database, never back, never two at once."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.values.version import Version, parse_version
from stateward.engines.search.dashboards.decision import Asked, Decision, Health, Seen, decide

VERSIONS = ["2.17.1", "2.19.1", "2.19.3", "3.4.0"]
SERVING = Seen(
    version="2.19.1", replicas=2, total=2, updated=2, ready=2, pods=2, last="2.19.1", health=Health.AVAILABLE
)


def parsed(version: str) -> Version:
    return parse_version(version) or Version(0, 0, 0)


ASKED = st.builds(
    Asked,
    replicas=st.integers(0, 3),
    cluster=st.sampled_from(VERSIONS),
    deployed=st.sampled_from(["", *VERSIONS]),
    version=st.sampled_from([None, *VERSIONS]),
    derivable=st.booleans(),
)
SEEN = st.builds(
    Seen,
    version=st.sampled_from(["", *VERSIONS]),
    replicas=st.integers(0, 3),
    total=st.integers(0, 3),
    updated=st.integers(0, 3),
    ready=st.integers(0, 3),
    observed=st.booleans(),
    pods=st.integers(0, 3),
    trouble=st.sampled_from(["", "ImagePullBackOff: no such image"]),
    last=st.sampled_from(["", *VERSIONS]),
    health=st.sampled_from(list(Health)),
)


@given(asked=ASKED, seen=SEEN)
def test_a_new_version_is_never_ahead_never_back_and_never_beside_another(asked: Asked, seen: Seen) -> None:
    made = decide(asked, seen)
    if made.version not in ("", seen.version):
        assert parsed(made.version) <= parsed(asked.deployed), "never ahead"
        assert parsed(made.version) >= max(parsed(seen.version), parsed(seen.last)), "never back"
        if seen.version:
            assert (seen.replicas, seen.total, seen.pods, seen.observed) == (0, 0, 0, True), "all have stopped"


@given(asked=ASKED, seen=SEEN)
def test_what_waits_has_a_reason_and_what_is_available_serves(asked: Asked, seen: Seen) -> None:
    made = decide(asked, seen)
    assert made.available or made.reason
    assert bool(made.reason) == bool(made.message) or made.reason == "DashboardsUnavailable"
    if made.available and asked.replicas:
        assert (seen.version, seen.ready, seen.health) == (made.version, asked.replicas, Health.AVAILABLE)


@pytest.mark.parametrize("health", list(Health))
def test_dashboards_without_instances_are_available_whatever_was_told_last(health: Health) -> None:
    none = Seen(version="2.19.3", last="2.19.3", health=health)
    assert decide(Asked(0, "2.19.3", "2.19.3"), none).available
    serving = Seen("2.19.3", replicas=1, total=1, updated=1, ready=1, pods=1, last="2.19.3", health=health)
    assert decide(Asked(1, "2.19.3", "2.19.3"), serving).available is (health is Health.AVAILABLE)


@given(asked=ASKED, start=SEEN)
def test_whatever_there_is_it_comes_to_rest(asked: Asked, start: Seen) -> None:
    seen = start
    for _ in range(6):
        made = decide(asked, seen)
        seen = after(made, seen)
    assert decide(asked, seen) == decide(asked, after(decide(asked, seen), seen))
    settled = decide(asked, seen)
    assert settled.available or settled.reason not in ("DashboardsStarting", "DashboardsStopping")


def after(made: Decision, seen: Seen) -> Seen:
    """Return what is observed once a decision has been carried out."""
    if not made.version or made.frozen:
        return seen
    n = made.replicas
    newest = max(made.version, seen.last, key=parsed)
    return Seen(made.version, n, n, n, n, True, n, "", newest, Health.AVAILABLE)


def test_they_stay_until_all_members_have_the_new_version_and_then_stop_first() -> None:
    asked = Asked(2, "2.19.3", "2.19.1")
    made = decide(asked, SERVING)
    assert (made.version, made.replicas, made.available) == ("2.19.1", 2, True)
    assert made.reason == "DashboardsWaitForUpgrade"
    assert made.message == "they stay at 2.19.1 until all members run 2.19.3"
    done = Asked(2, "2.19.3", "2.19.3")
    made = decide(done, SERVING)
    assert (made.version, made.replicas, made.reason) == ("2.19.1", 0, "DashboardsStopping")
    still_ending = Seen("2.19.1", 0, 0, 0, 0, observed=True, pods=1, last="2.19.1")
    assert decide(done, still_ending).version == "2.19.1"
    gone = Seen("2.19.1", 0, 0, 0, 0, observed=True, pods=0, last="2.19.1")
    assert (decide(done, gone).version, decide(done, gone).replicas) == ("2.19.3", 2)


@pytest.mark.parametrize(
    ("asked", "seen", "reason"),
    [
        (Asked(1, "2.19.1", ""), Seen(), "DashboardsWaitForCluster"),
        (Asked(1, "2.19.3", "2.19.1"), Seen(), "DashboardsWaitForUpgrade"),
        (Asked(2, "2.19.1", "2.19.1", "2.19.3"), SERVING, "DashboardsAhead"),
        (Asked(2, "2.19.1", "2.19.1", "2.17.1"), SERVING, "DashboardsCannotGoBack"),
        (Asked(2, "3.4.0", "3.4.0", "2.19.1"), SERVING, "DashboardsTooOld"),
        (Asked(2, "2.19.3", "2.19.1", derivable=False), SERVING, "DashboardsImageWithoutVersion"),
        (Asked(2, "2.19.1", "2.19.1"), Seen("2.19.1", 2, 2, 2, 1, trouble="CrashLoopBackOff"), "DashboardsFailing"),
    ],
)
def test_each_wait_has_its_reason(asked: Asked, seen: Seen, reason: str) -> None:
    assert decide(asked, seen).reason == reason


def test_what_cannot_go_back_stays_as_it_is_and_never_starts_again_in_the_older_version() -> None:
    asked = Asked(2, "2.19.1", "2.19.1", "2.17.1")
    made = decide(asked, SERVING)
    assert (made.version, made.replicas, made.available) == ("2.19.1", 2, True)
    removed = decide(asked, Seen(last="2.19.1"))
    assert (removed.version, removed.reason) == ("", "DashboardsCannotGoBack")
    assert "2.17.1 cannot read the saved objects" in removed.message


def test_unknown_is_neither_available_nor_unavailable() -> None:
    asked = Asked(2, "2.19.1", "2.19.1")
    found = {
        health: decide(asked, Seen("2.19.1", 2, 2, 2, 2, pods=2, health=health, report="it says so"))
        for health in Health
    }
    assert [found[health].available for health in (Health.AVAILABLE, Health.UNAVAILABLE, Health.UNKNOWN)] == [
        True,
        False,
        False,
    ]
    assert found[Health.UNAVAILABLE].reason != found[Health.UNKNOWN].reason


def test_an_instance_that_is_counted_anywhere_holds_the_new_version_back() -> None:
    asked = Asked(1, "2.19.3", "2.19.3")
    for replicas, total, pods, observed in itertools.product((0, 1), (0, 1), (0, 1), (True, False)):
        made = decide(asked, Seen("2.19.1", replicas, total, pods=pods, observed=observed))
        stopped = (replicas, total, pods, observed) == (0, 0, 0, True)
        assert made.version == ("2.19.3" if stopped else "2.19.1")
