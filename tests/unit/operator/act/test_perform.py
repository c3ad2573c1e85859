"""A step that the database refuses ends nothing but what depends on it; anything else that fails ends the round."""

from types import SimpleNamespace
from typing import Any

import pytest

from stateward.engines.connection.base import NO, EngineError, RefusedError, UnreachableError
from stateward.kube.objects.errors import FieldCause
from stateward.kube.objects.metadata import Key
from stateward.operator.act.perform import Outcome, Performer
from stateward.operator.act.preparation import KEPT, LONG, Preparation
from stateward.operator.databases.agents import AgentError, AgentRefusedError
from stateward.operator.pod_rights.policy import PodNotAllowed
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Allocation, Ref
from stateward.planning.model.phase import Phase
from stateward.planning.plan import runs_first
from stateward.simulation.apiserver.refusals import refusal

POD = Ref("c-hot-1-0", "u", "1")
DRAIN = a.Drain(why="data moves away from c-hot-0", members=frozenset({"c-hot-0"}))
LIMIT = a.LimitAllocation(why="c-hot-1 restarts", allocation=Allocation.PRIMARIES, members=frozenset({"c-hot-1"}))
DELETE = a.DeletePod(why="to apply version", member="c-hot-1", pod=POD)
STOP = a.StopProcess(why="to apply configuration", member="c-hot-1", pod=POD, address="10.0.0.1")
STOPPING = a.SetPhase(why="to apply configuration", member="c-hot-1", pod=POD, phase=Phase.STOP)
STAGE = a.Stage(why="it starts again", member="c-hot-1", pool="hot", version="2.19.5")
START = a.StartProcess(why="it is there", member="c-hot-2", address="10.0.0.2", checksum="x")
RECORD = a.RecordRemoval(why="it is replaced", member="c-hot-2")


class Hands:
    """Whatever carries steps out; some of them fail, and some take a while."""

    def __init__(
        self, failing: dict[a.Action, Exception], *, closed: bool, taking: dict[a.Action, float] | None = None
    ) -> None:
        self._failing = failing
        self._closed = closed
        self._taking = taking or {}
        self.now = 0.0
        clock: Any = SimpleNamespace(monotonic=lambda: self.now)
        self.preparation = Preparation(clock)
        self.done: list[a.Action] = []

    async def carry_out(self, action: a.Action, *_: object) -> None:
        self.now += self._taking.get(action, 0.0)
        if action in self._failing:
            raise self._failing[action]
        self.done.append(action)

    async def close(self, *_: object, **__: object) -> bool:
        """Write what members share."""
        return self._closed

    async def keep(self, *_: object) -> None:
        """Keep credentials."""

    def action_done(self, *_: object) -> None:
        """Announce."""


async def perform(
    *steps: a.Action, closed: bool = True, failure: Exception | None = None, **failing: Any
) -> tuple[list[a.Action], Outcome]:
    """Carry out steps of which some fail, named by their kind."""
    bad = {step: failing[type(step).__name__] for step in steps if type(step).__name__ in failing}
    return await perform_with(Hands(bad, closed=closed), *steps, failure=failure)


async def perform_with(
    applier: Hands, *steps: a.Action, failure: Exception | None = None
) -> tuple[list[a.Action], Outcome]:
    """Carry out steps of which some fail."""
    family: Any = SimpleNamespace(kind=SimpleNamespace(engine="opensearch"), target=repr)
    agent_requests: Any = SimpleNamespace(credentials=applier)
    anyone: Any = applier
    performer = Performer(family, anyone, anyone, agent_requests, anyone, Metrics(), applier.preparation)
    meta = SimpleNamespace(name="c", namespace="ns")
    existing: Any = SimpleNamespace(cluster=SimpleNamespace(metadata=meta))
    observed: Any = SimpleNamespace(desired=SimpleNamespace(pools=("hot",)))
    endings = tuple(step for step in steps if runs_first(step))
    rest = tuple(step for step in steps if step not in endings)
    disrupts = DELETE in steps
    plan: Any = SimpleNamespace(endings=endings, steps=rest, budgets=(), settled=False, disrupts=disrupts)
    outcome = await performer.perform(existing, observed, plan, began=0.0, failure=failure)
    return applier.done, outcome


async def test_independent_steps_continue_after_a_refusal_that_is_reported_in_the_databases_words() -> None:
    refusal = RefusedError("exclude: ERROR: below 10%.\nType FORCE", NO)
    done, outcome = await perform(DRAIN, DELETE, RECORD, Drain=refusal)
    assert done == [DELETE, RECORD]
    assert outcome.failure is None
    (wait,) = outcome.waits("c")
    assert wait.reason == "StepRefused"
    assert wait.message == (
        "the database refuses a step (data moves away from c-hot-0): exclude: ERROR: below 10%. Type FORCE"
    )


