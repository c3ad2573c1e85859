"""Random runs of FoundationDB: in the end the cluster matches its spec, and no data is lost."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.planning.facts.facts import Facts
from stateward.planning.safety import safe_set
from stateward.simulation.campaign.campaign import simulate_many
from stateward.simulation.campaign.run import Plan, Run
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


def test_no_property_is_violated() -> None:
    report = simulate_many("foundationdb", range(2, 6), plan=Plan(chaos=1200.0))
    assert not report.failed, "\n".join(f"seed {o.seed}: {o.violations[0]}" for o in report.failed)
    met = set(report.counts)
    assert {"action: CreateDatabase", "wait: MembersFirst", "fault: user edit", "action: Drain"} <= met, sorted(met)


async def test_two_members_that_are_taken_down_at_once_are_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan("foundationdb", only=frozenset(), spec=SPEC, processes=1, quiet_start=True, agents=False)
    run = Run(1, plan, asyncio.get_running_loop())
    with log_capture.to(run._on_log_event):
        run.processes[0].start()
        run.user.create()
        await run.until_formed()
        monkeypatch.setattr(safe_set, "room_left", everybody)
        variable = {"name": "COLOR", "value": "red"}
        run.user.set("edit", podTemplate={"spec": {"containers": [{"name": "foundationdb", "env": [variable]}]}})
        await asyncio.sleep(300.0)
        run.processes[0].kill()
    assert {violation.property for violation in run.violations} == {"c"}, run.violations[:3]
