"""The faults: each is switched on for a run, with a rate, by the seed (swarm testing).

A run in which everything fails at once finds little; a run in which three things fail often, and the rest never, finds
their interaction.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from stateward.simulation.faults import accidents, disasters, lasting_faults
from stateward.simulation.people.profiles import RARELY, Profile
from stateward.simulation.people.user import User
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import World


@dataclass(slots=True)
class FaultTargets:
    """Everything that faults can get at."""

    world: World
    processes: list[Process]
    user: User
    chance: random.Random
    undo: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """What takes back what was done, when faults stop."""
    empty: bool | None = None
    """True while empty volumes are being lost, so no data is written; False when it is too late for that."""

    @property
    def process(self) -> Process:
        """One of the operator's processes."""
        return self.chance.choice(self.processes)


class Fault(Struct, frozen=True):
    """Something that strikes again and again; `gap` is the range, in seconds, from which its mean pause is drawn."""

    name: str
    strike: Callable[[FaultTargets], None]
    gap: tuple[float, float]
    likelihood: float = 0.35
    """How likely it is switched on in a run."""
    ordinary: float = 0.0
    """The least mean pause on ordinary days, in seconds, of what a storm has often because it can seldom strike."""


class LastingFault(Struct, frozen=True):
    """Something that is so for the whole run."""

    name: str
    begin: Callable[[FaultTargets], None]
    likelihood: float = 0.3


DAY = 86400.0

FAULTS = (
    Fault("operator killed", disasters.kill_operator, (60, 900)),
    Fault("operator's watches frozen", disasters.freeze_watches, (60, 600)),
    Fault("watch history compacted", disasters.compact, (60, 600)),
    Fault("node without power", disasters.node_power, (600, 3600), 0.2),
    Fault("node cut off", disasters.node_cut_off, (600, 3600), 0.2),
    Fault("zone lost", disasters.zone_lost, (1800, 7200), 0.1),
    Fault("node drained", disasters.drain, (300, 2400), 0.25),
    Fault("node tainted", disasters.taint, (600, 3600), 0.15),
    Fault("process crash", disasters.crash, (120, 1800)),
    Fault("pod evicted by its kubelet", disasters.evicted, (300, 2400), 0.2),
    Fault("pod deleted by somebody", disasters.pod_deleted, (300, 2400), 0.15),
    Fault("quota", disasters.quota, (300, 1800), 0.15),
    Fault("all nodes cordoned", disasters.cordoned, (300, 2400), 0.15),
    Fault("nodes full", accidents.nodes_full, (300, 2400), 0.2),
    Fault("disk hangs", accidents.disk_hangs, (1200, 5400), 0.15),
    Fault("database made read-only", accidents.read_only, (600, 3600), 0.15),
    Fault("storage class gone", accidents.class_gone, (300, 2400), 0.15),
    Fault("Secret of a member that is gone restored", accidents.secret_restored, (600, 3600), 0.15),
    Fault("restart taken off a pod", accidents.phase_taken_off, (15, 120), 0.15, DAY),
    Fault("volumes of an empty cluster lost", accidents.volumes_lost, (5, 120), 0.25, 2 * DAY),
    Fault("cluster deleted and created again", disasters.recreated, (1200, 5400), 0.1),
    Fault("index created", disasters.new_index, (120, 1200), 0.5),
    Fault("user edit", disasters.edit, (120, 900), 0.9),
)

WEATHER = (
    LastingFault("API errors", lasting_faults.api_errors),
    LastingFault("API answers lost", lasting_faults.api_lost),
    LastingFault("API slow", lasting_faults.api_slow, 0.15),
    LastingFault("watches behind", lasting_faults.lag),
    LastingFault("watches break", lasting_faults.streams),
    LastingFault("stale state at the start of a watch", lasting_faults.stale, 0.2),
    LastingFault("engine errors", lasting_faults.engine_errors),
    LastingFault("engine answers lost", lasting_faults.engine_lost),
    LastingFault("engine slow", lasting_faults.engine_slow, 0.15),
    LastingFault("engine answers garbled", lasting_faults.engine_garbled, 0.2),
    LastingFault("operator killed after writes", lasting_faults.killed_after_writes),
    LastingFault("operator killed after engine calls", lasting_faults.killed_after_calls),
    LastingFault("StatefulSet controller slow", lasting_faults.slow_sets),
    LastingFault("Secrets late in new pods", lasting_faults.late_config, 0.2),
    LastingFault("files late in running pods", lasting_faults.late_files),
    LastingFault("slow start", lasting_faults.slow_start),
    LastingFault("copies move slowly", lasting_faults.slow_copies, 0.2),
    LastingFault("nodes almost full", lasting_faults.nearly_full, 0.1),
)

