"""Roll-outs of whole clusters in forecast time: how near the planner comes to the best possible."""

from bench.planner.bound import best_seconds
from bench.planner.topology import NOW, Topology, observation
from bench.table import Row
from stateward.forecast.durations import Durations
from stateward.forecast.forecast import Forecast, run_forecast
from stateward.planning.model.actions import DeletePod

SIZES = (6, 12, 30, 60, 120)
AIM = 1.2


def rows(sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """Return one line for each size, number of replicas and number of zones."""
    return [row(Topology(size, replicas, zones)) for size in sizes for replicas in (1, 2) for zones in (1, 3)]


def row(topology: Topology) -> Row:
    """Return how long a roll-out takes, as a multiple of the bound, and the same one member at a time."""
    pace = Durations()
    seen = observation(topology)
    best, forecast = best_seconds(seen, pace), run_forecast(seen, NOW, pace)
    alone = run_forecast(
        observation(Topology(topology.members, topology.replicas, topology.zones, at_once=1)), NOW, pace
    )
    what = f"{topology.members} members, {topology.replicas + 1} copies, {topology.zones} zones"
    times = f"{minutes(forecast)} min of at least {best / 60:.0f}; one at a time {minutes(alone)} min"
    return Row(
        f"roll-out of {what}",
        f"{taken(forecast) / best:.2f} times the bound",
        f"≤ {AIM}",
        f"{times}; {sets(forecast)} sets",
    )


def taken(forecast: Forecast) -> float:
    """Return how many seconds a roll-out took; raises where it did not come to its end."""
    if not forecast.last.settled:
        raise RuntimeError(f"the roll-out does not end: {forecast.last.activity}")
    return forecast.ended_at - forecast.began


def minutes(forecast: Forecast) -> str:
    """Return how many minutes a roll-out took."""
    return f"{taken(forecast) / 60:.0f}"


def sets(forecast: Forecast) -> int:
    """Return in how many sets members went."""
    return sum(any(isinstance(action, DeletePod) for action in leg.made.actions) for leg in forecast.steps)
