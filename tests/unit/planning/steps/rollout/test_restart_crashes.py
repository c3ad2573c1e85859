"""Restarts in kept pods that are interrupted between any two steps: the next operator continues from there.

For each round of a restart and each part of its plan that was carried out before the operator ended, the rest of the
world goes on as it was: nothing of that round was written into the status. An agent's container may end there as well.
"""

from collections.abc import Callable

import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.phase import Phase
from tests.unit.planning.kubernetes import checksum
from tests.unit.planning.steps.rollout.test_restart import NEW, phases, set_phase, uids, world
from tests.unit.planning.world import World, hot, managers, mixed


def rolling(made: World) -> World:
    return made.edit(pools=[mixed(config=NEW)])


def together(made: World) -> World:
    return made.edit(pools=[mixed(config={"security/on": "1"}, coordinated=frozenset({"security"}))])


def asked(made: World) -> World:
    return set_phase(made, "c-all-1", Phase.SCHEDULE)


def all_asked(made: World) -> World:
    return made.edit(schedule=o.Schedule("schedule-coordinated"))


def end_containers(made: World) -> None:
    """End process 1 of every pod whose process is being restarted; it comes back as the phase says."""
    for body in made.bodies.values():
        if body.pod is not None and body.pod.phase in ("stop", "stop-coordinated"):
            body.pod.process, body.pod.ready = "stopped", False
        elif body.pod is not None and body.pod.phase in ("start", "start-coordinated"):
            body.pod.process, body.pod.ready, body.pod.steps = "starting", False, 0
            body.pod.runs, body.pod.given = body.pod.mounted, dict(body.config or {})


@pytest.mark.parametrize("containers", [False, True])
@pytest.mark.parametrize("begin", [rolling, together, asked, all_asked])
def test_a_restart_that_is_cut_off_anywhere_comes_to_the_same_end(
    begin: Callable[[World], World], *, containers: bool
) -> None:
    made = begin(world(mixed(), indices=((2,), (2,))))
    before, cuts = uids(made), 0
    for _ in range(60):
        planned = made.plan()
        for done in range(len(planned.actions)):
            cuts += 1
            cut_off(made.copy(), planned.actions[:done], containers=containers, before=before)
        if made.tick().settled and not any(b.pod and b.pod.phase for b in made.bodies.values()):
            break
    assert cuts > 5
    assert uids(made) == before


def cut_off(made: World, done: tuple[a.Action, ...], *, containers: bool, before: dict[str, str]) -> None:
    for action in done:
        made.carry_out(action)
    if containers:
        end_containers(made)
    made.pass_time()
    made.run()
    assert uids(made) == before
    assert not made.limited
    assert made.schedule is None
    for body in made.bodies.values():
        assert body.pod is not None
        assert (body.pod.phase, body.pod.process, body.pod.runs) == ("", "running", checksum(body.config))
        assert body.pod.inputs == made.spec(body.pool).inputs(made.version)


def test_processes_that_came_up_on_what_was_overwritten_meanwhile_are_stopped_one_after_the_other() -> None:
    made = world(managers(), hot(2), indices=((2,), (2,)))
    made.edit(pools=[managers(), hot(2, config=NEW)])
    for name in ("c-hot-0", "c-hot-1"):
        body = set_phase(made, name, Phase.START).bodies[name]
        body.config = made.spec(body.pool).inputs(made.version)
    made.run()
    assert sorted(made.did(a.StopProcess)) == ["c-hot-0", "c-hot-1"]
    assert made.did(a.DeletePod) == []
    assert phases(made) == {""}
    for name in ("c-hot-0", "c-hot-1"):
        body = made.bodies[name]
        assert body.pod is not None
        assert body.pod.runs == checksum(body.config)
