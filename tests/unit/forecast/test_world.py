"""The world of a forecast: how soon the operator looks at it."""

from stateward.forecast.durations import RECENTLY, Durations
from stateward.forecast.world import TimedWorld
from stateward.planning.model import actions as a
from tests.unit.cli.clusters import NOW, running


def test_the_operator_looks_closely_at_what_recovers_after_a_step() -> None:
    world = TimedWorld(running(), NOW, Durations())
    assert not world.closely
    world.happened("joined", "logs-hot-0")
    world.queue.until(NOW + RECENTLY - 0.1)
    assert world.closely
    world.queue.until(NOW + RECENTLY)
    assert not world.closely


def test_the_operator_does_not_look_closely_at_copies_that_move_away() -> None:
    world = TimedWorld(running(), NOW, Durations())
    world.apply(a.Drain("a", frozenset({"logs-hot-0"})))
    world.happened("joined", "logs-hot-1")
    assert not world.closely
