"""What a package renders: for one step of a plan, or for all of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from stateward.packages.format.parameters import BadValue, Values, resolve
from stateward.packages.format.records import Package, Step, Task, TaskKind
from stateward.packages.rendering.objects import Rendered, objects_of
from stateward.packages.rendering.pipes import pipe_names
from stateward.packages.rendering.step_budget import Allowance
from stateward.packages.rendering.templates import Variables


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a package: its name, its namespace and the values that it is given."""

    package: Package
    name: str
    namespace: str
    values: Values = field(default_factory=dict[str, Any])

    def variables(self, plan: str, phase: str, step: str) -> Variables:
        """Return what templates of a step know; raises BadValue."""
        operator = self.package.operator
        return Variables(
            name=self.name,
            namespace=self.namespace,
            operator_name=operator.name,
            operator_version=operator.operator_version,
            app_version=operator.app_version,
            parameters=resolve(self.package, self.values),
            plan=plan,
            phase=phase,
            step=step,
            pipes=pipe_names(self.package, self.name),
        )


@dataclass(frozen=True, slots=True)
class Place:
    """A step of a plan."""

    plan: str
    phase: str
    step: Step


def places(package: Package, plan: str) -> Iterator[Place]:
    """Yield the steps of a plan in their order; raises KeyError if there is no such plan."""
    for phase in package.operator.plans[plan].phases:
        for step in phase.steps:
            yield Place(plan, phase.name, step)


TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})
"""What a toggle has always taken for on and off."""


def applied(task: Task, variables: Variables) -> bool:
    """Return whether a task applies its objects, rather than removing them.

    Raises BadValue for a toggle that is neither true nor false: an unclear value deletes no objects.
    """
    if task.kind is not TaskKind.TOGGLE:
        return task.kind is TaskKind.APPLY
    value = variables.parameters.get(task.spec.parameter)
    if value in TRUE or value in FALSE:
        return value in TRUE
    accepted = f"must be true or false: the task {task.name} is enabled by it"
    raise BadValue(f"{task.spec.parameter}: {value!r}: {accepted}", f"{task.spec.parameter}: {accepted}")


def render_task(use: Use, place: Place, task: Task, allowance: Allowance | None = None) -> list[Rendered]:
    """Return the objects that a task applies or deletes, in order; raises TemplateProblem, BadValue, Spent."""
    variables = use.variables(place.plan, place.phase, place.step.name)
    return [
        rendered
        for name in task.spec.resources
        for rendered in objects_of(name, use.package.templates[name], variables, allowance)
    ]
