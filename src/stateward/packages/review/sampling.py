"""The rendering of a package without chosen values: the last check of `verify`.

A required parameter without a default gets a value that any template accepts, so that the rest can be rendered.
"""

import re
from collections.abc import Iterator
from typing import Any

from stateward.api.values.problem import Problem, Severity
from stateward.packages.format.parameters import BadValue
from stateward.packages.format.records import Package, Parameter, ParameterType, TaskKind
from stateward.packages.format.trees import obj
from stateward.packages.format.yamltext import NotYaml
from stateward.packages.plans.steps import Work, refuse_conflicts_of, work_of
from stateward.packages.rendering.namespace import namespace_of
from stateward.packages.rendering.objects import Rendered
from stateward.packages.rendering.rendering import Place, Use, places
from stateward.packages.rendering.step_objects import Conflict
from stateward.packages.rendering.templates import TemplateProblem

NAME = "sample"
_SAMPLES: dict[ParameterType, Any] = {
    ParameterType.INTEGER: 1,
    ParameterType.NUMBER: 1,
    ParameterType.BOOLEAN: True,
    ParameterType.ARRAY: [],
    ParameterType.MAP: {},
}


def sample(package: Package) -> Use:
    """Return a use of a package in which only what has to be chosen is chosen."""
    toggles, missing = _toggles(package), [p for p in package.parameters.values() if p.owed]
    return Use(package, NAME, "default", {p.name: "true" if p.name in toggles else _sample(p) for p in missing})


def _toggles(package: Package) -> set[str]:
    return {task.spec.parameter for task in package.operator.tasks if task.kind is TaskKind.TOGGLE}


def filled(package: Package) -> Use:
    """Return a use in which everything without a default is chosen, each text and number another one."""
    missing = [p for p in package.parameters.values() if p.default is None]
    numbers = (ParameterType.INTEGER, ParameterType.NUMBER)
    chosen = {p.name: i if p.type in numbers and not p.enum else _sample(p) for i, p in enumerate(missing, 2)}
    on = {p.name: "true" for p in missing if p.name in _toggles(package)}
    return Use(package, NAME, "default", {**chosen, **on, **sample(package).values})


def _sample(parameter: Parameter) -> Any:
    if parameter.enum:
        return parameter.enum[0]
    if parameter.type is ParameterType.STRING:
        # Each text is another one: two objects that are named by two parameters are two.
        return f"{NAME}-{re.sub('[^a-z0-9]+', '-', parameter.name.lower()).strip('-')}"
    return _SAMPLES[parameter.type]


def check_rendered(package: Package) -> Iterator[Problem]:
    """Yield what is wrong with what a package renders by itself."""
    use = sample(package)
    try:
        namespace_of(use)
    except TemplateProblem as error:
        yield _problem(package, error)
    for plan in package.operator.plans:
        works: dict[Place, Work] = {}
        for place in places(package, plan):
            try:
                works[place] = work_of(use, place)
                refuse_conflicts_of(use, place, works)
            except TemplateProblem as error:
                yield _problem(package, error, always=_is_always(error, package, place))
            except BadValue as error:
                yield Problem(f"plan {plan}: {place.phase}/{place.step.name}", None, str(error))
            else:
                for rendered in (*works[place].apply, *works[place].delete):
                    yield from _object(rendered)


def _is_always(error: TemplateProblem, package: Package, place: Place) -> bool:
    """Return whether a template has two equal keys also if what may be left out is given: no value separates them."""
    key = _twice(error)
    if not key:
        return False
    try:
        work_of(filled(package), place)
    except TemplateProblem as again:
        return (again.name, _twice(again)) == (error.name, key)
    except BadValue:
        pass
    return False


def _twice(error: TemplateProblem) -> str:
    """Return the key that an object of the result has twice; empty for another problem."""
    return error.__cause__.twice if isinstance(error.__cause__, NotYaml) else ""


def _problem(package: Package, error: TemplateProblem, *, always: bool = False) -> Problem:
    at = f"templates/{error.name}:{error.line}" if error.line else f"templates/{error.name}"
    # A template may require an optional value: that is not an error of the package.
    chosen = any(p.default is None for p in package.parameters.values()) and not isinstance(error, Conflict)
    severity = Severity.WARNING if chosen and not always else Severity.ERROR
    return Problem(at, None, f"{error.message} (with default values)", severity)


def _object(rendered: Rendered) -> Iterator[Problem]:
    at = f"templates/{rendered.template}"
    if rendered.converted:
        yield Problem(at, rendered.identity.kind, rendered.converted, Severity.WARNING)
    meta = obj(rendered.body.get("metadata"))
    if not meta.get("name"):
        # A name generated by the server would be another object in each attempt.
        made_up = " (generateName is not enough)" if meta.get("generateName") else ""
        yield Problem(at, rendered.identity.kind, f"has no metadata.name{made_up}")
