"""Carries out one step of a plan as far as that goes now, and says what came of it."""

from collections.abc import Awaitable, Callable, Iterable

from stateward.api.base import GROUP, Json
from stateward.kube.errors import ApiError, BadRequest, Invalid
from stateward.operator.installations.hands import FatalError, Hands, HeldError
from stateward.operator.installations.tasks import Tasks
from stateward.operator.installations.views import GroupKind
from stateward.packages.health import Health, health_of
from stateward.packages.objects import Rendered
from stateward.packages.parameters import BadValue
from stateward.packages.progress import Result, Stage
from stateward.packages.records import Task, TaskKind
from stateward.packages.rendering import Place, Use
from stateward.packages.steps import Work, work_of
from stateward.packages.templates import TemplateProblem


class Carrier:
    """Carries out steps of one installation.

    `mark` is told which kinds of objects are made before they are, `note` each object as it was made; `restarted`
    collects what pods restart for.
    """

    def __init__(
        self,
        hands: Hands,
        tasks: Tasks,
        mark: Callable[[Iterable[GroupKind]], Awaitable[None]],
        note: Callable[[Json], None],
    ) -> None:
        self._hands = hands
        self._note = note
        self._tasks = tasks
        self._mark = mark
        self.restarted: list[str] = []

    async def carry_out(self, use: Use, place: Place) -> Result:
        """Do what a step wants; an error that may pass is tried again, another one ends the plan."""
        try:
            return await self._work(use, place, work_of(use, place))
        except (FatalError, TemplateProblem, BadValue, Invalid, BadRequest) as error:
            return Result(Stage.FAILED, str(error))
        except (HeldError, ApiError) as error:
            return Result(Stage.RETRYING, str(error))

    async def _work(self, use: Use, place: Place, work: Work) -> Result:
        kinds = {(rendered.identity.group, rendered.identity.kind) for rendered in work.apply}
        await self._mark(kinds.union(*(_kinds(task) for task in work.others)))
        waits = [text for rendered in work.delete if (text := await self._hands.delete(rendered.body))]
        for rendered in work.apply:
            waits += await self._apply(use, place, rendered)
        for task in work.others:
            if task.kind is not TaskKind.DUMMY:
                waits += filter(None, [await self._tasks.carry_out(use, place, task)])
            elif (failed := _dummy(task)) is not None:
                return failed
        return Result(Stage.WAITING, "; ".join(waits)) if waits else Result(Stage.DONE)

    async def _apply(self, use: Use, place: Place, rendered: Rendered) -> list[str]:
        made = await self._hands.make(use, place, rendered.body)
        self._note(made.body)
        if made.because:
            self.restarted.append(f"{made.body['kind']} {made.body['metadata']['name']}: {', '.join(made.because)}")
        return [made.waits] if made.waits else _unhealthy(made.body)


def _unhealthy(body: Json) -> list[str]:
    finding = health_of(body)
    if finding.health is Health.FAILED:
        raise FatalError(finding.message)
    return [finding.message] if finding.health is Health.WAITING else []


def _kinds(task: Task) -> frozenset[GroupKind]:
    """Return the kinds of objects that a task makes which is more than objects."""
    if task.kind is TaskKind.OPERATOR:
        return frozenset({(GROUP, "Installation")})
    files: frozenset[GroupKind] = frozenset(("", str(file.kind)) for file in task.spec.pipe)
    return files | {("", "Pod")} if files else files


def _dummy(task: Task) -> Result | None:
    """Do what a task for trying plans does: succeed, wait, or fail."""
    if task.spec.want_err:
        return Result(Stage.FAILED if task.spec.fatal else Stage.RETRYING, f"{task.name} was told to fail")
    return None if task.spec.done else Result(Stage.WAITING, f"{task.name} was told not to be done")
