"""What a package renders when nobody chooses anything: the last thing that `verify` tries.

A required parameter without a default gets a value that any template can take, so that the rest can be rendered.
"""

from collections.abc import Iterator
from typing import Any

from stateward.api.values.problem import Problem, Severity
from stateward.packages.format.records import Package, ParameterType, TaskKind
from stateward.packages.format.trees import obj
from stateward.packages.rendering.objects import Rendered
from stateward.packages.rendering.rendering import Use, places, render_task
from stateward.packages.rendering.templates import TemplateProblem

NAME = "sample"
_SAMPLES: dict[ParameterType, Any] = {
    ParameterType.STRING: "sample",
    ParameterType.INTEGER: 1,
    ParameterType.NUMBER: 1,
    ParameterType.BOOLEAN: True,
    ParameterType.ARRAY: [],
    ParameterType.MAP: {},
}


def sample(package: Package) -> Use:
    """Return a use of a package in which only what has to be chosen is chosen."""
    missing = [p for p in package.parameters.values() if p.owed]
    values = {p.name: p.enum[0] if p.enum else _SAMPLES[p.type] for p in missing}
    return Use(package, NAME, "default", values)


def check_rendered(package: Package) -> Iterator[Problem]:
    """Yield what is wrong with what a package renders by itself."""
    use = sample(package)
    for plan in package.operator.plans:
        for place in places(package, plan):
            for name in place.step.tasks:
                task = package.task(name)
                if task.kind in (TaskKind.PIPE, TaskKind.OPERATOR, TaskKind.DUMMY):
                    continue
                try:
                    found = render_task(use, place, task)
                except TemplateProblem as error:
                    yield _problem(package, error)
                else:
                    for rendered in found:
                        yield from _object(rendered)


def _problem(package: Package, error: TemplateProblem) -> Problem:
    at = f"templates/{error.name}:{error.line}" if error.line else f"templates/{error.name}"
    # A template may insist on a value that nobody has to give: that is no fault of the package.
    chosen = any(p.default is None for p in package.parameters.values())
    return Problem(at, None, f"{error.message} (with default values)", Severity.WARNING if chosen else Severity.ERROR)


def _object(rendered: Rendered) -> Iterator[Problem]:
    at = f"templates/{rendered.template}"
    if rendered.converted:
        yield Problem(at, rendered.identity.kind, rendered.converted, Severity.WARNING)
    meta = obj(rendered.body.get("metadata"))
    if not meta.get("name"):
        # A name that the server makes up would be another object each time the step is tried.
        made_up = " (generateName is not enough)" if meta.get("generateName") else ""
        yield Problem(at, rendered.identity.kind, f"has no metadata.name{made_up}")
