"""A request for the lease that gets no answer costs one try, not the lease."""

import asyncio
import random
from contextlib import suppress
from typing import Any

from stateward.kube.client.transport import Limits
from stateward.kube.election.lease import LeaderElection
from stateward.kube.election.lease_record import LeaseTiming
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.kube.fake_server import answer, serving, status, stream

TIMING = LeaseTiming()
ABSENT = answer(status(404, "NotFound", name="stateward"), 404)
DEAD = stream(hold=1000.0)
"""The connection is dead, and nothing says so."""


def lease(version: int) -> Any:
    metadata = {"name": "stateward", "namespace": "ns", "resourceVersion": str(version)}
    return answer({"metadata": metadata, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}})


async def test_a_renewal_on_a_dead_connection_is_tried_again_before_the_deadline() -> None:
    """The read of the first renewal gets no answer, then the write of the second."""
    first, second = (DEAD, lease(1), lease(2)), (lease(2), DEAD, lease(2), lease(3))
    limits = Limits(request=TIMING.request)
    async with serving(ABSENT, lease(1), *first, *second, limits=limits) as (fake, api):
        election = LeaderElection(api, Key("ns", "stateward"), "a", clock=VirtualClock(), rng=random.Random(1))  # noqa: S311
        losses: list[str] = []
        task = asyncio.create_task(election.run(lambda: losses.append("a")))
        await election.wait_elected()
        while fake.steps:
            await asyncio.sleep(0.1)
            assert not losses
            assert election.is_leader()
        await asyncio.sleep(0.5)
        assert election.is_leader(at_least=TIMING.duration - 1.0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
