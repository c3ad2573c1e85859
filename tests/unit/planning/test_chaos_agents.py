"""Turmoil among members with agents: silent agents, containers that die in any phase, late configurations, requests.

After all actions of users, agents and nodes, each process runs the desired configuration and no phase is left. The
promises of `World.check` held in every state.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateward.planning.model import observation as o
from stateward.planning.model.phase import SCHEDULED
from tests.unit.planning.kubernetes import checksum
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.test_chaos import BAD, Turmoil, changed
from tests.unit.planning.world import World, hot, managers, mixed

HANGS = ("config/a", "hang")
EDITS = ("config", "config", "bad", "revert", "version", "security", "pod", "cluster", "stop", "lift")
STOPPING = ("stop", "stop-coordinated")
STARTING = ("start", "start-coordinated")


class AgentTurmoil(Turmoil):
    """Random edits and faults in a world whose pods have agents."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        pools: tuple[PoolSpec, ...] = self.random.choice(
            [(managers(3), hot(3)), (mixed(3),), (managers(1), hot(2)), (managers(3), hot(2, ephemeral=True))]
        )
        copies = tuple((self.random.choice([1, 2, 2, 2]),) for _ in range(self.random.randint(0, 4)))
        made = World(*pools, max_unavailable=self.random.choice([1, 1, 2, None]))
        self.world = made.edit(agents=True).run().index(*copies).run()
        self.world.log.clear()
        self.world.edit(crash={BAD}, hang={HANGS})
        self.security = 0

    def edit(self) -> None:
        """Edit the resource, or annotate it or its pods, as users do."""
        world, pods = self.world, [b.pod for b in self.world.bodies.values() if b.pod is not None]
        kind = self.random.choice(EDITS)
        i = self.random.randrange(len(world.pools))
        if kind == "version":
            self.version += 1
            world.version = f"2.{self.version}.0"
        elif kind in ("config", "bad"):
            value = self.random.choice(["bad", "hang"]) if kind == "bad" else str(self.random.randint(1, 9))
            world.pools[i] = changed(world.pools[i], config={**world.pools[i].config, "config/a": value})
        elif kind == "revert":
            world.pools[i] = changed(world.pools[i], config=self.common())
        elif kind == "security":
            self.security += 1
            world.pools = [changed(p, config={**p.config, **self.common()}, **COORDINATED) for p in world.pools]
        elif kind == "pod":
            pod = self.random.choice(pods)
            pod.phase = pod.phase or self.random.choice(sorted(SCHEDULED))
        elif kind == "lift":
            pod = self.random.choice(pods)
            pod.phase = ""
        elif kind == "cluster":
            some = self.random.choice([(), (world.pools[i].name,)])
            world.schedule = o.Schedule(self.random.choice(sorted(SCHEDULED)), some)
        else:
            world.kept_stopped = frozenset({self.random.choice(sorted(world.bodies))})

    def common(self) -> dict[str, str]:
        return {"security/on": str(self.security)} if self.security else {}

    def fault(self) -> None:
        """Let an agent, a container, a pod, the database or the way of a configuration fail."""
        world = self.world
        name = self.random.choice([n for n, b in world.bodies.items() if b.pod is not None])
        kind = self.random.choice(["mute", "mute", "container", "container", "late", "kill", "answers", "stuck", "lag"])
        if kind == "mute":
            world.mute = {name}
        elif kind == "container":
            self.restart_container(name)
        elif kind == "late":
            world.propagation = self.random.choice([0.0, 30.0, 120.0])
        elif kind == "kill":
            self.kill(name)
        elif kind == "answers":
            world.answers = False
        elif kind == "stuck":
            world.stuck = {name}
        else:
            world.settled_writes = False

    def restart_container(self, name: str) -> None:
        """End process 1 of a pod; what it comes back as is what the phase says."""
        body = self.world.bodies[name]
        pod = body.pod
        assert pod is not None
        pod.ready, pod.steps = False, 0
        if pod.phase in STOPPING:
            pod.process = "stopped"
            return
        pod.process = "starting"
        if pod.phase in STARTING and pod.mounted == checksum(body.config):
            pod.runs, pod.given = pod.mounted, dict(body.config or {})

    def heal(self) -> None:
        super().heal()
        if self.random.random() < 0.5:
            self.world.mute = set()
        if self.random.random() < 0.3:
            self.world.kept_stopped = frozenset()

    def go(self) -> World:
        """Run all events, and then set the final spec."""
        for _ in range(self.random.randint(2, 6)):
            if self.random.random() < 0.5:
                self.edit()
            else:
                self.fault()
            for _ in range(self.random.randint(0, 15)):
                self.step()
            self.heal()
        world = self.world.edit(mute=set(), kept_stopped=frozenset(), propagation=0.0)
        world.pools = [changed(p, config={"config/a": "1", **self.common()}) for p in world.pools]
        return world.run(1500)


COORDINATED = {"coordinated": frozenset({"security"})}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=2**32))
def test_every_process_runs_what_was_requested_whatever_happens_on_the_way(seed: int) -> None:
    world = AgentTurmoil(seed).go()
    assert len(world.pods()) == sum(pool.replicas for pool in world.pools)
    assert set(world.pods().values()) <= {world.version}
    for body in world.bodies.values():
        assert body.pod is not None
        assert (body.pod.phase, body.pod.process) == ("", "running")
        assert body.pod.runs == checksum(body.config), f"{body.name} runs something else than it was given"
        assert body.pod.inputs == world.spec(body.pool).inputs(world.version)
    assert world.allocation is o.Allocation.ALL
    assert not world.draining | world.exclusions
    assert world.schedule is None
    assert world.plan().settled
