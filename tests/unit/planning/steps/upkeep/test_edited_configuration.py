"""The configuration Secret of a member that someone has edited is written again when a process waits for it."""

from stateward.planning.model import actions as a
from stateward.planning.model.observation import Phase, Schedule
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
