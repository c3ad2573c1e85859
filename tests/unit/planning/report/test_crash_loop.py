"""A member whose process ends a minute after each start is stuck all the time, and makes no progress."""

from collections.abc import Iterator

from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus
from stateward.operator.objects.recorded_status import times, waits
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.report.status import parse_time, status
from tests.unit.planning.world import World, hot, managers, settled

LOOPS = "c-hot-1"
BACK_OFF, RUNS, TICK = 300.0, 40.0, 10.0


def looping(world: World, seconds: float, *, ends: bool = True) -> Iterator[tuple[float, ClusterStatus]]:
    """Yield the time and the status while a member starts every six minutes and ends soon, or (not `ends`) hangs."""
    seen, known, begin = world.observe(), world.status, world.now
    assert isinstance(seen.database, o.Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != LOOPS}
    for number in range(int(seconds / TICK)):
        now = begin + number * TICK
        since = (now - begin) % (BACK_OFF + RUNS)
        waiting = since < BACK_OFF and ends
        members = tuple(
            replace(
                m,
                pod=replace(
                    m.pod,
                    ready=False,
                    running=not waiting,
                    trouble="CrashLoopBackOff: back-off 5m0s" if waiting else "",
                    ended=now - since if ends else 0.0,
                ),
            )
            if m.name == LOOPS and m.pod is not None
            else m
            for m in seen.members
        )
        observed = replace(
            seen,
            members=members,
            database=replace(seen.database, nodes=nodes),
            since=times(known, lambda m: m.last_transition_time),
            states={m.name: m.state for m in known.member_states},
            away=times(known, lambda m: m.not_serving_since_time),
            waits=waits(known),
        )
        known = status(observed, plan(observed, now), known, now)
        yield now - begin, known


def reason(found: ClusterStatus) -> str:
    stalled = next(c for c in found.conditions if c.type == "Stalled")
    return stalled.reason if stalled.status == "True" else ""


def test_a_member_that_ends_again_and_again_stays_stuck_between_the_ends() -> None:
    later = [found for at, found in looping(settled(managers(), hot()), 3600) if at > 700]
    assert {reason(found) for found in later} == {"MemberDoesNotStart"}
    assert {m.state for found in later for m in found.member_states if m.name == LOOPS} == {"Down", "Starting"}


def test_a_start_that_ends_is_no_progress() -> None:
    world = settled(managers(), hot())
    before = world.now
    *_, (_, last) = looping(world, 3600)
    assert (parse_time(last.last_progress_time) or 0.0) - before < TICK


def test_a_member_whose_container_never_ended_is_not_taken_for_one_that_does() -> None:
    assert "MemberDoesNotStart" not in {reason(f) for _, f in looping(settled(managers(), hot()), 1800, ends=False)}
