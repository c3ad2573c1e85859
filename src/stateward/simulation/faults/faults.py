"""The fault schedule: the seed selects the active faults of a run and their rates (swarm testing).

A run with all faults at once finds little. A run with three frequent faults finds their interaction.
"""

import random
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from stateward.simulation.faults import declared_faults, lasting_faults, node_faults, object_faults, process_faults
from stateward.simulation.faults.targets import FaultTargets
from stateward.simulation.users.profiles import OTHER_FAULTS, POOL_SCALE_WRITTEN, Profile


class Fault(Struct, frozen=True):
    """A point fault that recurs; `gap` is the range of its mean pause in seconds."""

    name: str
    strike: Callable[[FaultTargets], None]
    gap: tuple[float, float]
    likelihood: float = 0.35
    """The probability that a run has this fault; with 1 or more, each run that may have it does."""
    ordinary: float = 0.0
    """The shortest mean pause on ordinary days, in seconds, of a fault that is frequent in storms."""


class LastingFault(Struct, frozen=True):
    """A fault that lasts for the whole run, or for episodes of it."""

    name: str
    begin: Callable[[FaultTargets], None]
    likelihood: float = 0.3


DAY = 86400.0

FAULTS = (
    Fault("operator killed", process_faults.kill_operator, (60, 900)),
    Fault("operator's watches frozen", process_faults.freeze_watches, (60, 600)),
    Fault("watch history compacted", process_faults.compact, (60, 600)),
    Fault("node powered off", node_faults.node_power, (600, 3600), 0.2),
    Fault("node cut off", node_faults.node_cut_off, (600, 3600), 0.2),
    Fault("zone lost", node_faults.zone_lost, (1800, 7200), 0.1),
    Fault("node drained", node_faults.drain, (300, 2400), 0.25),
    Fault("node tainted", node_faults.taint, (600, 3600), 0.15),
    Fault("process crash", process_faults.crash, (120, 1800)),
    Fault("process paused", process_faults.paused, (120, 1800), 0.25),
    Fault("pod evicted by its kubelet", process_faults.evicted, (300, 2400), 0.2),
    Fault("pod deleted by a user", process_faults.pod_deleted, (300, 2400), 0.15),
    Fault("quota exhausted", object_faults.quota, (300, 1800), 0.15),
    Fault("all nodes cordoned", node_faults.cordoned, (300, 2400), 0.15),
    Fault("nodes full", node_faults.nodes_full, (300, 2400), 0.2),
    Fault("disk unresponsive", node_faults.disk_hangs, (1200, 5400), 0.15),
    Fault("database made read-only", object_faults.read_only, (600, 3600), 0.15),
    Fault("storage class deleted", object_faults.class_deleted, (300, 2400), 0.15),
    Fault("Secret of a removed member restored", object_faults.secret_restored, (600, 3600), 0.15),
    Fault("restart annotation removed from a pod", process_faults.phase_removed, (15, 120), 0.15, DAY),
    Fault("volumes of an empty cluster lost", object_faults.volumes_lost, (5, 120), 0.25, 2 * DAY),
    Fault("cluster deleted and recreated", object_faults.recreated, (1200, 5400), 0.1),
    Fault("index created", object_faults.new_index, (120, 1200), 0.5),
    Fault("disk filled", object_faults.disk_filled, (120, 1200), 0.0),
    Fault(POOL_SCALE_WRITTEN, object_faults.pool_scale_written, (120, 1200), 0.0),
    Fault("user edit", object_faults.edit, (120, 900), 0.9),
)

DECLARED_FAULTS = (
    Fault("declared resource edited", declared_faults.edit, (10, 90), 1.0),
    Fault("object changed by another client", declared_faults.interfere, (20, 200), 1.0),
    Fault("member tells nothing about itself", declared_faults.member_silent, (120, 1200)),
)
"""Only in runs in which users declare objects of the database."""

LASTING_FAULTS = (
    LastingFault("API errors", lasting_faults.rate("api_rates", "error", 0.01, 0.2)),
    LastingFault("API responses lost", lasting_faults.rate("api_rates", "lost", 0.01, 0.15)),
    LastingFault("API slow", lasting_faults.rate("api_rates", "slow", 0.01, 0.05), 0.15),
    LastingFault("watches lag", lasting_faults.lag),
    LastingFault("watch streams break", lasting_faults.streams),
    LastingFault("watches start from stale state", lasting_faults.stale, 0.2),
    LastingFault("engine errors", lasting_faults.rate("engine_rates", "error", 0.01, 0.15)),
    LastingFault("engine responses lost", lasting_faults.rate("engine_rates", "lost", 0.01, 0.1)),
    LastingFault("engine slow", lasting_faults.rate("engine_rates", "slow", 0.01, 0.05), 0.15),
    LastingFault("engine responses truncated", lasting_faults.rate("engine_rates", "garbled", 0.01, 0.05), 0.2),
    LastingFault("engine commands performed late", lasting_faults.rate("engine_rates", "late", 0.02, 0.3), 0.2),
    LastingFault("operator killed after writes", lasting_faults.killed_after_writes),
    LastingFault("operator killed after engine calls", lasting_faults.killed_after_calls),
    LastingFault("slow StatefulSet controller", lasting_faults.slow_sets),
    LastingFault("new pods mount outdated Secrets", lasting_faults.late_config, 0.2),
    LastingFault("mounted files updated late", lasting_faults.late_files),
    LastingFault("slow database start", lasting_faults.slow_start),
    LastingFault("slow shard recovery", lasting_faults.slow_copies, 0.2),
    LastingFault("voters change late", lasting_faults.slow_votes, 0.2),
    LastingFault("nodes almost full", lasting_faults.nearly_full, 0.1),
)

