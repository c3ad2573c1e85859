"""An event leads to work at once, unless its key was worked on very often in the last seconds."""

from stateward.kube.queue.event_pace import BURST, FEW, SECONDS, EventPace
from stateward.kube.queue.queue import WorkQueue
from tests.support.moved_clock import MovedClock


def test_events_of_a_calm_key_lead_to_work_at_once() -> None:
    clock = MovedClock()
    queue = WorkQueue[str](clock=clock)
    pace = EventPace(queue, clock)
    for _ in range(50):
        pace.add("calm")
        assert len(queue) == 1
        assert not queue.delayed
        queue._ready.clear()
        pace.begun("calm")
        clock.later(SECONDS)


def began(pace: EventPace[str], queue: WorkQueue[str], key: str) -> bool:
    """Return whether an event leads to a round of its key now; the round begins."""
    pace.add(key)
    queue._promote()
    if not len(queue):
        return False
    queue._ready.clear()
    pace.begun(key)
    return True


def test_events_that_never_end_cause_a_round_in_each_interval_after_a_burst() -> None:
    clock = MovedClock()
    queue = WorkQueue[str](clock=clock)
    pace, rounds = EventPace(queue, clock), 0
    for _ in range(600):
        rounds += began(pace, queue, "busy")
        pace.add("other")
        assert "other" in queue._ready, "another key waits for nothing"
        queue._ready.clear()
        clock.later(0.1)
    assert BURST + 50 <= rounds <= BURST + 60 / SECONDS + 1


def test_the_burst_is_there_again_after_some_quiet_seconds() -> None:
    clock = MovedClock()
    queue = WorkQueue[str](clock=clock)
    pace = EventPace(queue, clock)
    for _ in range(3 * BURST):
        pace.begun("key")
    pace.add("key")
    assert (len(queue), queue.delayed) == (0, 1)
    clock.later(BURST * SECONDS + 1)
    pace.add("key")
    assert len(queue) == 1


def test_a_thousand_events_in_a_second_are_few_rounds() -> None:
    clock = MovedClock()
    queue = WorkQueue[str](clock=clock)
    pace, rounds = EventPace(queue, clock, burst=2), 0
    for _ in range(1000):
        rounds += began(pace, queue, "busy")
        clock.later(0.001)
    assert rounds == 2


def test_keys_whose_time_is_over_are_not_remembered() -> None:
    clock = MovedClock()
    pace = EventPace(WorkQueue[int](clock=clock), clock)
    for key in range(10_000):
        pace.begun(key)
        clock.later(SECONDS)
        assert len(pace._paid) <= FEW + 2
