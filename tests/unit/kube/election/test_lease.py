"""At most one candidate leads at any instant, and it knows for how long."""

# A seeded random source, so that a failure can be repeated.
# ruff: noqa: S311

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.kube.client.client import PatchKind
from stateward.kube.election.lease import LeaderElection
from stateward.kube.election.lease_record import LeaseTiming
from stateward.kube.objects.errors import TransportError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import LEASES
from stateward.kube.timing.virtual_time import VirtualClock, VirtualTimeLoop
from tests.unit.kube.memory_api import MemoryApi

KEY = Key("ns", "stateward")


@dataclass
class Candidate:
    election: LeaderElection
    task: asyncio.Task[None]
    losses: list[str]

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


def campaign(api: MemoryApi, name: str, *, led_before: bool = False) -> Candidate:
    losses: list[str] = []
    election = LeaderElection(
        api, KEY, name, clock=VirtualClock(), rng=random.Random(name), led_before=lambda: led_before
    )
    return Candidate(election, asyncio.create_task(election.run(lambda: losses.append(name))), losses)


@asynccontextmanager
async def campaigning(api: MemoryApi, name: str, *, led_before: bool = False) -> AsyncGenerator[Candidate]:
    candidate = campaign(api, name, led_before=led_before)
    try:
        yield candidate
    finally:
        await candidate.stop()


async def test_the_first_candidate_leads_and_keeps_leading() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        for _ in range(100):
            await asyncio.sleep(10)
            assert a.election.is_leader(at_least=10)


async def test_a_second_candidate_waits_while_the_lease_is_renewed() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        async with campaigning(api, "b") as b:
            await asyncio.sleep(1000)
            assert a.election.is_leader()
            assert not b.election.is_leader()
            assert b.election.holder == "a"


async def test_a_deleted_lease_stays_with_its_holder() -> None:
    """Without this, one `kubectl delete lease` gives two leaders, each of which may delete pods."""
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        async with campaigning(api, "b") as b:
            await asyncio.sleep(100)
            for _ in range(20):
                del api.objects["leases", KEY]
                await asyncio.sleep(10)
                assert a.election.is_leader()
                assert not b.election.is_leader()


async def test_a_deleted_lease_is_free_when_the_time_of_its_holder_is_over() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        async with campaigning(api, "b") as b:
            await asyncio.sleep(100)
            del api.objects["leases", KEY]
            api.before = lambda _verb, _key: TransportError("cut off") if asyncio.current_task() is a.task else None
            for _ in range(200):
                await asyncio.sleep(0.1)
                assert not (a.election.is_leader() and b.election.is_leader())
            assert b.election.is_leader()


@pytest.mark.parametrize("reached", [True, False])
async def test_a_new_process_waits_for_the_holder_of_a_deleted_lease(*, reached: bool) -> None:
    """A user deletes the lease and restarts a pod: the new process has never seen who holds it."""
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        await asyncio.sleep(10.5)
        del api.objects["leases", KEY]
        if not reached:
            api.before = lambda _verb, _key: TransportError("cut off") if asyncio.current_task() is a.task else None
        async with campaigning(api, "b", led_before=True) as b:
            for _ in range(250):
                await asyncio.sleep(0.1)
                assert not (a.election.is_leader() and b.election.is_leader())
            assert a.election.is_leader() is reached
            assert b.election.is_leader() is not reached


async def test_the_first_process_of_an_installation_does_not_wait() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await asyncio.sleep(1)
        assert a.election.is_leader()


async def test_a_lease_that_has_lost_its_duration_is_not_taken_before_its_holder_has_given_up() -> None:
    """Not even for a moment are there two, though a user has removed the field."""
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        async with campaigning(api, "b") as b:
            await asyncio.sleep(100)
            api.before = lambda _verb, _key: TransportError("cut off") if asyncio.current_task() is a.task else None
            del api.objects["leases", KEY]["spec"]["leaseDurationSeconds"]
            for _ in range(250):
                await asyncio.sleep(0.1)
                assert not (a.election.is_leader() and b.election.is_leader())
            assert b.election.is_leader()


async def test_a_lease_that_is_given_back_is_taken_within_a_retry() -> None:
    api = MemoryApi()
    async with campaigning(api, "b") as b:
        await b.election.wait_elected()
        async with campaigning(api, "a") as a:
            await asyncio.sleep(5)
            await b.stop()
            await asyncio.sleep(3)
            assert a.election.is_leader()


