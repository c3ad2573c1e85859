"""In no episode of a chaos run are two zones away at once, whatever its fault and its edit.

The episodes are played in virtual time, on a cluster whose operator restarts one member after the other as long as the
database sees no fault, and whose database sees a fault late.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.kube.objects.metadata import ObjectMeta
from stateward.kube.objects.pods import Condition, Pod, PodStatus
from stateward.kube.timing.virtual_time import VirtualTimeLoop
from tests.chaos.clients import Clients
from tests.chaos.edits import Wanted
from tests.chaos.faults import FAULTS, Aim, replaceable, running_databases
from tests.chaos.one_zone import SEEN_WITHIN, OneZone, in_one_zone, zones_away
from tests.chaos.run import Run, Story
from tests.chaos.schedule import OF_CONTROL, OF_DATA, RESTARTS, UNSEEN, Edit, Episode, Fault, Timed, destroys, episodes
from tests.chaos.world import RECENT, ZONES, World, picked, zone_of

MEMBERS = ("managers-a-0", "managers-b-0", "managers-c-0", "hot-a-0", "hot-a-1", "hot-b-0", "hot-c-0")
NAMES = tuple(f"chaos-{name}" for name in MEMBERS)


def pod(name: str, *, ready: bool) -> Pod:
    condition = Condition(type="Ready", status="True" if ready else "False")
    return Pod(metadata=ObjectMeta(name=f"{name}-0"), status=PodStatus(conditions=(condition,)))


@dataclass
class Model:
    """A cluster, its operator and its database; also what an episode uses of the world and of the clients."""

    rng: Random
    restarting: str = ""
    recovering: bool = False
    pending: list[str] = field(default_factory=list[str])
    broken: str = ""
    """The zone that the fault has taken away."""
    disk: bool = False
    """Whether the fault is one member's disk."""
    known: bool = False
    """Whether the database knows of it."""
    hit: asyncio.Event = field(default_factory=asyncio.Event)
    silent: float = 0.0
    """Seconds until the API server answers."""
    troubled: float = -1.0
    secured: bool = True
    worst: set[str] = field(default_factory=set[str])
    """Of all moments, the zones that were away at the worst one."""
    log: list[str] = field(default_factory=list[str])

    @property
    def clusters(self) -> "Model":
        return self

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    @property
    def seen(self) -> str:
        return "yellow" if self.restarting or self.recovering or self.known else "green"

    async def get(self, _: str) -> bool:
        return not self.pending and self.seen == "green"

    async def members(self) -> tuple[str, ...]:
        await asyncio.sleep(self.silent)
        return NAMES

    async def data_members(self) -> list[str]:
        return sorted(name for name in NAMES if "-hot-" in name and name != self.restarting)

    async def pods(self) -> dict[str, Pod]:
        await asyncio.sleep(self.silent)
        return {name: pod(name, ready=name != self.restarting) for name in NAMES}

    async def answered(self, call: Callable[[], Awaitable[Any]]) -> Any:
        return await call()

    def observe(self) -> None:
        away = ({zone_of(self.restarting)} if self.restarting else set[str]()) | (
            {self.broken} if self.broken else set()
        )
        self.worst = max(self.worst, away, key=len)
        if self.seen != "green":
            self.troubled = self.now

    async def operate(self) -> None:
        """Restart the members that wait for it, one at a time, while all is well as far as the database knows."""
        while True:
            if self.pending and self.seen == "green":
                self.restarting = self.pending.pop(0)
                self.log.append(f"{self.now:.1f} restarts {self.restarting}")
                await self._for(self.rng.uniform(15, 40))
                while zone_of(self.restarting) == self.broken and not self.disk:
                    await self._for(1)  # Its node or its network is away.
                self.restarting, self.recovering = "", True
                await self._for(self.rng.uniform(1, 15))
                self.recovering = False
            await self._for(self.rng.uniform(0.1, 5))

    async def _for(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.observe()
            await asyncio.sleep(0.5)

    @asynccontextmanager
    async def fault(self, fault: Fault, aim: Aim) -> AsyncGenerator[str]:
        """Take one zone away, after a moment; the database sees it late, or never if it has ended by then."""
        # Some need the API server, which may be off.
        delay = self.rng.choice((0, 1, 2, 120 if fault in (Fault.VOLUME_LOST, Fault.DISK_FULL) else 2))
        await asyncio.sleep(delay)
        if delay > RECENT and len(aim.zones) == 1:
            yield "nothing"
            return
        zone = picked(sorted(aim.zones), aim.pick)
        self.log.append(f"{self.now:.1f} {fault} in {zone}")
        if fault not in UNSEEN:
            self.broken, self.disk = zone, fault is Fault.DISK_FULL
        self.hit.set()
        # A process that ends, or a write that fails, is seen at once; a silent network is not.
        late = self.rng.uniform(0, 2 if fault in (Fault.VOLUME_LOST, Fault.DISK_FULL) else 35)
        await asyncio.sleep(min(late, aim.seconds))
        self.known = late < aim.seconds and fault not in UNSEEN
        await asyncio.sleep(max(0.0, aim.seconds - late))
        yield zone
        # A member that has been away catches up.
        await asyncio.sleep(10 if self.known else 0)
        self.broken, self.known = "", False


class Played(Run):
    """A run on the model: an edit that restarts members has the operator restart all of them."""

    model: Model
    edit: Edit

    async def _apply(self, wanted: Wanted) -> None:
        await asyncio.sleep(self.model.rng.uniform(0, 3))
        if self.edit in RESTARTS:
            self.model.pending = self.model.rng.sample(NAMES, len(NAMES))

    async def _until_settled(self, story: Story, clients: Clients) -> None:
        while not await self.model.get(""):  # noqa: ASYNC110 - the model has no event for it
            await asyncio.sleep(1)


async def play(episode: Episode, seed: int) -> Model:
    model = Model(Random(seed))  # noqa: S311 - no secret
    run = Played(model, 1, lambda _: None)  # type: ignore[arg-type]
    run.model, run.edit = model, episode.edit
    operator = asyncio.create_task(model.operate())
    await run._episode(episode, Story(0, 0.0, []), model)  # type: ignore[arg-type]
    operator.cancel()
    return model


def played(episode: Episode, seed: int) -> Model:
    async def control(*_: Any) -> AsyncGenerator[str]:
        yield "nothing"

    def of_data(fault: Fault) -> Any:
        def block(model: Model, aim: Aim) -> AbstractAsyncContextManager[str]:
            return model.fault(fault, aim)

        return block

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        patch.setattr("tests.chaos.one_zone.healthy", bool)
        for fault in FAULTS:
            block = of_data(fault) if fault in OF_DATA else asynccontextmanager(control)
            patch.setitem(FAULTS, fault, block)
        return runner.run(play(episode, seed))


def an_episode(edit: Edit, edit_at: float, fault: Fault, at: float, seconds: float, pick: float) -> Episode:
    return Episode(0, edit, edit_at, pick, (Timed(fault, at, seconds, pick),))


@settings(max_examples=60)
@given(st.integers(0, 1_000_000))
def test_one_zone_is_away_at_most(seed: int) -> None:
    for episode in islice(episodes(seed), 5):
        model = played(episode, seed)
        assert len(model.worst) <= 1, (episode, model.log)


@pytest.mark.parametrize("fault", [each for each in OF_DATA if each not in UNSEEN and each is not Fault.VOLUME_LOST])
def test_a_fault_strikes_in_the_zone_whose_member_stops(fault: Fault) -> None:
    logs = [played(an_episode(Edit.MEMORY, 0, fault, 20, 60, 0.5), seed).log for seed in range(20)]
    struck = [(i, log) for log in logs for i, line in enumerate(log) if str(fault) in line]
    assert len(struck) > 5
    for i, log in struck:
        assert zone_of(log[i - 1].split()[-1]) == log[i].split()[-1]


def test_an_edit_that_restarts_members_begins_when_the_database_has_seen_the_fault() -> None:
    model = played(an_episode(Edit.MEMORY, 1, Fault.NETWORK_CUT, 0, 100, 0.5), 1)
    first_restart = next(float(line.split()[0]) for line in model.log if "restarts" in line)
    assert first_restart >= 100


def test_an_edit_waits_for_the_volume_that_its_episode_destroys() -> None:
    episode = an_episode(Edit.MEMORY, 0, Fault.VOLUME_LOST, 30, 60, 0.5)
    assert destroys(episode)
    lines = [line.split(maxsplit=1)[1] for line in played(episode, 1).log]
    assert lines[0].startswith("volume lost")


async def struck(order: OneZone, fault: Fault = Fault.NODE_OFF, *, within: float = 60) -> list[str] | None:
    """Return the zones of a strike; None if it does not come."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            return sorted(await order.strike(fault))
    return None


def ordered(case: Callable[[OneZone, Model], Awaitable[None]]) -> None:
    """Play a case of one edit that restarts members and has been stored."""

    async def prepared() -> None:
        model = Model(Random(1))  # noqa: S311 - no secret
        order = OneZone(model, model)  # type: ignore[arg-type]
        await order.begin(Edit.WRONG_VERSION)
        order.stored.set()
        await case(order, model)

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        patch.setattr("tests.chaos.one_zone.healthy", bool)
        runner.run(prepared())


def test_a_zone_that_was_away_before_may_come_back_at_any_moment_so_no_fault_strikes_in_it() -> None:
    async def case(order: OneZone, model: Model) -> None:
        model.restarting = "chaos-hot-c-0"
        assert await struck(order) is None
        strike = asyncio.create_task(struck(order))
        await asyncio.sleep(5)
        model.restarting = ""
        model.recovering = True
        await asyncio.sleep(5)
        model.restarting = "chaos-hot-b-0"
        assert await strike == ["b"]

    ordered(case)


def test_a_zone_that_went_away_while_the_api_server_did_not_answer_may_come_back_as_well() -> None:
    async def case(order: OneZone, model: Model) -> None:
        strike = asyncio.create_task(struck(order))
        await asyncio.sleep(1)
        model.silent = 20
        await asyncio.sleep(15)
        model.restarting = "chaos-hot-c-0"
        assert await strike is None

    ordered(case)


def test_no_fault_strikes_in_a_healthy_cluster_before_the_edit_is_taken_back() -> None:
    async def case(order: OneZone, _: Model) -> None:
        assert await struck(order) is None
        order.complete.set()
        assert await struck(order) == list(ZONES)

    ordered(case)


def test_a_fault_that_takes_no_copy_away_strikes_at_once() -> None:
    async def case(order: OneZone, model: Model) -> None:
        model.restarting = "chaos-hot-c-0"
        assert await struck(order, Fault.KUBELET_STOPPED) == list(ZONES)

    ordered(case)


def test_a_fault_that_takes_nothing_away_for_long_holds_no_edit() -> None:
    async def case(_: OneZone, model: Model) -> None:
        order = OneZone(model, model)  # type: ignore[arg-type]
        await order.strike(Fault.DISK_FULL)
        model.hit.set()
        begun = model.now
        await order.begin(Edit.MEMORY)
        assert SEEN_WITHIN <= model.now - begun <= SEEN_WITHIN + 1

    ordered(case)


def test_an_edit_waits_for_a_fault_that_waits_for_the_api_server() -> None:
    async def case(_: OneZone, model: Model) -> None:
        order = OneZone(model, model)  # type: ignore[arg-type]
        await order.strike(Fault.DISK_FULL)
        model.troubled = model.now
        begun = asyncio.create_task(order.begin(Edit.MEMORY))
        await asyncio.sleep(200)
        model.hit.set()
        await asyncio.sleep(1)
        assert not begun.done()
        model.troubled = model.now
        await asyncio.sleep(1)
        assert begun.done()

    ordered(case)


def test_faults_of_control_wait_for_nothing() -> None:
    for fault in OF_CONTROL:
        assert played(an_episode(Edit.CONFIGURATION, 0, fault, 10, 20, 0.5), 1).broken == ""


@pytest.mark.parametrize(("silent", "found"), [(0.0, "chaos-hot-b-0"), (20.0, "")])
def test_a_disk_of_one_zone_is_full_in_time_or_not_at_all(silent: float, found: str) -> None:
    async def case(_: OneZone, model: Model) -> None:
        model.silent = silent
        running = await running_databases(model, ["b"])  # type: ignore[arg-type]
        assert "".join(running) == found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.chaos.faults.databases", one_process)
        ordered(case)


def one_process(_: str) -> list[int]:
    return [1]


async def test_a_volume_is_destroyed_only_beside_another_member_of_the_pool_that_serves() -> None:
    """The operator waits for a person if no other member proves that an equal one starts."""
    answers = [["chaos-hot-a-0", "chaos-hot-b-0"], ["chaos-hot-a-0", "chaos-hot-b-0", "chaos-hot-b-2"]]
    world = World(None, None, None, secured=False)  # type: ignore[arg-type]

    async def members(_: World) -> list[str]:
        return answers.pop(0)

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "data_members", members)
        patch.setattr("tests.chaos.faults.wait", at_once)
        assert await replaceable(world) == ["chaos-hot-b-0", "chaos-hot-b-2"]


def test_a_zone_is_away_if_a_member_of_it_has_no_ready_pod() -> None:
    pods = {"chaos-hot-a-0": pod("chaos-hot-a-0", ready=True), "chaos-hot-b-0": pod("chaos-hot-b-0", ready=False)}
    assert zones_away(["chaos-hot-a-0"], pods) == {"b"}
    assert zones_away(["chaos-hot-a-0", "chaos-managers-c-0"], pods) == {"b", "c"}


def test_copies_in_one_zone_are_found() -> None:
    def row(shard: str, state: str, member: str) -> dict[str, str]:
        return {"index": "chaos", "shard": shard, "state": state, "node": member}

    apart = [row("0", "STARTED", "chaos-hot-a-0"), row("0", "STARTED", "chaos-hot-b-0")]
    assert in_one_zone(apart) == []
    together = [row("1", "STARTED", "chaos-hot-a-0"), row("1", "STARTED", "chaos-hot-a-1")]
    assert in_one_zone([*apart, *together]) == ["chaos[1]"]
    assert in_one_zone([row("2", "STARTED", "chaos-hot-a-0"), row("2", "UNASSIGNED", "")]) == ["chaos[2]"]


def test_every_zone_has_a_member_of_each_kind_in_the_model() -> None:
    assert {zone_of(name) for name in NAMES if "managers" in name} == set(ZONES)
