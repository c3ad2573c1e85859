"""Performs one step of a plan as far as possible, and reports the result."""

from collections.abc import Iterable
from typing import Protocol

from stateward.api.values.base import GROUP, Json
from stateward.kube.objects.errors import ApiError, BadRequest, Invalid
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.operator.installations.execution.service_account import error_text, reason_of
from stateward.operator.installations.execution.tasks import Tasks
from stateward.operator.installations.objects.applier import AppliedObject, Applier
from stateward.operator.installations.objects.faults import FatalError, HeldError
from stateward.operator.installations.objects.views import GroupKind
from stateward.operator.restarts.views import SOURCES
from stateward.packages.format.parameters import BadValue
from stateward.packages.format.records import Task, TaskKind
from stateward.packages.plans.health import Health, health_of
from stateward.packages.plans.progress import Result, Stage
from stateward.packages.plans.steps import Work, refuse_conflicts_of
from stateward.packages.rendering.rendering import Place, Use
from stateward.packages.rendering.step_objects import at_once
from stateward.packages.rendering.templates import TemplateProblem


class Mark(Protocol):
    """Records kinds before objects of them are created; `sure`: raises ApiError if one could not be found again."""

    async def __call__(self, kinds: Iterable[GroupKind], *, sure: bool = True) -> None:
        """Write."""
        ...


class StepExecution:
    """Performs steps of one installation.

    `mark` records the kinds of objects before they are created; `restarted` collects the reasons for restarts of pods.
    """

    def __init__(
        self,
        applier: Applier,
        tasks: Tasks,
        mark: Mark,
        rendered_steps: RenderedSteps,
    ) -> None:
        self._applier = applier
        self._rendered_steps = rendered_steps
        self._tasks = tasks
        self._mark = mark
        self.restarted: list[str] = []

    async def carry_out(self, use: Use, place: Place, *, again: bool = False) -> Result:
        """Perform a step; a temporary error is retried, any other ends the plan.

        `again`: all of it was created in this run, and is waited for.
        """
        try:
            work = await self._rendered_steps.of(use, place)
            if not again:
                at_the_same_time = await self._rendered_steps.each(use, at_once(use.package, place))
                refuse_conflicts_of(use, place, {**at_the_same_time, place: work})
            return await self._work(use, place, work, again=again)
        except (FatalError, TemplateProblem, BadValue, Invalid, BadRequest) as error:
            return Result(Stage.FAILED, error_text(error))
        except (HeldError, ApiError) as error:
            return Result(Stage.RETRYING, error_text(error), reason_of(error))

    async def _work(self, use: Use, place: Place, work: Work, *, again: bool) -> Result:
        await self._mark(kinds_of(work), sure=False)
        waits = [text for rendered in work.delete if (text := await self._applier.delete(rendered.body))]
        near: dict[tuple[str, str], Json] = {}
        for rendered in work.apply:
            await self._mark([(rendered.identity.group, rendered.identity.kind)])  # A step may define a kind first.
            made = await self._applier.make(use, place, rendered.body, again=again, near=near)
            if made.live and rendered.identity.kind in SOURCES:
                near[rendered.identity.kind, rendered.identity.name] = made.body
            waits += self._waits(made)
        for task in work.others:
            if task.kind is not TaskKind.DUMMY:
                await self._mark(_kinds(task))
                waits += filter(None, [await self._tasks.carry_out(use, place, task)])
            elif (failed := _dummy(task)) is not None:
                return failed
        return Result(Stage.WAITING, "; ".join(waits)) if waits else Result(Stage.DONE)

    def _waits(self, made: AppliedObject) -> list[str]:
        if made.because:
            self.restarted.append(f"{made.body['kind']} {made.body['metadata']['name']}: {', '.join(made.because)}")
        if made.waits:
            return [made.waits]
        return _unhealthy(made.body) if made.live else []


def _unhealthy(body: Json) -> list[str]:
    finding = health_of(body)
    if finding.health is Health.FAILED:
        raise FatalError(finding.message)
    return [finding.message] if finding.health is Health.WAITING else []


def kinds_of(work: Work) -> frozenset[GroupKind]:
    """Return the kinds of objects that a step creates."""
    kinds = {(rendered.identity.group, rendered.identity.kind) for rendered in work.apply}
    return frozenset(kinds.union(*(_kinds(task) for task in work.others)))


def _kinds(task: Task) -> frozenset[GroupKind]:
    """Return the kinds of objects of a task that does more than apply objects."""
    if task.kind is TaskKind.OPERATOR:
        return frozenset({(GROUP, "Installation")})
    files: frozenset[GroupKind] = frozenset(("", str(file.kind)) for file in task.spec.pipe)
    return files | {("", "Pod")} if files else files


def _dummy(task: Task) -> Result | None:
    """Do what a task for trying plans does: succeed, wait, or fail."""
    if task.spec.want_err:
        return Result(Stage.FAILED if task.spec.fatal else Stage.RETRYING, f"{task.name} is configured to fail")
    return None if task.spec.done else Result(Stage.WAITING, f"{task.name} is configured never to finish")
