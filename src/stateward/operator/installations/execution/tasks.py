"""The tasks that do more than apply objects: files created by a pod, and other packages.

A pipe's pod is created, its files are read once its init containers are done, the resulting objects are applied, and
the pod is removed. An operator that stops in between leaves a pod with which the next one continues. The files may
differ each time (a password, a certificate), so the pod runs once for a step of a run, even if the step is retried for
other reasons.
"""

from collections.abc import Callable

from stateward.api.values.base import GROUP
from stateward.kube.client.exec import ExecError, Execute, no_exec
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.jobs import RenderNested, RenderObjects
from stateward.operator.installations.execution.library import Library
from stateward.operator.installations.objects.applier import Applier
from stateward.operator.installations.objects.faults import FatalError, HeldError
from stateward.packages.format.records import Task, TaskKind
from stateward.packages.format.trees import at
from stateward.packages.plans.health import Health, health_of
from stateward.packages.plans.steady_state import owner_of
from stateward.packages.rendering.nested import pick
from stateward.packages.rendering.pipes import LARGEST_FILE, WAITER, pipe_object, pipe_pod
from stateward.packages.rendering.rendering import Place, Use

ANNOTATION_MADE = f"{GROUP}/pipe-run"
"""On objects of a pipe: the run and the step that created them."""

ExecAs = Callable[[str], Execute]
"""Returns what runs commands with the rights of a user."""


class Tasks:
    """Performs such tasks for one installation; `run` identifies a run of a plan.

    `image` is the operator's own, which reads the files that a pod has created.
    """

    def __init__(
        self, applier: Applier, library: Library, execute: Execute, background: Background, run: str, image: str = ""
    ) -> None:
        self._applier = applier
        self._library = library
        self._execute = execute
        self._background = background
        self._run = run
        self._image = image

    async def carry_out(self, use: Use, place: Place, task: Task) -> str:
        """Return what a task waits for, or nothing when it is done; raises FatalError, HeldError, ApiError."""
        if task.kind is TaskKind.OPERATOR:
            return await self._nested(use, place, task)
        return await self._pipe(use, place, task)

    async def _nested(self, use: Use, place: Place, task: Task) -> str:
        offer = pick(await self._library.offers(use.namespace), task)
        if offer is None:
            version = task.spec.operator_version or task.spec.app_version
            raise HeldError(f"{task.name}: there is no Package of {task.spec.package} {version}".rstrip())
        above = [use.package.name, *await self._applier.installed_by()]
        if offer.name in above:
            said = " in ".join((offer.name, *above))
            raise FatalError(f"{task.name}: {offer.name} would install itself without end: {said}")
        wanted = await self._background(RenderNested(use, place, task, offer))
        made = await self._applier.make(use, place, self._applier.nested_installation(wanted))
        return made.waits or health_of(made.body).message

    async def _pipe(self, use: Use, place: Place, task: Task) -> str:
        variables = use.variables(place.plan, place.phase, place.step.name)
        source = use.package.templates[task.spec.pod]
        rendered = await self._background(RenderObjects(task.spec.pod, source, variables))
        if len(rendered) != 1 or rendered[0].identity.kind != "Pod":
            raise FatalError(f"templates/{task.spec.pod}: must render to one Pod: it creates the files of {task.name}")
        pod, mark = (
            pipe_pod(use.name, task, rendered[0].body, self._image),
            f"{self._run} {place.phase}/{place.step.name}",
        )
        if await self._piped(use, task, mark):
            await self._applier.delete(pod)  # Who died after the last file has left it.
            return ""
        made = await self._applier.make(use, place, pod)
        finding = health_of(made.body)
        if finding.health is Health.FAILED:
            raise FatalError(finding.message)
        if made.waits or finding.health is Health.WAITING:
            return made.waits or finding.message
        if at(made.body, "status", "phase") == "Succeeded":
            # It has waited for a day, and nothing can be read from it any more.
            await self._applier.delete(made.body)
            return f"pod {made.body['metadata']['name']} has ended before its files were read, and is recreated"
        for file in task.spec.pipe:
            content = await self._read(use, made.body["metadata"]["name"], file.file or file.env_file)
            try:
                body = pipe_object(use.name, file, content)
            except ValueError as error:
                raise FatalError(f"{task.name}: {file.env_file}: {error}") from error
            noted = body["metadata"] | {"annotations": {ANNOTATION_MADE: mark}}
            await self._applier.make(use, place, body | {"metadata": noted})
        await self._applier.delete(made.body)
        return ""

    async def _piped(self, use: Use, task: Task, mark: str) -> bool:
        """Return whether this step of this run has created all files already."""
        for file in task.spec.pipe:
            kind, key = await self._applier.find(pipe_object(use.name, file, b""))
            live = await self._applier.read(kind, key)
            if live is None or owner_of(live) != self._applier.set_id:
                return False
            if at(live, "metadata", "annotations", ANNOTATION_MADE) != mark:
                return False
        return True

    async def _read(self, use: Use, pod: str, path: str) -> bytes:
        try:
            return await self._execute(ObjectKey(use.namespace, pod), WAITER, ("cat", path), LARGEST_FILE)
        except ExecError as error:
            raise HeldError(f"{path} cannot be read from pod {pod}: {error}") from error


def no_exec_as(user: str) -> Execute:
    """Return what refuses to run commands, for any user."""
    del user
    return no_exec
