"""An operator that finds members and no lease waits: another process may still count on the one that was deleted."""

import asyncio
import random
from typing import Any, cast

import pytest

from stateward.kube.objects import resources as kinds
from stateward.operator.assembly import Operator
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.runtime.options import OperatorOptions
from stateward.simulation.apiserver.client import ChangeSignal
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock, run_virtual
from tests.unit.operator.test_process import Written

LABELS = {"stateward.dev/cluster": "logs", "stateward.dev/engine": "opensearch", "stateward.dev/member": "logs-hot-0"}
MEMBER = {"metadata": {"name": "logs-hot-0", "labels": LABELS}, "spec": {"replicas": 1, "selector": {}, "template": {}}}


async def leads_after(*, members: bool) -> list[bool]:
    """Return whether a new process leads after 5 and after 20 seconds."""
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    api = Written(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    for name in ("data", "stateward"):
        await api.create(kinds.NAMESPACES, {"metadata": {"name": name}})
    if members:
        await api.create(kinds.STATEFUL_SETS, MEMBER, namespace="data")
    options = OperatorOptions(lease_namespace="stateward", identity="a")
    found = Operator(api, (OpenSearchFamily(cast("Any", None)),), options, clock=clock)
    running = asyncio.create_task(found.run())
    seen: list[bool] = []
    for seconds in (5, 15):
        await asyncio.sleep(seconds)
        seen.append(found.election.holder == "a")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return seen


@pytest.mark.parametrize(("members", "leads"), [(True, [False, True]), (False, [True, True])])
def test_a_new_process_waits_only_if_there_are_members(*, members: bool, leads: list[bool]) -> None:
    assert run_virtual(leads_after(members=members)) == leads
