"""Performs one step of a plan as far as possible, and reports the result."""

from collections.abc import Iterable
from dataclasses import replace
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
from stateward.packages.format.trees import at
from stateward.packages.plans.health import Health, health_of
from stateward.packages.plans.progress import Result, Stage, StepProgress
from stateward.packages.plans.steady_state import ONCE
from stateward.packages.plans.steps import Work, refuse_conflicts_of
from stateward.packages.rendering.objects import Rendered
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

    async def carry_out(self, use: Use, place: Place, progress: StepProgress) -> Result:
        """Perform a step; a temporary error is retried, any other ends the plan."""
        finished = set(progress.finished)
        again = progress.stage is Stage.WAITING  # Then all of it was created in this run, and is waited for.
        try:
            work = await self._rendered_steps.of(use, place)
            if not again:
                at_the_same_time = await self._rendered_steps.each(use, at_once(use.package, place))
                refuse_conflicts_of(use, place, {**at_the_same_time, place: work})
            result = await self._work(use, place, work, finished, again=again)
        except (FatalError, TemplateProblem, BadValue, Invalid, BadRequest) as error:
            return Result(Stage.FAILED, error_text(error))
        except (HeldError, ApiError) as error:
            result = Result(Stage.RETRYING, error_text(error), reason_of(error))
        return replace(result, finished=frozenset(finished))

    async def _work(self, use: Use, place: Place, work: Work, finished: set[str], *, again: bool) -> Result:
        await self._mark(kinds_of(work), sure=False)
        waits = [text for rendered in work.delete if (text := await self._applier.delete(rendered.body))]
        near: dict[tuple[str, str], Json] = {}
        left = Stage.WAITING
        for rendered in work.apply:
            identity = rendered.identity
            if str(identity) in finished:
                continue  # It may be gone by now, and would be done a second time.
            await self._mark([(identity.group, identity.kind)])  # A step may define a kind first.
            if again:
                await self._refuse_unknown(rendered)
            made = await self._applier.make(use, place, rendered.body, again=again, near=near)
            if made.live and identity.kind in SOURCES:
                near[identity.kind, identity.name] = made.body
            waiting = self._waits(made)
            waits += waiting
            if made.waits and not again:
                left = Stage.RUNNING  # The old one goes: when it is gone, this run has not yet created its own.
            if (identity.group, identity.kind) in ONCE and not waiting:
                finished.add(str(identity))
        for task in work.others:
            if task.kind is not TaskKind.DUMMY:
                await self._mark(_kinds(task))
                waits += filter(None, [await self._tasks.carry_out(use, place, task)])
            elif (failed := _dummy(task)) is not None:
                return failed
        return Result(left, "; ".join(waits)) if waits else Result(Stage.DONE)

    async def _refuse_unknown(self, rendered: Rendered) -> None:
        """Refuse to repeat a Job that was created and that Kubernetes has removed since, with an unknown outcome.

        Raises FatalError, ApiError. One without a time to live was removed by a client, and is created again.
        """
        if at(rendered.body, "spec", "ttlSecondsAfterFinished") is None:
            return
        kind, key = await self._applier.find(rendered.body)
        if await self._applier.read(kind, key) is None:
            raise FatalError(
                f"{rendered.identity} is gone, and it is not known whether it was done: set its"
                " ttlSecondsAfterFinished to 600 or more, and trigger the plan again"
            )

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
