"""Go templates with Sprig's functions, as packages have always used them, within limits.

The engine is gotpl; only this module, `functions`, `paid_parts` and `inspection` know it. A template has no access to
files, the environment or the network: such functions do not exist. Functions with a different result each time (`now`,
`randAlphaNum`, `genCA`) do not exist either: renderings are compared repeatedly with the live objects, so the same
values must always give the same objects. The work of a template is counted in `fuel` and not by a clock, so that the
same template always either works or fails.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import gotpl

from stateward.packages.format.work_budget import LARGEST_OUTPUT, MOST_PARTS, TANK, Exhausted, Fuel, elements_of
from stateward.packages.rendering.functions import REFUSED, functions
from stateward.packages.rendering.paid_parts import make_pay
from stateward.packages.rendering.step_budget import Allowance

TOO_DEEP = "does too much: a value is nested too deeply, or contains itself"


class TemplateProblem(ValueError):  # noqa: N818 - what is wrong with somebody's template
    """A template cannot be rendered; `line` counts from 1, 0 if it is unknown.

    The rendering may contain passwords. So `public`, for a status or an event, contains nothing of it, and no value;
    without it, the message is used.
    """

    def __init__(self, name: str, line: int, message: str, public: str = "") -> None:
        where = (f"templates/{name}:{line}: " if line else f"templates/{name}: ") if name else ""
        super().__init__(f"{where}{message}")
        self.name = name
        self.line = line
        self.message = message
        self.public = f"{where}{public or message}"


@dataclass(frozen=True, slots=True)
class Variables:
    """What templates know about the installation and the step that they are rendered for."""

    name: str
    namespace: str
    operator_name: str
    operator_version: str
    app_version: str
    parameters: Mapping[str, Any]
    plan: str = ""
    phase: str = ""
    step: str = ""
    pipes: Mapping[str, str] | None = None

    def seen(self) -> dict[str, Any]:
        """Return them under the names that templates use."""
        return {
            "Name": self.name,
            "Namespace": self.namespace,
            "OperatorName": self.operator_name,
            "OperatorVersion": self.operator_version,
            "AppVersion": self.app_version,
            "PlanName": self.plan,
            "PhaseName": self.phase,
            "StepName": self.step,
            # Some of Sprig's functions (`set`, `merge`) modify their arguments: a copy belongs to the template.
            "Params": deepcopy(dict(self.parameters)),
            "Pipes": dict(self.pipes or {}),
        }


def render(name: str, source: str, variables: Variables, allowance: Allowance | None = None) -> str:
    """Return the rendering of a template; raises TemplateProblem, and Spent if it exceeds the rest of an allowance."""
    if allowance is not None:
        allowance.take("templates", 1)
        allowance.take("characters", len(source))
    elements = elements_of(variables.parameters)
    if allowance is not None and allowance.quick:
        allowance.take("work", elements * _COPIED)
    template, fuel = _compiled(name, source, quick=allowance is not None and allowance.quick)
    work, parts = (TANK, MOST_PARTS) if allowance is None else (allowance.work, allowance.parts)
    fuel.fill(min(TANK, work), min(MOST_PARTS, parts), elements)
    rendered = _rendered(name, source, template, variables)
    if allowance is not None:
        allowance.take("work", fuel.used)
        allowance.take("parts", fuel.parts)
        allowance.take("characters", len(rendered))
    return rendered


def _rendered(name: str, source: str, template: gotpl.Template, variables: Variables) -> str:
    try:
        return template.render(variables.seen())
    except gotpl.TemplateExecutionError as error:
        if isinstance(error.__cause__, RecursionError):
            raise TemplateProblem(name, error.line or 0, TOO_DEEP) from error
        message = _sentence(error.message)
        raise TemplateProblem(name, error.line or 0, message, _own_words(error, message, source)) from error
    except Exhausted as error:
        raise TemplateProblem(name, 0, str(error)) from error
    except RecursionError as error:
        raise TemplateProblem(name, 0, TOO_DEEP) from error
    except MemoryError as error:
        raise TemplateProblem(name, 0, "does too much: it takes more memory than allowed") from error


def parse(name: str, source: str) -> None:
    """Check the syntax of a template and the names of its functions; raises TemplateProblem."""
    _compiled(name, source)


@lru_cache(maxsize=256)
def _compiled(name: str, source: str, *, quick: bool = False) -> tuple[gotpl.Template, Fuel]:
    """Return a template with the fuel that its functions pay from; a rendering never yields, so they are not shared."""
    fuel = Fuel()
    available = functions(fuel)
    policy = gotpl.SandboxPolicy.strict(allow_functions=available, default_budget=_QUICK if quick else _BUDGET)
    try:
        template = gotpl.Template(source, name=name, functions=available, missing_key="error", sandbox=policy)
    except gotpl.TemplateSyntaxError as error:
        raise TemplateProblem(name, error.line, _syntax(error)) from error
    except (gotpl.TemplateError, ValueError) as error:
        raise TemplateProblem(name, 0, str(error)) from error
    except RecursionError as error:
        raise TemplateProblem(name, 0, "has too many parts within each other") from error
    make_pay(template, fuel)
    return template, fuel


_BUDGET = gotpl.ExecutionBudget(
    max_output_chars=LARGEST_OUTPUT, max_iterations=100_000, max_template_depth=100, max_function_calls=100_000
)

_COPIED = 16
"""Cost of copying an element of the values for a template, relative to other work."""
_QUICK = replace(_BUDGET, max_iterations=5_000, max_function_calls=5_000)


def _syntax(error: gotpl.TemplateSyntaxError) -> str:
    text = str(error).removeprefix(f"template:{error.line}:{error.column}: ")
    for name, reason in REFUSED.items():
        if f"'{name}'" in text:
            return f"{name} cannot be used: {reason}"
    return text


def _own_words(error: gotpl.TemplateExecutionError, message: str, source: str) -> str:
    """Return what may be read by everybody: words of the template itself, as in `fail "too few"`, and limits."""
    what, failed, why = message.partition(" failed: ")
    if any(name not in source for name in re.findall("'([^']*)'", what)):
        return "cannot be rendered with the given values"
    if not failed or isinstance(error.__cause__, Exhausted) or (why and why in source):
        return message
    return f"{what} failed with the given values"


def _sentence(message: str) -> str:
    missing = "missing key or attribute "
    if message.startswith(missing):
        return f"there is no {message.removeprefix(missing)}"
    return message
