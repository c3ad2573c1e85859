"""The configuration Secret of a member that someone has edited is written again when a process waits for it."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Phase, Schedule
from stateward.planning.steps.upkeep.templates import ARRIVES, is_altered
from tests.unit.planning.steps.rollout.test_restart import set_phase, waits, world
from tests.unit.planning.world import World


def edited(made: World, name: str) -> World:
    """Let someone edit the Secret of a member: another content is in its pod until the operator writes it again."""
    kubernetes = made.step_kubernetes

    def step() -> None:
        kubernetes()
        pod = made.bodies[name].pod
        if pod is not None and name not in made.did(a.Stage):
            pod.mounted = "edited"

    made.step_kubernetes = step
    step()
    return made


def test_an_edited_configuration_is_written_again_if_a_restart_waits_for_it() -> None:
    """The disaster this prevents: someone tries a setting in the Secret of a member, which then never restarts."""
    made = set_phase(edited(world(), "c-hot-1"), "c-hot-1", Phase.SCHEDULE).ticks(15)
    assert ("c-hot-1", "ConfigurationNotMounted") in waits(made)
    assert made.log == []
    made.run()
    assert made.did(a.Stage) == made.did(a.FinishRestart) == ["c-hot-1"]


def test_an_edited_configuration_is_written_again_if_all_restart_together() -> None:
    made = edited(world(), "c-hot-1")
    made.schedule = Schedule("schedule-coordinated")
    made.run()
    assert made.did(a.Stage) == ["c-hot-1"]
    assert len(made.did(a.FinishRestart)) == 6


def test_an_edited_configuration_is_written_again_for_a_new_pod_that_waits_for_it() -> None:
    """Its agent starts nothing before it has the configuration that the pod was made for."""
    made = edited(world(), "c-hot-1")
    pod = made.bodies["c-hot-1"].pod
    assert pod is not None
    pod.process = "stopped"
    made.ticks(15)
    assert made.did(a.Stage) == []
    made.until(lambda w: bool(w.did(a.Stage)), limit=10)
    made.run()


@pytest.mark.parametrize("why", ["its pod ends", "its node is not ready", "it is to go", "its next template differs"])
def test_an_edited_configuration_is_not_written_for_a_process_that_will_not_get_it(why: str) -> None:
    made = set_phase(edited(world(), "c-hot-1"), "c-hot-1", Phase.SCHEDULE).ticks(15)
    seen = replace(made.observe(), waits={"c-hot-1 ConfigurationNotMounted": made.now - ARRIVES - 1.0})
    member = next(m for m in seen.members if m.name == "c-hot-1")
    assert member.pod is not None
    assert member.workload is not None
    assert is_altered(derive(seen, made.now), member)
    other = {
        "its pod ends": replace(member, pod=replace(member.pod, terminating=True)),
        "its node is not ready": replace(member, pod=replace(member.pod, node_ready=False)),
        "it is to go": replace(member, workload=replace(member.workload, replicas=0)),
        "its next template differs": replace(member, workload=replace(member.workload, inputs={"config/a": "2"})),
    }[why]
    members = tuple(other if m.name == "c-hot-1" else m for m in seen.members)
    assert not is_altered(derive(replace(seen, members=members), made.now), other)