EPISODE = (300.0, 3600.0)
"""The duration of an episode of a lasting fault, in seconds."""
EPISODE_GAP = 3600.0
"""Mean seconds between two episodes of a lasting fault in a storm."""


class FaultSchedule:
    """The active faults of one run, and when they occur."""

    def __init__(
        self,
        targets: FaultTargets,
        kinds: tuple[Sequence[Fault], Sequence[LastingFault]] = (FAULTS, LASTING_FAULTS),
        only: frozenset[str] | None = None,
        slower: float = 1.0,
        profile: Profile | None = None,
    ) -> None:
        rng = targets.rng
        frequent_faults: Mapping[str, float] = {} if profile is None else profile.frequent_faults
        usual = 1.0 if profile is None else OTHER_FAULTS
        self.targets = targets
        self._slower = slower
        self._active_episodes = 0
        likely = {
            f.name: 1.0 if f.name in frequent_faults or f.likelihood >= 1.0 else f.likelihood * usual
            for f in (*kinds[0], *kinds[1])
        }
        self.faults = [f for f in kinds[0] if _on(f.name, likely[f.name], rng, only)]
        self.lasting_faults = [w for w in kinds[1] if _on(w.name, likely[w.name], rng, only)]
        self.gaps = {f.name: slower * rng.uniform(*f.gap) / frequent_faults.get(f.name, 1.0) for f in self.faults}
        """Mean pause of each active fault, in seconds."""
        if slower > 1.0:
            self.gaps |= {f.name: max(self.gaps[f.name], f.ordinary) for f in self.faults}
        self._active = False

    @property
    def requests_unaffected(self) -> bool:
        """Whether no lasting fault affects requests now."""
        return not self._active_episodes

    def begin(self) -> None:
        """Start the active faults."""
        self._active = True
        for fault in self.lasting_faults:
            if self._slower > 1.0:
                self._plan_episode(fault)
            else:
                self._begin(fault)
        for fault in self.faults:
            self._plan(fault)

    def end(self) -> None:
        """Stop all faults, and revert those that last."""
        self._active = False
        self.targets.world.context.trace("the faults end")
        for revert in reversed(self.targets.reverts):
            revert()
        self.targets.reverts.clear()
        lasting_faults.clear(self.targets)

    def _begin(self, fault: LastingFault) -> None:
        self._active_episodes += 1
        self.targets.world.context.count(f"lasting fault: {fault.name}")
        self.targets.world.context.trace(f"lasting fault begins: {fault.name}")
        fault.begin(self.targets)

    def _plan_episode(self, fault: LastingFault) -> None:
        pause = self.targets.rng.expovariate(1.0 / (self._slower * EPISODE_GAP))
        self.targets.world.context.later(pause, self._begin_episode, fault)

    def _begin_episode(self, fault: LastingFault) -> None:
        if not self._active:
            return
        self._begin(fault)
        self.targets.world.context.soon(*EPISODE, self._end_episode)
        self._plan_episode(fault)

    def _end_episode(self) -> None:
        """End an episode; the last one that ends reverts all lasting faults."""
        self._active_episodes -= 1
        if not self._active_episodes:
            self.targets.world.context.trace("the lasting faults end")
            lasting_faults.clear(self.targets)

    def _plan(self, fault: Fault) -> None:
        pause = self.targets.rng.expovariate(1.0 / self.gaps[fault.name])
        self.targets.world.context.later(pause, self._strike, fault)

    def _strike(self, fault: Fault) -> None:
        if self._active:
            self.targets.world.context.count(f"fault: {fault.name}")
            if fault.strike is not object_faults.edit:
                self.targets.world.context.trace(f"fault: {fault.name}")
            fault.strike(self.targets)
            self._plan(fault)


def _on(name: str, likelihood: float, rng: random.Random, only: frozenset[str] | None) -> bool:
    # What only profiles have draws nothing elsewhere, so it changes no other run.
    drawn = likelihood > 0 and rng.random() < likelihood
    return drawn if only is None else name in only
