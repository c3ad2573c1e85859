"""A small cluster to rehearse, and runs of it."""

import math
from functools import cache

from msgspec.structs import replace

from stateward.forecast.durations import Durations
from stateward.planning.model.actions import Action
from stateward.planning.model.observation import Observation, Replacement
from stateward.planning.plan import Plan
from stateward.simulation.rehearsal.faults import Fault, Kind
from stateward.simulation.rehearsal.rules import Rules
from stateward.simulation.rehearsal.run import SEARCH, Outcome, play
from tests.unit.cli.clusters import NOW, changed, running

USUAL = Durations()
START = 1_000_000.0
"""Far from zero: ages of pods count from the epoch."""
assert START > NOW


@cache
def settled(copies: int = 2, *, after: float | None = None) -> Observation:
    """Return a cluster with nothing to do, that replaces missing members after some seconds if asked."""
    found = running(copies)
    policy = Replacement() if after is None else Replacement(enabled=True, after=after)
    return replace(found, desired=replace(found.desired, replacement=policy), live=True)


@cache
def upgrade(copies: int = 2) -> Observation:
    """Return the same cluster just after another version was asked for."""
    return replace(changed(lambda spec: spec.update(version="2.19.5"), running(copies)), live=True)


@cache
def restart(copies: int = 2) -> Observation:
    """Return the same cluster with an agent in each pod, just after a setting was changed."""
    before = running(copies)
    members = tuple(replace(m, pod=m.pod and replace(m.pod, agent=True)) for m in before.members)
    setting = {"indices.recovery.max_bytes_per_sec": "80mb"}
    return replace(changed(lambda spec: spec.update(config=setting), replace(before, members=members)), live=True)


def fault(kind: Kind, *members: str, seconds: float = math.inf, at: float = 100.0) -> Fault:
    """Return a fault of members."""
    return Fault(kind, "node n1", members, at, seconds)


class Watched:
    """A run, and what the planner saw and did in it."""

    def __init__(
        self, start: Observation, of: Fault | None = None, durations: Durations = USUAL, rules: Rules = SEARCH
    ) -> None:
        self.rounds: list[tuple[float, Observation, Plan]] = []
        self.start = start
        self.outcome: Outcome = play(start, START, durations, 0, of, self._watch, rules=rules)

    def _watch(self, now: float, seen: Observation, made: Plan) -> None:
        self.rounds.append((now, seen, made))

    @property
    def end(self) -> Observation:
        """The last observation."""
        return self.rounds[-1][1]

    def done(self, kind: type[Action]) -> list[str]:
        """Return the members of all actions of one kind, in order."""
        actions = (action for _, _, made in self.rounds for action in made.actions if isinstance(action, kind))
        return [str(getattr(action, "member", "")) for action in actions]

    def at(self, seconds: float) -> Observation:
        """Return what the operator sees in the first reconciliation from a moment on."""
        return next(seen for when, seen, _ in self.rounds if when >= START + seconds)
