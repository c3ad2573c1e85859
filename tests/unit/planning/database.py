"""A database in memory: nodes join and vote, shards are placed, recovered, moved and lost."""

from stateward.planning.facts.upgrade_order import newer
from stateward.planning.model import observation as o
from tests.unit.planning.world_objects import Index, Pod, Shard, WorldObjects


class FakeDatabase(WorldObjects):
    """The database behind the cluster."""

    def joined(self) -> dict[str, Pod]:
        return {b.name: b.pod for b in self.bodies.values() if b.pod is not None and b.pod.running and b.pod.steps >= 2}

    @property
    def available(self) -> bool:
        live = {name for name, pod in self.joined().items() if pod.voting and name in self.voters}
        return bool(self.identity) and len(live) > len(self.voters) // 2 and bool(self.candidates())

    def candidates(self) -> set[str]:
        """Return the nodes that may be elected: none without a vote that is excluded, and none that only votes."""
        able = {name for name, pod in self.joined().items() if pod.voting and self.electable(name)}
        return {name for name in able if name in self.voters or name not in self.exclusions}

    def electable(self, name: str) -> bool:
        pod = self.bodies[name].pod
        return pod is None or "votingOnly" not in pod.inputs

    def spots(self, index: Index) -> list[str]:
        taken = {n for c in index.copies for n in (c.member, c.target) if n}
        source = next((c.member for c in index.copies if c.primary and c.started), "")
        nodes = self.joined()
        version = nodes[source].version if source in nodes else ""
        able = [
            n
            for n, pod in nodes.items()
            if pod.data and n not in taken and n not in self.draining and not newer(version, pod.version)
        ]
        return sorted(able, key=lambda n: (sum(c.member == n for i in self.indices for c in i.copies), n))

    def step_database(self) -> None:
        for index in self.indices:
            self.step_index(index)
        if not self.available:
            return
        nodes = self.joined()
        live = {n for n, pod in nodes.items() if pod.voting}
        if self.leader not in live or self.leader in self.exclusions:
            able = self.candidates()
            self.leader = min(able - self.exclusions, default=min(able, default=""))
        able = live - self.exclusions
        odd = len(able) - 1 + len(able) % 2
        size = max(odd, 3 if len(self.voters) >= 3 else 1)
        order = [
            *sorted(self.voters & able, key=lambda n: (n != self.leader, n)),
            *sorted(able - self.voters),
            *sorted(self.voters - able - self.exclusions),
        ]
        voters = set(order[:size])
        if len(voters & able) > len(voters) // 2:
            self.voters = voters

    def step_index(self, index: Index) -> None:
        nodes = self.joined()
        for copy in [c for c in index.copies if c.member not in nodes]:
            index.copies.remove(copy)
            index.missing_since = self.now
        for copy in index.copies:
            copy.target = copy.target if copy.target in nodes else ""
        if not self.available:
            return
        live = [c for c in index.copies if c.started]
        if not live:
            back = sorted(n for n in index.current if n in nodes)
            if back and self.allocation is not o.Allocation.NONE:
                index.copies = [Shard(back[0], primary=True)]
            return
        index.current = {c.member for c in live}  # writes go on: other disks fall behind
        if not any(c.primary for c in live):
            live[0].primary = True
        for copy in index.copies:
            self.arrive(index, copy)
        self.place(index)

    def arrive(self, index: Index, copy: Shard) -> None:
        """Let a copy that is coming be there."""
        if copy.started and copy.target:
            index.current.discard(copy.member)
            copy.member, copy.target = copy.target, ""
        copy.started = True
        index.current.add(copy.member)

    def place(self, index: Index) -> None:
        """Let the database place one missing copy and move one that has to go."""
        spots = self.spots(index)
        if index.flexible:
            for copy in [c for c in index.copies if c.member in self.draining and len(index.copies) > 1]:
                index.copies.remove(copy)
                index.current.discard(copy.member)
            if not any(c.primary for c in index.copies):
                index.copies[0].primary = True
            index.wanted = len(index.copies) + len(self.spots(index))
        replicas = sorted((c for c in index.copies if not c.primary), key=lambda c: not c.started)
        for copy in replicas[max(0, index.wanted - 1) :]:
            index.copies.remove(copy)
            index.current.discard(copy.member)
        if len(index.copies) < index.wanted and spots and self.allocation is o.Allocation.ALL:
            index.copies.append(Shard(spots.pop(0), started=False))
        for copy in index.copies:
            if copy.member in self.draining and copy.started and not copy.target and spots:
                copy.target = spots.pop(0)

    def database(self) -> o.Database | o.Unknown:
        if not self.answers or not self.available:
            return o.Unknown("no node answers")
        units = tuple(self.unit(index) for index in self.indices)
        red = any(not any(copy.live for copy in unit.copies) for unit in units)
        yellow = any(copy.state is not o.CopyState.STARTED for unit in units for copy in unit.copies)
        return o.Database(
            identity=self.identity,
            health=o.Health.RED if red else o.Health.YELLOW if yellow else o.Health.GREEN,
            nodes={
                name: o.Node(
                    name=name,
                    version=pod.version,
                    data=pod.data,
                    voting=pod.voting,
                    electable=self.electable(name),
                    disk_total=self.disk_size(name),
                    disk_free=self.disk_free(name) if self.disk_size(name) else 0,
                    cpu=self.cpu(name),
                )
                for name, pod in self.joined().items()
            },
            units=units,
            leader=self.leader,
            voters=frozenset(self.voters),
            nameless=frozenset(v for v in self.voters - self.joined().keys() if not v.startswith("c-")),
            voting_exclusions=self.exclusions,
            draining=self.draining,
            allocation=self.allocation,
            limited=self.limited,
            balance_paused=self.balance_paused,
        )

    def disk_size(self, name: str) -> int:
        """Return the size of a member's file system: that of its volume without what the file system itself needs."""
        claim = self.bodies[name].claim
        return claim.capacity * 97 // 100 if name in self.used and claim is not None else self.disk_total

    def cpu(self, name: str) -> int | None:
        pool = self.bodies[name].pool
        return min(100, round(self.work[pool] / self.serving_in(pool))) if pool in self.work else None

    def serving_in(self, pool: str) -> int:
        return sum(self.bodies[name].pool == pool for name in self.joined())

    def disk_free(self, name: str) -> int:
        if (pool := self.bodies[name].pool) in self.spread:
            return max(0, self.disk_size(name) - self.spread[pool] // self.serving_in(pool))
        if name in self.used:
            return max(0, self.disk_size(name) - self.used[name])
        return self.disk_total - sum(i.size for i in self.indices for c in i.copies if name in (c.member, c.target))

    def unit(self, index: Index) -> o.Unit:
        copies = [
            o.Copy(
                state=(o.CopyState.RELOCATING if c.target else o.CopyState.STARTED)
                if c.started
                else o.CopyState.INITIALIZING,
                primary=c.primary,
                member=c.member,
                target=c.target,
            )
            for c in index.copies
        ]
        held = not self.spots(index)
        missing = o.Copy(
            state=o.CopyState.UNASSIGNED, in_sync=False, why="NODE_LEFT", held=held, since=index.missing_since
        )
        return o.Unit(
            name=index.name,
            wanted=index.wanted,
            copies=(*copies, *[missing] * (index.wanted - len(copies))),
            flexible=index.flexible,
            size=index.size,
        )