async def test_a_lease_is_given_back_though_a_renewal_that_was_cut_off_has_changed_it() -> None:
    api = MemoryApi()
    async with campaigning(api, "b") as b:
        await b.election.wait_elected()
        await api.patch(LEASES, KEY, {"spec": {"renewTime": "2026-01-01T00:00:09.000000Z"}}, kind=PatchKind.MERGE)
        await b.stop()
        assert not api.objects[LEASES.plural, KEY]["spec"].get("holderIdentity")


async def test_a_lease_that_another_user_has_taken_meanwhile_is_left_to_them() -> None:
    api = MemoryApi()
    async with campaigning(api, "b") as b:
        await b.election.wait_elected()
        await api.patch(LEASES, KEY, {"spec": {"holderIdentity": "c"}}, kind=PatchKind.MERGE)
        await b.stop()
        assert api.objects[LEASES.plural, KEY]["spec"]["holderIdentity"] == "c"


async def test_a_silent_leader_is_replaced_only_after_it_has_given_up_itself() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a, campaigning(api, "b") as b:
        await asyncio.sleep(20)
        leader, other = (a, b) if a.election.is_leader() else (b, a)
        isolate(api, leader.election)
        while not other.election.is_leader():
            assert len([c for c in (a, b) if c.election.is_leader()]) <= 1
            await asyncio.sleep(0.05)
        assert not leader.election.is_leader()
        assert leader.losses != []
        assert other.losses == []


def isolate(api: MemoryApi, election: LeaderElection) -> None:
    """Cut one candidate off: its requests fail from now on."""
    election._api = Cut(api)


class Cut(MemoryApi):
    """A connection that is down."""

    def __init__(self, _: MemoryApi) -> None:
        super().__init__()
        self.before = lambda _verb, _key: TransportError("the network is down")


async def test_a_lease_is_taken_over_no_sooner_than_a_whole_duration_after_its_last_renewal() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        async with campaigning(api, "b") as b:
            await asyncio.sleep(30)
            isolate(api, a.election)
            written = api.objects[LEASES.plural, KEY]["metadata"]["resourceVersion"]
            renewed = asyncio.get_running_loop().time()
            await b.election.wait_elected()
            waited = asyncio.get_running_loop().time() - renewed
            # The last renewal was at most a retry before the cut.
            assert 15.0 - 2.1 <= waited <= 15.0 + 2 * 2.5
            assert written != api.objects[LEASES.plural, KEY]["metadata"]["resourceVersion"]


async def test_the_claim_counts_from_before_the_renewal_was_sent() -> None:
    api = MemoryApi(latency=4.0)
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        # Two calls of 4 s each: the read, then the write whose start counts.
        assert a.election.remaining == pytest.approx(15.0 - 4.0, abs=0.1)


async def test_a_renewal_whose_answer_was_lost_is_noticed_as_our_own() -> None:
    api = MemoryApi()
    lost = iter([True])
    api.after = lambda _verb, _key: TransportError("lost", may_have_committed=True) if next(lost, False) else None
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        assert api.objects[LEASES.plural, KEY]["spec"]["leaseTransitions"] == 1


async def test_the_leader_gives_up_at_the_renew_deadline_and_reports_it() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        api.before = lambda _verb, _key: TransportError("down")
        await asyncio.sleep(11)
        assert a.losses == ["a"]
        assert not a.election.is_leader()
        assert a.task.done()


async def test_a_lost_lease_is_not_given_back_early() -> None:
    api = MemoryApi()
    async with campaigning(api, "a") as a:
        await a.election.wait_elected()
        api.before = lambda _verb, _key: TransportError("down")
        await asyncio.sleep(11)
        assert api.objects[LEASES.plural, KEY]["spec"]["holderIdentity"] == "a"


def test_times_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="renew_deadline"):
        LeaseTiming(duration=10, renew_deadline=10.0)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), faults=st.floats(0.0, 0.9))
def test_never_two_leaders_whatever_fails(seed: int, faults: float) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(_three_candidates(random.Random(seed), faults))


async def _three_candidates(rng: random.Random, faults: float) -> None:
    api = MemoryApi(latency=0.5)

    def fail(_verb: str, _key: Key) -> TransportError | None:
        return TransportError("fault", may_have_committed=True) if rng.random() < faults else None

    api.before = api.after = fail
    candidates = [campaign(api, f"{name}-{round_}") for round_ in range(2) for name in "abc"]
    for _ in range(600):
        await asyncio.sleep(rng.random() * 0.5)
        assert sum(candidate.election.is_leader() for candidate in candidates) <= 1
        if rng.random() < 0.01:
            await candidates[rng.randrange(len(candidates))].stop()
    for candidate in candidates:
        await candidate.stop()
