"""The best that any roll-out could do, computed from copies and zones: what the planner is measured against.

Every member has to be away once, for as long as it takes to stop and to start, and then its copies have to recover;
the database is whole again before the next set goes. So a roll-out is a sequence of sets, and each takes at least as
long as its quickest member. The fewest sets there can be is the fewest parts into which the data members can be divided
so that none holds too many copies of one shard and none is in two zones: it is searched for from below, and what could
not be refuted within the steps is the bound. Managers go one at a time, after the data.
"""

from stateward.forecast.durations import Durations
from stateward.planning.model import observation as o

STEPS = 40_000
"""Members that are tried at most for one number of sets: some seconds for 120 members."""


class Members:
    """The data members as numbers, with those that each may not go with."""

    def __init__(self, seen: o.Observation, database: o.Database) -> None:
        here = [m for m in seen.members if database.nodes[m.name].data]
        place = {m.name: i for i, m in enumerate(here)}
        zones = [m.pod.zone if m.pod is not None else "" for m in here]
        self.count = len(here)
        self.apart = [sum(1 << j for j, zone in enumerate(zones) if zone != zones[i]) for i in range(self.count)]
        self.units: list[list[tuple[int, int]]] = [[] for _ in here]
        """For each: its shards, as bits of those that hold them, and how many of these may go together."""
        for inside in {tuple(sorted(place[copy.member] for copy in unit.copies)) for unit in database.units}:
            if len(inside) > 1:
                mask = sum(1 << i for i in inside)
                for i in inside:
                    self.units[i].append((mask, len(inside) - 1))

    def fits(self, chosen: int, i: int) -> bool:
        """Return whether a member may go with those chosen."""
        return not self.apart[i] & chosen and all((mask & chosen).bit_count() < spare for mask, spare in self.units[i])


class Division:
    """A search for a division into a number of sets."""

    def __init__(self, members: Members, sets: int) -> None:
        self._members, self._sets, self._steps = members, [0] * sets, 0

    def refuted(self) -> bool:
        """Return whether there is certainly no such division."""
        return self._try((1 << self._members.count) - 1) is False

    def _try(self, left: int) -> bool | None:
        """Return whether those that are left can be divided; None where the steps are used up."""
        if not left:
            return True
        self._steps += 1
        if self._steps > STEPS:
            return None
        member, options = self._tightest(left)
        unsure = False
        for at in options:
            self._sets[at] |= 1 << member
            found = self._try(left & ~(1 << member))
            self._sets[at] &= ~(1 << member)
            if found:
                return True
            unsure |= found is None
        return None if unsure else False

    def _tightest(self, left: int) -> tuple[int, list[int]]:
        """Return the member with fewest sets to go with; of the empty ones the first is as good as any."""
        best: tuple[int, list[int]] = (-1, [])
        empty = next((at for at, chosen in enumerate(self._sets) if not chosen), len(self._sets))
        for i in range(self._members.count):
            if left >> i & 1:
                options = [a for a, c in enumerate(self._sets) if a <= empty and self._members.fits(c, i)]
                if best[0] < 0 or (len(options), -len(self._members.units[i])) < (
                    len(best[1]),
                    -len(self._members.units[best[0]]),
                ):
                    best = (i, options)
                if not options:
                    break
        return best


def fewest_sets(seen: o.Observation, database: o.Database) -> int:
    """Return a number of sets below which no division is possible."""
    members, sets = Members(seen, database), 1
    while Division(members, sets).refuted():
        sets += 1
    return sets


def best_seconds(seen: o.Observation, pace: Durations) -> float:
    """Return a time in seconds that no roll-out of the observation can beat."""
    if not isinstance(seen.database, o.Database):
        raise TypeError(seen.database.why)
    names = [node.name for node in seen.database.nodes.values() if node.data]
    held = {name: sum(copy.member == name for u in seen.database.units for copy in u.copies) for name in names}
    recovery = pace.reopen * -(-min(held.values(), default=0) // pace.at_once)
    managers = sum(not node.data for node in seen.database.nodes.values())
    away = pace.stop + pace.start
    return fewest_sets(seen, seen.database) * (away + recovery) + managers * away
