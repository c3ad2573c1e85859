"""The copies of the database: they leave with their nodes, recover when these return, and move off drained nodes.

The rules are those of the whole simulation: a node has a limited number of concurrent recoveries, a copy whose data is
still on the node recovers quickly, and primaries come first. No copy moves only for balance.
"""

from collections import Counter
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from stateward.forecast.durations import Durations
from stateward.forecast.event_queue import EventQueue
from stateward.planning.facts.upgrade_order import newer
from stateward.planning.model.observation import Allocation, Copy, CopyState, Node, Unit


class Copies:
    """The copies of one database; `settled` is called when a recovery ends that a plan may wait for.

    `changed` is called with each unit whose copies change.
    """

    def __init__(
        self,
        queue: EventQueue,
        durations: Durations,
        units: Iterable[Unit],
        settled: Callable[[], None],
        changed: Callable[[Unit], None] = lambda _: None,
    ) -> None:
        self.units = {unit.name: unit for unit in units}
        self.nodes: dict[str, Node] = {}
        self.draining: frozenset[str] = frozenset()
        self.allocation = Allocation.ALL
        self._unreachable: frozenset[str] = frozenset()
        """Nodes that the database still lists, and that no recovery can reach."""
        self._stalled: list[Callable[[], None]] = []
        """The ends of recoveries from or to such nodes."""
        self._queue, self._durations, self._settled, self._changed = queue, durations, settled, changed
        self._kept: dict[str, dict[str, float]] = {}
        """By unit: the nodes with its data on disk but without a copy of it, and when they left."""
        self._lost: dict[str, float] = {}
        """By unit: when its last live copy left. Only copies that left then have all acknowledged writes."""
        self._held = Counter[str]()
        self._coming, self._going = Counter[str](), Counter[str]()
        self._open: dict[str, None] = dict.fromkeys(self.units)
        """Units with a copy to place or to move, in order."""
        self._under_way: dict[tuple[str, str], int] = {}
        """By unit and node: the number of the current recovery."""
        self._numbers = 0
        self._alarm = 0.0
        for unit in self.units.values():
            self._held.update({name for copy in unit.copies for name in (copy.member, copy.target) if name})

    @property
    def busy(self) -> bool:
        """Whether copies recover or move."""
        return bool(self._under_way)

    def empty(self, name: str) -> bool:
        """Return whether a node has no copy, not even a recovering one."""
        return not self._held[name]

    def begin(self) -> None:
        """Continue the recoveries and moves that are in progress."""
        for unit in self.units.values():
            for copy in unit.copies:
                if copy.state is CopyState.INITIALIZING:
                    self._start(unit, copy, copy.member, self._seconds(unit, copy.member))
                elif copy.state is CopyState.RELOCATING:
                    self._start(unit, copy, copy.target, self._seconds(unit, copy.target))
        self.route()

    def node_left(self, name: str) -> None:
        """Remove a node: its copies become unassigned, and replicas are promoted."""
        self.nodes.pop(name, None)
        for unit in [u for u in self.units.values() if any(name in (c.member, c.target) for c in u.copies)]:
            self._leave(unit, name)
        self.route()

    def node_joined(self, node: Node) -> None:
        """Add a node."""
        self.nodes[node.name] = node
        self.route()

    def reach_all_but(self, names: frozenset[str]) -> None:
        """Let no recovery from or to these nodes end, and those of all others."""
        self._unreachable = names
        stalled, self._stalled = self._stalled, []
        for end in stalled:
            end()

    def forget(self, name: str) -> None:
        """Discard the data that a node kept."""
        for kept in self._kept.values():
            kept.pop(name, None)

    def move(self, unit: str, origin: str, target: str) -> None:
        """Move one copy on request."""
        found = self.units.get(unit)
        copy = next((c for c in found.copies if c.member == origin and c.live), None) if found else None
        if found is not None and copy is not None and target in self.nodes:
            self._relocate(found, copy, target)

    def route(self) -> None:
        """Place and move the copies that may be placed and moved now."""
        if self.draining:
            self._open |= dict.fromkeys(
                u.name for u in self.units.values() if any(c.member in self.draining for c in u.copies)
            )
        for name in list(self._open):
            if not self._route(self.units[name]):
                del self._open[name]

    def _route(self, unit: Unit) -> bool:
        """Start the possible recoveries of one unit; return whether it needs more."""
        node_left = False
        for copy in sorted(unit.copies, key=lambda c: not c.primary):
            unit = self.units[unit.name]
            if copy.state is CopyState.UNASSIGNED:
                node_left |= not self._place(unit, copy)
            elif copy.state is CopyState.STARTED and copy.member in self.draining:
                node_left |= not self._empty(unit, copy)
        return node_left

    def _place(self, unit: Unit, copy: Copy) -> bool:
        kept = [name for name in self._kept.get(unit.name, ()) if name in self.nodes and name not in self._taken(unit)]
        if copy.primary:
            whole = [name for name in kept if self._kept[unit.name][name] >= self._lost.get(unit.name, 0.0)]
            return bool(whole) and self._recover(unit, copy, whole[0], self._durations.reopen)
        if self.allocation is not Allocation.ALL or not any(c.live and c.primary for c in unit.copies):
            return False
        back = [name for name in kept if self._fits(unit, self.nodes[name])]
        if back:
            free = next((name for name in back if self._coming[name] < self._durations.at_once), "")
            return bool(free) and self._recover(unit, copy, free, self._durations.reopen)
        ready = copy.since + self._durations.delay
        if copy.why.startswith("node left") and self._queue.now < ready:
            self._wake(ready + 0.1)
            return False
        free = next((name for name in self._places(unit) if self._coming[name] < self._durations.at_once), "")
        return bool(free) and self._recover(unit, copy, free, self._seconds(unit, free))

    def _wake(self, when: float) -> None:
        """Allocate copies again at a given time, if no event does so earlier."""
        if not self._queue.now < self._alarm <= when:
            self._alarm = when
            self._queue.after(when - self._queue.now, self.route)

    def _empty(self, unit: Unit, copy: Copy) -> bool:
        if self._going[copy.member] >= self._durations.at_once:
            return False
        free = next((name for name in self._places(unit) if self._coming[name] < self._durations.at_once), "")
        if free:
            self._relocate(unit, copy, free)
        return bool(free)

    def _places(self, unit: Unit) -> list[str]:
        """Return the nodes that may take another copy, those with the fewest first."""
        taken = self._taken(unit)
        able = [node.name for node in self.nodes.values() if node.name not in taken and self._fits(unit, node)]
        return sorted(able, key=lambda name: (self._held[name], name))

    def _fits(self, unit: Unit, node: Node) -> bool:
        """Return whether a node may take a copy: one for data, in use, and not older than the copy's source."""
        if not node.data or node.name in self.draining:
            return False
        source = next((self.nodes.get(c.member) for c in unit.copies if c.primary and c.live), None)
        return source is None or node.version == source.version or not newer(source.version, node.version)

    def _taken(self, unit: Unit) -> set[str]:
        return {name for copy in unit.copies for name in (copy.member, copy.target) if name}

    def _recover(self, unit: Unit, copy: Copy, name: str, seconds: float) -> bool:
        coming = replace(copy, state=CopyState.INITIALIZING, member=name, target="", in_sync=False, held=False)
        self._held[name] += 1
        self._start(self._with(unit, copy, coming), coming, name, seconds)
        return True

    def _relocate(self, unit: Unit, copy: Copy, target: str) -> None:
        moving = replace(copy, state=CopyState.RELOCATING, target=target)
        self._held[target] += 1
        self._start(self._with(unit, copy, moving), moving, target, self._seconds(unit, target))

    def _start(self, unit: Unit, copy: Copy, name: str, seconds: float) -> None:
        self._numbers += 1
        number = self._under_way[unit.name, name] = self._numbers
        self._coming[name] += 1
        origin = copy.member if copy.target else ""
        self._going[origin] += 1
        self._queue.after(seconds, lambda: self._ended(unit.name, name, origin, number))

    def _ended(self, name: str, node: str, origin: str, number: int) -> None:
        if self._under_way.get((name, node)) != number:
            return
        if not self._unreachable.isdisjoint((node, origin)):
            self._stalled.append(lambda: self._ended(name, node, origin, number))
            return
        self._stop(name, node, origin)
        unit = self.units[name]
        copy = next((c for c in unit.copies if node in (c.member, c.target)), None)
        if copy is not None:
            self._with(unit, copy, replace(copy, state=CopyState.STARTED, member=node, target="", in_sync=True, why=""))
            self._kept.get(name, {}).pop(node, None)
            if origin:
                self._held[origin] -= 1
        self._open.setdefault(name)
        self.route()
        if not self.busy or (origin and self.empty(origin)):
            self._settled()

    def _stop(self, unit: str, node: str, origin: str) -> None:
        if self._under_way.pop((unit, node), None) is not None:
            self._coming[node] -= 1
            self._going[origin] -= 1

    def _leave(self, unit: Unit, name: str) -> None:
        """Take the copies of a node that left out of service."""
        copies: list[Copy] = []
        for copy in unit.copies:
            if copy.target == name:
                self._stop(unit.name, name, copy.member)
                copies.append(replace(copy, state=CopyState.STARTED, target=""))
            elif copy.member == name:
                self._stop(unit.name, copy.target or name, name if copy.target else "")
                self._held[copy.target] -= bool(copy.target)
                copies.append(
                    Copy(CopyState.UNASSIGNED, copy.primary, in_sync=False, why="node left", since=self._queue.now)
                )
                if copy.live:
                    self._kept.setdefault(unit.name, {})[name] = self._queue.now
            else:
                copies.append(copy)
        self._held[name] = 0
        if any(copy.live for copy in unit.copies) and not any(copy.live for copy in copies):
            self._lost[unit.name] = self._queue.now
            copies = [self._without_source(unit, copy) for copy in copies]
        self._set(replace(unit, copies=led(copies)))
        self._open.setdefault(unit.name)

    def _without_source(self, unit: Unit, copy: Copy) -> Copy:
        """Return a copy of a unit that has no live copy any more: one that recovers has nothing to recover from."""
        if copy.state is not CopyState.INITIALIZING:
            return copy
        self._stop(unit.name, copy.member, "")
        self._held[copy.member] -= 1
        return Copy(CopyState.UNASSIGNED, copy.primary, in_sync=False, why="primary failed", since=self._queue.now)

    def _set(self, unit: Unit) -> None:
        self.units[unit.name] = unit
        self._changed(unit)

    def _with(self, unit: Unit, old: Copy, new: Copy) -> Unit:
        found = replace(unit, copies=tuple(new if copy is old else copy for copy in unit.copies))
        self._set(found)
        return found

    def _seconds(self, unit: Unit, node: str) -> float:
        """Return how long a copy takes whose bytes have to come: those that come to a node share what it takes."""
        return self._durations.overhead + unit.size * (self._coming[node] + 1) / self._durations.rate


def led(copies: list[Copy]) -> tuple[Copy, ...]:
    """Return copies with a live primary, where there is a live one."""
    heir = next((copy for copy in copies if copy.live), None)
    if heir is None or any(copy.primary and copy.live for copy in copies):
        return tuple(copies)
    return tuple(replace(copy, primary=copy is heir) for copy in copies)