async def test_no_member_goes_down_whose_copies_would_be_rebuilt_meanwhile() -> None:
    refusal = RefusedError("zone z1 is in maintenance, which a user started", NO)
    done, outcome = await perform(LIMIT, a.Flush(why="x"), STOPPING, STOP, DELETE, RECORD, LimitAllocation=refusal)
    assert done == [RECORD]
    assert outcome.refused


@pytest.mark.parametrize(
    "error", [UnreachableError("no answer"), RefusedError("no manager is elected"), RefusedError("503", 503)]
)
async def test_a_database_that_can_do_nothing_now_ends_the_round(error: EngineError) -> None:
    done, outcome = await perform(DRAIN, DELETE, Drain=error)
    assert done == []
    assert outcome.failure is error
    assert [wait.reason for wait in outcome.waits("c")] == ["StepFailed"]


@pytest.mark.parametrize(
    ("error", "stalled"),
    [
        (refusal(422, "Invalid", "is invalid", causes=[FieldCause(field="spec.x", message="no")]), True),
        (refusal(422, "Invalid", "testing path /spec/x failed"), False),
        (refusal(403, "Forbidden", "exceeded quota"), True),
        (refusal(400, "BadRequest", "unknown field"), True),
        (refusal(409, "Conflict", "has changed"), False),
        (refusal(500, "InternalError", "the webhook did not answer"), False),
        (refusal(429, "TooManyRequests", "later"), False),
        (UnreachableError("no answer"), False),
    ],
)
async def test_a_write_that_the_api_server_refuses_needs_a_person(error: Exception, stalled: bool) -> None:
    _, outcome = await perform(DELETE, DeletePod=error)
    (wait,) = outcome.waits("c")
    assert (wait.reason, wait.stalled) == ("StepFailed", stalled)


GROW = a.GrowVolume(why="its pool asks for 2Ti", member="c-hot-0", claim=Ref("c-hot-0", "u", "1"), size=2**41)
GROW_NEXT = a.GrowVolume(why="its pool asks for 2Ti", member="c-hot-1", claim=Ref("c-hot-1", "u", "1"), size=2**41)
CREATE = a.Create(why="c-hot-9 failed", member="c-hot-2", pool="hot", ordinal=2, version="2.19.5")


async def test_a_step_that_a_quota_refuses_for_long_keeps_no_step_of_another_kind_from_being_done() -> None:
    """The disaster this prevents: the quota for volumes is used up, so no member replaces one whose machine is lost."""
    quota = refusal(403, "Forbidden", "exceeded quota: storage, requested: requests.storage=1Ti")
    done, outcome = await perform_with(Hands({GROW: quota}, closed=True), GROW, GROW_NEXT, CREATE, RECORD)
    assert done == [CREATE, RECORD], "the next volume would be refused, too"
    assert outcome.failure is quota
    (wait,) = outcome.waits("c")
    assert (wait.reason, wait.stalled) == ("StepFailed", True)


async def test_a_step_that_fails_in_another_way_ends_the_round_also_if_it_may_be_refused_for_long() -> None:
    done, outcome = await perform(GROW, CREATE, GrowVolume=refusal(500, "InternalError", "no"))
    assert (done, outcome.failure is None) == ([], False)


async def test_what_needs_a_refused_step_of_the_same_member_is_not_done() -> None:
    version = a.MarkState(why="new", member="c-hot-2", claim=Ref("c-hot-2", "u", "1"), version="3.0.0", again=True)
    done, _ = await perform(CREATE, version, Create=refusal(403, "Forbidden", "exceeded quota"))
    assert done == []


async def test_an_agent_that_refuses_a_start_keeps_no_other_member_stopped() -> None:
    """The disaster this prevents: all members restart together, and the full disk of the first keeps all stopped."""
    other = a.StartProcess(why="it is there", member="c-hot-1", address="10.0.0.1", checksum="x")
    refusal = AgentRefusedError("its agent at 10.0.0.2 refuses: 503, the configuration could not be kept")
    done, outcome = await perform_with(Hands({START: refusal}, closed=True), START, other, RECORD)
    assert done == [other, RECORD]
    assert outcome.failure is None
    (wait,) = outcome.waits("c")
    assert (wait.reason, wait.stalled) == ("StepRefused", False)
    assert wait.message == f"the agent of c-hot-2 refuses a step (it is there): {refusal}"


async def test_an_agent_that_does_not_answer_ends_the_round() -> None:
    """The next round hears that it is silent, and plans without it."""
    error = AgentError("its agent at 10.0.0.2 did not answer in time")
    done, outcome = await perform(START, RECORD, StartProcess=error)
    assert done == []
    assert outcome.failure is error


async def test_pods_that_are_not_allowed_keep_no_other_member_from_being_started() -> None:
    """And a member whose template was not written keeps the pod that it has."""
    done, outcome = await perform(STAGE, DELETE, START, RECORD, Stage=PodNotAllowed("spec.hostPID: must be false"))
    assert done == [START, RECORD]
    assert outcome.failure is None
    (wait,) = outcome.waits("c")
    assert (wait.reason, wait.stalled) == ("PodNotAllowed", True)
    assert wait.message == "a step is not taken (it starts again): spec.hostPID: must be false"


