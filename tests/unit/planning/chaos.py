"""Random observations: any topology, any pod, any answer of the database, from nearly healthy to nonsense.

Each is made from one number, so that hypothesis has one number to find; `calm` says how likely each thing is in order.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from stateward.planning.model import observation as o
from tests.unit.planning.world import PoolSpec

OLD, NEW = "2.17.1", "2.19.5"
NOW = 2_000_000.0

T = TypeVar("T")


class Chaos:
    """Everything that is drawn for one observation."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - nothing here is secret
        self.calm = self.random.choice([0.5, 0.9, 0.97, 1.0])
        self.zones = self.odd(0.3)
        self.agents = self.odd()
        self.staged = self.odd(0.6)
        """Whether members are already staged as they should become."""

    def fine(self) -> bool:
        return self.random.random() < self.calm

    def odd(self, share: float = 0.5) -> bool:
        return self.random.random() < share

    def one(self, *items: T) -> T:
        return self.random.choice(items)

    def some(self, items: Sequence[str]) -> frozenset[str]:
        return frozenset(name for name in items if self.odd(0.3))

    def pools(self) -> list[PoolSpec]:
        found = [PoolSpec("m", self.one(1, 2, 3, 3), voting=True, data=self.odd(0.3), ephemeral=self.odd(0.2))]
        for name in self.one((), ("a",), ("a", "b"), ("a", "b")):
            data, config = self.odd(0.8), {"config/x": self.one("1", "2")}
            voting = self.odd(0.1)
            found.append(
                PoolSpec(name, self.random.randint(0, 5), voting, data, ephemeral=self.odd(0.3), config=config)
            )
        return found

    def edited(self, spec: PoolSpec) -> PoolSpec:
        if self.odd(0.5):
            return spec
        replicas = max(0, spec.replicas + self.one(-2, -1, 0, 0, 0, 0, 0, 0, 1, 2))
        config = {**spec.config, "config/y": "1"} if self.odd(0.5) else spec.config
        size = spec.size if self.odd(0.9) else spec.size // 2
        return PoolSpec(spec.name, replicas, spec.voting, spec.data, ephemeral=spec.ephemeral, config=config, size=size)

    def member(self, spec: PoolSpec, ordinal: int, version: str, next_inputs: dict[str, str]) -> o.Member:
        name = f"c-{spec.name}-{ordinal}"
        made = spec.inputs(version if self.fine() else self.one(OLD, NEW))
        staged = next_inputs if self.staged else made
        staged = staged if self.fine() else spec.inputs(self.one(OLD, NEW))
        made = made if self.fine() else {**made, "config/x": "9"}
        terminating, trouble = (False, "") if self.fine() else self.one((True, ""), (False, "CrashLoopBackOff: x"))
        ready = not terminating and not trouble and self.fine()
        pod = o.Pod(
            ref=o.Ref(f"{name}-0", f"pod-{name}", "7"),
            inputs=made,
            version=made["version"],
            created=NOW - self.one(5.0, 5000.0),
            ready=ready,
            running=ready or self.odd(),
            terminating=terminating,
            trouble=trouble,
            node="n",
            zone=f"z{ordinal % 3}" if self.zones else "",
            candidate=self.odd(),
            agent=self.agents,
            phase=o.Phase.NONE if self.fine() or not self.agents else self.one(*o.Phase),
            ip="10.0.0.1",
        )
        workload = o.Workload(
            ref=o.Ref(name, f"set-{name}", "7"),
            inputs=staged,
            version=staged["version"],
            replicas=int(self.fine()),
            observed=self.fine(),
        )
        claim = o.Claim(
            ref=o.Ref(f"data-{name}", f"claim-{name}", "7"),
            requested=spec.size,
            capacity=spec.size if self.fine() else self.one(0, spec.size // 2),
            storage_class="standard",
            expandable=self.one(True, True, False, None),
            named=ordinal % 2 == 1,
        )
        gone = "nothing" if self.fine() else self.one("pod", "workload", "both")
        return o.Member(
            name=name,
            pool=spec.name,
            ordinal=ordinal,
            workload=None if gone in ("workload", "both") else workload,
            pod=None if gone in ("pod", "both") else pod,
            claim=None if spec.ephemeral else claim,
            config=staged if self.fine() else None,
            config_checksum=self.one("", "new", "new"),
            process=self.process() if self.agents else None,
        )

    def process(self) -> o.Process | o.Unknown | None:
        if not self.fine():
            return self.one(None, o.Unknown("no answer"))
        state = o.ProcessState.RUNNING if self.fine() else self.one(*o.ProcessState)
        return o.Process(state, "new" if self.fine() else "old", self.one("new", "old"))

    def unit(self, names: list[str], number: int) -> o.Unit:
        number_of_copies = self.one(1, 2, 2, 2, 2, 3) if self.fine() else 0
        homes = self.random.sample(names, min(len(names), number_of_copies))
        copies: list[o.Copy] = []
        for i, home in enumerate(homes):
            state = o.CopyState.STARTED if self.fine() else self.one(o.CopyState.INITIALIZING, o.CopyState.RELOCATING)
            target = self.random.choice(names) if state is o.CopyState.RELOCATING else ""
            copies.append(o.Copy(state, primary=i == 0, member=home, target=target, in_sync=self.odd(0.97)))
        wanted = max(1, len(homes) + int(not self.fine()) + int(self.odd(0.03)))
        missing = o.Copy(o.CopyState.UNASSIGNED, in_sync=False, held=self.odd(0.7), since=self.one(0.0, 0.0, NOW))
        return o.Unit(f"u[{number}]", wanted, (*copies, *[missing] * (wanted - len(homes))), size=1)

    def database(self, found: list[o.Member], specs: dict[str, PoolSpec]) -> o.Database | o.Unknown:
        if self.odd(0.1):
            return o.Unknown("no node answers")
        nodes: dict[str, o.Node] = {}
        for m in found:
            if m.pod is not None and (m.pod.ready or self.odd()) and (self.fine() or self.odd()):
                nodes[m.name] = o.Node(m.name, m.pod.version, data=specs[m.pool].data, voting=specs[m.pool].voting)
        data = [name for name, node in nodes.items() if node.data]
        managers = [m.name for m in found if specs[m.pool].voting]
        voters = frozenset(managers) if self.fine() else self.some(managers)
        if len(managers) == 2 and self.odd():
            voters = frozenset(managers[:1])
        every = [m.name for m in found]
        return o.Database(
            identity="identity",
            health=o.Health.GREEN,
            nodes=nodes,
            units=tuple(self.unit(data, i) for i in range(self.random.randint(0, 6))) if data else (),
            leader=self.random.choice([*managers, ""]),
            voters=voters,
            voting_exclusions=frozenset() if self.fine() else self.some(every),
            draining=self.some(every) if self.odd(0.3) or not self.fine() else frozenset(),
            allocation=self.one(o.Allocation.ALL, o.Allocation.ALL, o.Allocation.PRIMARIES),
            limited=self.odd(0.3),
            balance_paused=self.odd(0.3),
        )

    def observation(self) -> o.Observation:
        there = {spec.name: spec for spec in self.pools()}
        wanted = [self.edited(spec) for spec in there.values() if spec.name == "m" or self.odd(0.95)]
        deployed = self.one(OLD, OLD, OLD, OLD, NEW, "")
        version = deployed if deployed and self.odd(0.7) else self.one(OLD, NEW, NEW)
        found: list[o.Member] = []
        nexts = {spec.name: spec.inputs(version) for spec in wanted}
        for spec in there.values():
            coming = nexts.get(spec.name, spec.inputs(version))
            found += [self.member(spec, i, deployed or version, coming) for i in range(spec.replicas)]
        volume = self.one("claim-c-m-0", "claim-c-m-0", "x")
        refusals = (o.Refusal("x", "Bad", "no"), o.Refusal("v", "Bad", "no", everything=False))
        return o.Observation(
            name="c",
            namespace="ns",
            uid="u",
            generation=1,
            desired=o.Desired(
                version=version,
                pools=tuple(p.desired(version, deployed) for p in wanted),
                max_unavailable=self.one(1, 1, 2, 3, None),
                min_live_copies=self.one(1, 1, 1, 2),
                sole_copy=self.one(*o.SoleCopy),
                paused=self.odd(0.03),
                delete_volumes=self.odd(),
                replace_on_shrink=self.odd(),
                refusals=(self.one(*refusals),) if self.odd(0.05) else (),
            ),
            members=tuple(found),
            database=self.database(found, there),
            deployed_version=deployed,
            records={m.name: o.Record(deployed or self.one(OLD, NEW)) for m in found if self.fine()},
            since={m.name: NOW - self.one(1.0, 100.0, 1000.0) for m in found},
            bootstrap=self.one(None, o.Bootstrap("c-m-0", volume, False), o.Bootstrap("c-m-0", volume, True)),
            bootstrap_again=self.odd(0.2),
            settled_writes=self.odd(0.95),
        )


observations = st.integers(min_value=0, max_value=2**48).map(lambda seed: Chaos(seed).observation())
