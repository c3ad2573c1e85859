"""A stored time that lies ahead of the clock counts as now: each wait begins again once, and has its usual length."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.past_times import AHEAD, MOST, Past, PastTimes, with_past_times
from stateward.planning.plan import plan
from stateward.planning.report import past_times as report
from tests.unit.planning.chaos import NOW, observations
from tests.unit.planning.steps.membership.test_automatic_scaling import DISK, scaled, with_disks
from tests.unit.planning.steps.membership.test_replacement import AFTER, cluster, fail
from tests.unit.planning.steps.upkeep.test_volume_growth import filled
from tests.unit.planning.world import World, hot, managers, settled

YEARS = 10 * 365 * 86400
ahead = st.integers(min_value=int(AHEAD) + 1, max_value=YEARS)


class Operator(World):
    """A world whose operator reads times as a process does."""

    def __init__(self, *pools: Any, **more: Any) -> None:
        super().__init__(*pools, **more)
        self.past = PastTimes()

    def silent(self) -> o.Observation:
        past = self.past.at(self.now)
        self.status = report.with_past_times(self.status, past)
        return with_past_times(super().silent(), past)


def stored(world: World, past: Past) -> Operator:
    """Return a copy of a world whose stored times are other ones."""
    made: Any = deepcopy(world)
    made.__class__, made.past = Operator, PastTimes()
    made.status = report.with_past_times(made.status, past)
    for body in made.bodies.values():
        if body.pod is not None:
            body.pod.created = past(body.pod.created)
        if body.claim is not None and body.claim.resized is not None:
            body.claim.resized = past(body.claim.resized)
    return made


def all_at(moment: float) -> Past:
    return lambda _: moment


def lost() -> World:
    return fail(cluster(), "c-hot-1")


def full() -> World:
    return with_disks(scaled(DISK), 84)


def empty() -> World:
    return with_disks(scaled(DISK, indices=((2,), (2,))), 30)


def grown() -> World:
    world = filled(80)
    world.run()
    world.used = dict.fromkeys(world.used, 120 * (1 << 30))
    return world


def shrinks() -> World:
    world = settled(managers(), hot(5), indices=((2,),)).edit(policy={"wait_between_removals": 300.0})
    return world.edit(pools=[managers(), hot(2)])


def crashing() -> World:
    world = settled(managers(), hot(3), indices=((2,),))
    return world.edit(pools=[managers(), hot(3, config={"bad": "1"})])


@pytest.mark.parametrize("begun", [lost, full, empty, grown, shrinks, crashing])
@settings(max_examples=3, deadline=None)
@given(seconds=ahead, ticks=st.integers(min_value=1, max_value=30))
def test_a_cluster_with_times_ahead_is_treated_as_one_with_the_same_times_of_now(
    begun: Callable[[], World], seconds: int, ticks: int
) -> None:
    world = begun().ticks(ticks)
    now = world.now
    one, other = stored(world, all_at(now + seconds)), stored(world, all_at(now))
    for span in (0, 300, 600, 3600, 6 * 3600):
        one.now, other.now = one.now + span, other.now + span
        one.ticks(6)
        other.ticks(6)
        assert one.log == other.log
        assert one.status == other.status


@given(seconds=ahead)
@settings(max_examples=5, deadline=None)
def test_a_member_is_replaced_after_its_time_however_far_ahead_its_loss_was_recorded(seconds: int) -> None:
    world = lost().ticks(30)
    now = world.now
    world = stored(world, all_at(now + seconds))
    world.ticks(int(AFTER) // 10 - 1)
    assert not world.did(a.RecordRemoval)
    world.ticks(3)
    assert world.did(a.RecordRemoval) == ["c-hot-1"]


def moved(found: o.Observation, seconds: float) -> o.Observation:
    """Return an observation whose objects and database have times of the future."""
    members = [
        replace(
            m,
            pod=m.pod
            and replace(m.pod, created=NOW + seconds, gone_by=NOW + 2 * seconds + 30, grace=30.0, ended=NOW + seconds),
            claim=m.claim and replace(m.claim, resized=NOW + seconds),
        )
        for m in found.members
    ]
    database = found.database
    if isinstance(database, o.Database):
        units = (replace(u, copies=tuple(replace(c, since=NOW + seconds) for c in u.copies)) for u in database.units)
        database = replace(database, units=tuple(units))
    orphan = o.Orphan(o.Ref("c-hot-9-config", "u", "1"), NOW + seconds)
    return replace(found, members=tuple(members), database=database, orphans=(orphan,))


def times(found: o.Observation) -> Iterable[float]:
    """Yield the times that objects and the database have."""
    yield from (orphan.created for orphan in found.orphans)
    for member in found.members:
        if member.pod is not None:
            yield member.pod.created
            yield member.pod.ended
            yield member.pod.gone_by - member.pod.grace
        if member.claim is not None:
            yield member.claim.resized or 0.0
    if isinstance(found.database, o.Database):
        yield from (copy.since for unit in found.database.units for copy in unit.copies)


@given(observations, ahead, st.floats(min_value=0, max_value=YEARS))
def test_what_is_ahead_in_an_observation_counts_as_when_it_was_first_read(
    found: o.Observation, seconds: int, later: float
) -> None:
    found, past = moved(found, seconds), PastTimes()
    first = with_past_times(found, past.at(NOW))
    assert set(times(first)) == {NOW}
    assert with_past_times(found, past.at(NOW + later)) == first, "no wait begins again"
    plan(first, NOW)


@given(observations, st.floats(min_value=0, max_value=AHEAD))
def test_what_is_not_ahead_stays(found: o.Observation, seconds: float) -> None:
    found = moved(found, seconds / 2)
    assert with_past_times(found, PastTimes().at(NOW)) == found


def test_a_grace_period_may_end_later_than_now() -> None:
    seen = lost().observe()
    long = [replace(m, pod=m.pod and replace(m.pod, gone_by=NOW + 7200, grace=7200.0)) for m in seen.members]
    seen = replace(seen, members=tuple(long))
    assert with_past_times(seen, PastTimes().at(NOW)) == seen


def test_times_begin_again_when_the_clock_is_set_back_once_more() -> None:
    past = PastTimes()
    assert past.at(NOW)(NOW + YEARS) == NOW
    assert past.at(NOW - 5000)(NOW + YEARS) == NOW - 5000
    assert past.at(NOW - 4000)(NOW + YEARS) == NOW - 5000


def test_a_process_remembers_only_so_many_times() -> None:
    past = PastTimes()
    for number in range(MOST + 1):
        past.at(NOW)(NOW + 1000 + number)
    assert past.at(NOW + 10)(NOW + 1000) == NOW + 10, "the oldest one is forgotten"
    assert past.at(NOW + 10)(NOW + 1000 + MOST) == NOW