SPELL = (300.0, 3600.0)
"""Seconds for which lasting faults stay if they do not last for the whole run."""
SPELL_GAP = 3600.0
"""Seconds between two spells of one weather, at the pace of a storm."""


class Swarm:
    """The faults of one run."""

    def __init__(
        self,
        stage: FaultTargets,
        bad: tuple[Sequence[Fault], Sequence[LastingFault]] = (FAULTS, WEATHER),
        only: frozenset[str] | None = None,
        slower: float = 1.0,
        profile: Profile | None = None,
    ) -> None:
        chance = stage.chance
        often: Mapping[str, float] = {} if profile is None else profile.often
        usual = 1.0 if profile is None else RARELY
        self.stage = stage
        self._slower = slower
        self._spells = 0
        likely = {f.name: 1.0 if f.name in often else f.likelihood * usual for f in (*bad[0], *bad[1])}
        self.faults = [f for f in bad[0] if _on(f.name, likely[f.name], chance, only)]
        self.weather = [w for w in bad[1] if _on(w.name, likely[w.name], chance, only)]
        self.gaps = {f.name: slower * chance.uniform(*f.gap) / often.get(f.name, 1.0) for f in self.faults}
        """By fault that is switched on: its mean pause, in seconds."""
        if slower > 1.0:
            self.gaps |= {f.name: max(self.gaps[f.name], f.ordinary) for f in self.faults}
        self._active = False

    @property
    def fair(self) -> bool:
        """Whether no lasting fault affects requests now."""
        return not self._spells

    def begin(self) -> None:
        """Let the faults happen from now on."""
        self._active = True
        for weather_ in self.weather:
            if self._slower > 1.0:
                self._plan_spell(weather_)
            else:
                self._begin(weather_)
        for fault in self.faults:
            self._plan(fault)

    def end(self) -> None:
        """Let no fault happen any more, and take back what lasts."""
        self._active = False
        self.stage.world.ground.tell("from now on nothing goes wrong any more")
        for undo in reversed(self.stage.undo):
            undo()
        self.stage.undo.clear()
        lasting_faults.clear(self.stage)

    def _begin(self, weather_: LastingFault) -> None:
        self._spells += 1
        self.stage.world.ground.count(f"weather: {weather_.name}")
        self.stage.world.ground.tell(f"from now on: {weather_.name}")
        weather_.begin(self.stage)

    def _plan_spell(self, weather_: LastingFault) -> None:
        pause = self.stage.chance.expovariate(1.0 / (self._slower * SPELL_GAP))
        self.stage.world.ground.later(pause, self._spell, weather_)

    def _spell(self, weather_: LastingFault) -> None:
        if not self._active:
            return
        self._begin(weather_)
        self.stage.world.ground.soon(*SPELL, self._cleared)
        self._plan_spell(weather_)

    def _cleared(self) -> None:
        """End a spell; the last one that ends takes all of them back."""
        self._spells -= 1
        if not self._spells:
            self.stage.world.ground.tell("requests are answered as they should be again")
            lasting_faults.clear(self.stage)

    def _plan(self, fault: Fault) -> None:
        pause = self.stage.chance.expovariate(1.0 / self.gaps[fault.name])
        self.stage.world.ground.later(pause, self._strike, fault)

    def _strike(self, fault: Fault) -> None:
        if self._active:
            self.stage.world.ground.count(f"fault: {fault.name}")
            if fault.strike is not disasters.edit:
                self.stage.world.ground.tell(f"fault: {fault.name}")
            fault.strike(self.stage)
            self._plan(fault)


def _on(name: str, likelihood: float, chance: random.Random, only: frozenset[str] | None) -> bool:
    drawn = chance.random() < likelihood
    return drawn if only is None else name in only
