"""Plays a world in scaled real time: it advances on a thread of its own, and each step gives a frame to show."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from stateward.api.kinds.cluster import Cluster
from stateward.cli.page.timeline import Seen, drawn, grown
from stateward.cli.shared.session import Session
from stateward.cli.tour.measured import Measured
from stateward.simulation.interactive.inputs import LoseNode, Patch, Recording, RestoreNode, TimedInput
from stateward.simulation.interactive.live_world import LiveWorld
from stateward.simulation.interactive.scenario import Scenario, begin
from stateward.simulation.interactive.writes import Writes
from stateward.simulation.world.user_access import UserApi
from stateward.simulation.world.world import NAMESPACE
from stateward.timeline.model import Timeline

TICK = 0.08
"""Real seconds between two frames."""
LONGEST = 0.5
"""Real seconds that one step covers at most: a busy machine slows the story down, and skips nothing."""
SPEEDS = (1.0, 2.0, 4.0, 6.0, 10.0, 20.0, 60.0)

R = TypeVar("R")
Event = Callable[[LiveWorld], object]
Script = Callable[[float], Sequence[tuple[float, Event]]]
"""Returns what happens when in virtual time, if the story starts at a time."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The world at one instant; `time` is in virtual seconds since the start of the story."""

    time: float
    now: float
    """Wall time of the world, in seconds since the epoch."""
    cluster: Cluster
    writes: Writes
    lost: tuple[str, ...]
    """Nodes without power."""
    settled: bool
    """Whether the story is over and the cluster has its desired state."""
    seen: Seen
    timeline: Timeline


class Player:
    """Plays one story. `start` it, `play` it in a task, and `close` it."""

    def __init__(self, story: Scenario, seed: int, speed: float, script: Script, *, alone: bool = False) -> None:
        """`alone` is for a story without a viewer: it stops at the second at which it is over."""
        self.story, self.seed, self.speed = story, seed, speed
        self.paused = True
        self.end: float | None = None
        """The time of the world at which time stops; None without one."""
        self.over = False
        """Whether time has stopped: at its end, or without a viewer when the story is over."""
        self._alone = alone
        self._stepped = asyncio.Condition()
        self.frame: Frame
        self._made_script = script
        self._script: list[tuple[float, Event]] = []
        self._thread = ThreadPoolExecutor(1, "world")
        self._live: LiveWorld
        self._start = 0.0
        self._shown = 0
        self._measured = Measured()
        self._seen = Seen()
        self._known: Cluster | None = None

    async def start(self) -> None:
        """Form the cluster, and make the first frame; raise TimeoutError."""
        await self._do(self._begin)

    async def play(self) -> None:
        """Let time pass until cancelled."""
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            passed, last = min(LONGEST, time.monotonic() - last), time.monotonic()
            if not self.paused:
                await self._do(lambda seconds=passed * self.speed: self._step(seconds))
                await self.changed()

    async def next_frame(self) -> None:
        """Wait for the next frame, or for another change of the player."""
        async with self._stepped:
            await self._stepped.wait()

    async def changed(self) -> None:
        """Wake those who wait for the next frame."""
        async with self._stepped:
            self._stepped.notify_all()

    async def event(self, happens: Event) -> None:
        """Let something happen now."""
        await self._do(lambda: self._happens(happens))
        await self.changed()

    async def ask(self, work: Callable[[Session], Awaitable[R]]) -> R:
        """Return the result of a user's work with the cluster."""

        def within(api: UserApi) -> Awaitable[R]:
            return work(Session(api, NAMESPACE, clock=self._live.world.context.clock, execute=api.execute))

        return await self._do(lambda: self._live.ask(within))

    def change_speed(self, by: int) -> None:
        """Take the next higher (1) or lower (-1) speed."""
        near = min(range(len(SPEEDS)), key=lambda at: abs(SPEEDS[at] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, near + by))]

    def recording(self) -> Recording:
        """Return what repeats the run; only while no step is running."""
        return self._live.recording

    @property
    def failures(self) -> Sequence[str]:
        """Errors of the operator that it does not handle by design."""
        return self._live.failures

    async def close(self) -> None:
        """End the world."""
        if hasattr(self, "_live"):
            await self._do(self._live.close)
        self._thread.shutdown()

    async def _do(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _begin(self) -> None:
        self._live = begin(self.story, self.seed)
        self._start = self._live.at
        self._script = list(self._made_script(self._start))
        self.frame = self._framed()

    def _step(self, seconds: float) -> None:
        end = self._live.at + seconds
        if self.end is not None:
            end = min(end, self.end)
        while self._script and self._script[0][0] <= end:
            at, happens = self._script.pop(0)
            self._advance(at)
            happens(self._live)
        self._advance(end)
        self.frame = self._framed()

    def _advance(self, until: float) -> None:
        """Advance, and look at each whole second: at high speed short phases would be missed."""
        while self._live.at < until and not self.over:
            self._live.advance(min(until, math.floor(self._live.at) + 1.0))
            self._observe()
            if self.end is None:
                self.over = self._alone and self._live.at.is_integer() and self._is_settled()
            else:
                self.over = self._live.at >= self.end

    def _is_settled(self) -> bool:
        return not self._script and not self._live.lost_nodes() and not self._live.unmet()

    def _happens(self, happens: Event) -> None:
        happens(self._live)
        self.frame = self._framed()

    def _observe(self) -> tuple[Cluster, float]:
        """Note the present state; return the cluster, and the wall time of the world."""
        live, before = self._live, self._known
        now = live.world.context.clock.timestamp() + live.at - live.world.now
        cluster = self._cluster()
        if before is None or before.metadata.resource_version != cluster.metadata.resource_version:
            self._seen = grown(self._seen, before, cluster, now)
        self._known = cluster
        self._measured.note("refused" if self._writes.paused else "accepted", words(live.inputs[self._shown :]), now)
        self._shown = len(live.inputs)
        return cluster, now

    def _framed(self) -> Frame:
        live, (cluster, now) = self._live, self._observe()
        lost, settled = tuple(live.lost_nodes()), self._is_settled()
        timeline = self._measured.on(drawn(self._seen, cluster, now))
        return Frame(live.at - self._start, now, cluster, self._writes, lost, settled, self._seen, timeline)

    @property
    def _writes(self) -> Writes:
        assert self._live.meter is not None  # noqa: S101 - set at the start of the story
        return self._live.meter.latest

    def _cluster(self) -> Cluster:
        stored = self._live.world.resource()
        assert stored is not None  # noqa: S101 - no one deletes it
        return stored.view(self._live.world.kind.resource.view)


def words(inputs: Iterable[TimedInput]) -> Iterator[str]:
    """Yield inputs as the words of marks, without edits: the history has those."""
    for timed in inputs:
        match timed.what:
            case LoseNode(node):
                yield f"{node} loses its power"
            case RestoreNode(node):
                yield f"{node} is back"
            case Patch():
                pass
