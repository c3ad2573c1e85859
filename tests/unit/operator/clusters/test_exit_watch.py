"""The end of a stopping process is noticed at once, and not at the next resync."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import cast

import pytest

from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import SystemClock
from stateward.operator.act.agent_requests import AgentRequests
from stateward.operator.clusters.exit_watch import MOST, PAUSE, TIMES, ExitWatch, ending
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.actions import StopProcess
from stateward.planning.model.observation import Member, Unknown
from stateward.planning.model.process import Process, ProcessState
from stateward.simulation.timing.loop import run_virtual
from tests.unit.planning.world import World, hot, managers

KEY = Key("prod", "logs")
HOLDINGS = cast("ClusterObjects", None)


class Agents:
    """Agents whose processes end at their times, in seconds; one without a time answers nothing."""

    def __init__(self, **ends: float | None) -> None:
        self.ends = ends
        self.asked = 0

    async def ask(self, _holdings: ClusterObjects, members: Iterable[Member]) -> dict[str, Process | Unknown]:
        """Return what each of them says."""
        self.asked += 1
        now = asyncio.get_running_loop().time()
        return {m.name: said(self.ends[m.name], now) for m in members}


def said(end: float | None, now: float) -> Process | Unknown:
    if end is None:
        return Unknown("it is silent")
    return Process(ProcessState.STOPPED if now >= end else ProcessState.STOPPING, "", "")


def members(*names: str) -> Sequence[Member]:
    return [Member(name, "all", 0) for name in names]


def woken(agents: Agents, seconds: float, *, times: int = 1) -> list[float]:
    """Watch the agents for this long, for as many rounds; return when a reconciliation was requested."""

    async def watch() -> list[float]:
        loop, found = asyncio.get_running_loop(), list[float]()
        begun = loop.time()
        agents.ends = {name: None if end is None else begun + end for name, end in agents.ends.items()}
        agent_requests = cast("AgentRequests", agents)
        exit_watch = ExitWatch(
            agent_requests, SystemClock(), lambda key: found.append(loop.time() - begun) if key == KEY else None
        )
        async with asyncio.TaskGroup() as group:
            exit_watch.begin(group)
            for _ in range(times):
                exit_watch.keep(KEY, HOLDINGS, members(*agents.ends))
            await asyncio.sleep(seconds)
            exit_watch.end()
            exit_watch.keep(KEY, HOLDINGS, members(*agents.ends))
        return found

    return run_virtual(watch())


@pytest.mark.parametrize("end", [0.05, 0.5, 3.3])
def test_a_look_is_wanted_right_after_the_first_of_them_has_ended(end: float) -> None:
    (at,) = woken(Agents(a=end, b=end + 1.0, c=None), 10.0)
    assert end <= at <= end + PAUSE + 0.01


def test_agents_are_asked_by_one_watch_however_many_checks_there_are() -> None:
    agents = Agents(a=2.0)
    assert len(woken(agents, 10.0, times=5)) == 1
    assert agents.asked == pytest.approx(2.0 / PAUSE, abs=1)


def test_a_member_that_never_ends_is_not_watched_for_ever() -> None:
    agents = Agents(a=None)
    assert woken(agents, 3600.0) == []
    assert agents.asked == TIMES


def test_too_many_members_for_single_requests_are_left_to_the_checks() -> None:
    agents = Agents(**dict.fromkeys((f"m{n}" for n in range(MOST + 1)), 1.0))
    assert woken(agents, 5.0) == []
    assert agents.asked == 0


def test_nothing_continues_after_the_end() -> None:
    agents = Agents(a=3.0)
    assert woken(agents, 1.0) == []
    assert agents.asked <= 1.0 / PAUSE + 1


def test_a_question_that_fails_ends_its_watch_and_nothing_else() -> None:
    class Broken(Agents):
        async def ask(self, _holdings: ClusterObjects, members: Iterable[Member]) -> dict[str, Process | Unknown]:
            self.asked += 1
            raise OSError(f"no route to {len(list(members))} agents")

    agents = Broken(a=1.0)
    assert woken(agents, 10.0, times=2) == []
    assert agents.asked == 1


def test_processes_that_are_stopping_are_watched_and_no_other() -> None:
    world = World(managers(), hot(3))
    world.agents = True
    world.run().index((2,)).run()
    assert ending(world.observe(), world.plan()) == ()
    world.edit(pools=[managers(), hot(3, config={"config/a": "1"})]).until(lambda w: bool(stops(w)))
    (told,) = stops(world)
    assert watched(world) == [told]
    pod = world.bodies[told].pod
    assert pod is not None
    pod.process = "stopping"
    assert (stops(world), watched(world)) == ([], [told])
    pod.process = "stopped"
    assert watched(world) == []


def stops(world: World) -> list[str]:
    return [step.member for step in world.plan().steps if isinstance(step, StopProcess)]


def watched(world: World) -> list[str]:
    return [m.name for m in ending(world.observe(), world.plan())]