async def test_while_budgets_are_not_closed_only_what_ends_something_is_done_and_the_status_says_why() -> None:
    ends = a.RestoreAllocation(why="c-hot-0 is back")
    done, outcome = await perform(ends, LIMIT, DELETE, closed=False)
    assert done == [ends]
    assert [wait.reason for wait in outcome.waits("c")] == ["BudgetNotKept"]


async def test_steps_that_stop_no_member_do_not_wait_for_budgets() -> None:
    done, outcome = await perform(STAGE, RECORD, closed=False)
    assert done == [STAGE, RECORD]
    assert not outcome.tightened


async def test_after_a_failed_write_of_a_budget_no_later_write_of_the_same_round_lets_a_member_stop() -> None:
    """The second write may succeed, and an eviction may have been admitted before it."""
    ends, refused = a.RestoreAllocation(why="c-hot-0 is back"), refusal(504, "Timeout", "later")
    done, outcome = await perform(ends, LIMIT, DELETE, closed=True, failure=refused)
    assert done == [ends]
    assert outcome.failure is refused
    assert [wait.reason for wait in outcome.waits("c")] == ["StepFailed"]


FLUSH = a.Flush(why="it shortens the recovery")


@pytest.mark.parametrize(
    "step",
    [
        DELETE,
        STOP,
        STOPPING,
        a.Release(why="it leaves", member="c-hot-1", workload=POD),
        a.DeleteVolume(why="it has left", member="c-hot-1", claim=POD),
    ],
)
async def test_after_a_long_preparation_no_member_is_stopped_by_a_plan_that_is_older(step: a.Action) -> None:
    hands = Hands({}, closed=True, taking={FLUSH: LONG + 1.0})
    done, outcome = await perform_with(hands, LIMIT, FLUSH, step, RECORD)
    assert done == [LIMIT, FLUSH]
    assert outcome.late
    assert outcome.failure is None


async def test_the_flush_that_took_long_counts_for_the_next_plan_and_for_no_later_one() -> None:
    """Or a database whose flushes take long would never be restarted."""
    hands = Hands({}, closed=True, taking={FLUSH: LONG + 1.0})
    await perform_with(hands, LIMIT, FLUSH, DELETE)
    hands.done.clear()
    done, outcome = await perform_with(hands, FLUSH, DELETE)
    assert done == [DELETE]
    assert not outcome.late
    hands.done.clear()
    done, outcome = await perform_with(hands, FLUSH, DELETE)
    assert done == [FLUSH]
    assert outcome.late


async def test_a_flush_of_minutes_ago_does_not_count() -> None:
    hands = Hands({}, closed=True, taking={FLUSH: LONG + 1.0})
    await perform_with(hands, FLUSH, DELETE)
    hands.now += KEPT + 1.0
    hands.done.clear()
    done, _ = await perform_with(hands, FLUSH, DELETE)
    assert done == [FLUSH]


async def test_what_stops_no_member_is_done_after_a_long_preparation_too() -> None:
    done, outcome = await perform_with(Hands({}, closed=True, taking={FLUSH: LONG + 1.0}), FLUSH, STAGE, RECORD)
    assert done == [FLUSH, STAGE, RECORD]
    assert not outcome.late


async def test_after_long_endings_no_member_is_stopped_either() -> None:
    ends = a.RestoreAllocation(why="c-hot-0 is back")
    done, outcome = await perform_with(Hands({}, closed=True, taking={ends: LONG + 1.0}), ends, DELETE)
    assert done == [ends]
    assert outcome.late


@pytest.mark.parametrize("error", [RefusedError("1 copies could not be flushed"), UnreachableError("no answer")])
async def test_a_flush_that_fails_costs_a_plan_that_is_made_again_and_nothing_else(error: EngineError) -> None:
    """A node has crashed since the database was read: the member with the other copies was stopped."""
    hands = Hands({FLUSH: error}, closed=True)
    done, outcome = await perform_with(hands, LIMIT, FLUSH, DELETE)
    assert done == [LIMIT]
    assert outcome.late
    assert (outcome.failure, outcome.refused) == (None, ())
    done, outcome = await perform_with(hands, FLUSH, DELETE)
    assert done == [LIMIT, DELETE]
    assert not outcome.late


async def test_a_preparation_that_takes_as_long_as_allowed_is_followed_by_its_stop() -> None:
    done, _ = await perform_with(Hands({}, closed=True, taking={FLUSH: LONG}), FLUSH, DELETE)
    assert done == [FLUSH, DELETE]


async def test_what_is_known_of_a_cluster_that_is_gone_is_forgotten() -> None:
    hands = Hands({}, closed=True, taking={FLUSH: LONG + 1.0})
    await perform_with(hands, FLUSH, DELETE)
    hands.preparation.forget(Key("ns", "c"))
    assert not hands.preparation.done_before(Key("ns", "c"), FLUSH)
