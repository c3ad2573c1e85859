"""Random runs of FoundationDB: in the end the cluster matches its spec, and no data is lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from stateward.api.values.base import Json
from stateward.planning.facts.facts import Facts
from stateward.planning.model.intent import StepResult
from stateward.planning.safety import safe_set
from stateward.planning.steps.membership import decommission
from stateward.simulation.campaign.campaign import simulate_many
from stateward.simulation.campaign.run import Plan, Run
from stateward.simulation.faults.foundationdb_faults import objects_deleted
from stateward.simulation.world import log_capture

pytestmark = pytest.mark.simulation

SPEC: Json = {
    "version": "7.1.57",
    "pools": [
        {"name": name, "processClass": name, "replicas": replicas, "storage": {"size": "2Gi"}}
        for name, replicas in (("storage", 4), ("log", 3), ("stateless", 2))
    ],
}


def everybody(_: Facts, candidates: int) -> int:
    return candidates


def released_at_once(*_: object) -> StepResult:
    return StepResult()


def test_no_property_is_violated() -> None:
    report = simulate_many("foundationdb", range(2, 6), plan=Plan(chaos=1200.0))
    assert not report.failed, "\n".join(f"seed {o.seed}: {o.violations[0]}" for o in report.failed)
    met = set(report.counts)
    assert {"action: CreateDatabase", "wait: MembersFirst", "fault: user edit", "action: Drain"} <= met, sorted(met)


@asynccontextmanager
async def formed() -> AsyncGenerator[Run]:
    """Provide a run without faults in which the database is formed; its operator is killed afterwards."""
    plan = Plan("foundationdb", only=frozenset(), spec=SPEC, processes=1, quiet_start=True, agents=False)
    run = Run(1, plan, asyncio.get_running_loop())
    with log_capture.to(run._on_log_event):
        run.processes[0].start()
        run.user.create()
        await run.until_formed()
        yield run
        run.processes[0].kill()


async def test_two_members_that_are_taken_down_at_once_are_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    async with formed() as run:
        monkeypatch.setattr(safe_set, "room_left", everybody)
        variable = {"name": "COLOR", "value": "red"}
        run.user.set("edit", podTemplate={"spec": {"containers": [{"name": "foundationdb", "env": [variable]}]}})
        await asyncio.sleep(300.0)
    assert {violation.property for violation in run.violations} == {"c"}, run.violations[:3]


async def test_a_coordinator_that_is_released_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    async with formed() as run:
        monkeypatch.setattr(decommission, "remove_vote", released_at_once)
        run.user.set("edit", members={"replaceWithoutDraining": ["logs-storage-0"]})
        await asyncio.sleep(600.0)
    assert [v.message for v in run.violations] == ["logs-storage-0 is released while it votes"], run.violations[:3]


async def test_deleted_objects_are_made_again() -> None:
    """StatefulSets, Secrets of members, and the cluster file; no member is lost."""
    async with formed() as run:
        for _ in range(12):
            objects_deleted(run.fault_schedule.targets)
            await asyncio.sleep(60.0)
        await run.settle(600.0)
    assert not run.violations, run.violations[:3]
