"""The objects of one step as a set: each object once, because a second one under its name would be lost in silence.

Steps that run at the same time are one set in this regard: it would depend on chance which of the two objects stays.
Steps that run one after the other may render an object again; the later one then counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stateward.packages.format.parameters import same
from stateward.packages.format.records import Package, Strategy, TaskKind
from stateward.packages.rendering.objects import Identity, Rendered
from stateward.packages.rendering.rendering import Place, Use, applied, places, render_task
from stateward.packages.rendering.step_budget import Allowance
from stateward.packages.rendering.templates import TemplateProblem

MORE_THAN_OBJECTS = frozenset({TaskKind.PIPE, TaskKind.OPERATOR, TaskKind.DUMMY})
"""Kinds of tasks that do more than apply or delete the objects of their templates."""


class Conflict(TemplateProblem):
    """Two objects under one name."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object of a step, and whether the step applies it rather than deleting it."""

    rendered: Rendered
    applies: bool


def step_objects(use: Use, place: Place, allowance: Allowance | None = None) -> Mapping[Identity, Wanted]:
    """Return the objects of a step, in its order; raises TemplateProblem, BadValue, Spent."""
    variables = use.variables(place.plan, place.phase, place.step.name)
    found: dict[Identity, Wanted] = {}
    for name in place.step.tasks:
        task = use.package.task(name)
        if task.kind in MORE_THAN_OBJECTS:
            continue
        applies = applied(task, variables)
        for rendered in render_task(use, place, task, allowance):
            identity, wanted = at_home(rendered.identity, use.namespace), Wanted(rendered, applies)
            _refuse(found.get(identity), wanted, f"in step {place.phase}/{place.step.name}", "step")
            found[identity] = wanted
    return found


def render_plan(use: Use, plan: str) -> list[Rendered]:
    """Return the objects that exist when a plan is done, each once, in the order of their first appearance.

    Raises TemplateProblem, BadValue, and KeyError if there is no such plan.
    """
    found: dict[Identity, Rendered] = {}
    for place in places(use.package, plan):
        for wanted in step_objects(use, place).values():
            if wanted.applies:
                found[wanted.rendered.identity] = wanted.rendered
            else:
                found.pop(wanted.rendered.identity, None)
    return list(found.values())


def at_home(identity: Identity, home: str) -> Identity:
    """Return an identity in which the installation's own namespace goes without saying."""
    return identity._replace(namespace="") if identity.namespace == home else identity


def at_once(package: Package, place: Place) -> Iterator[Place]:
    """Yield the other steps that may run at the same time as this one."""
    plan = package.operator.plans[place.plan]
    parallel = {phase.name for phase in plan.phases if phase.strategy is Strategy.PARALLEL}
    for other in places(package, place.plan):
        if other.phase == place.phase:
            if other.step.name != place.step.name and other.phase in parallel:
                yield other
        elif plan.strategy is Strategy.PARALLEL:
            yield other


def refuse_conflicts(place: Place, mine: Iterable[Wanted], other: Place, theirs: Iterable[Wanted], home: str) -> None:
    """Refuse a different object of the same name in a step that runs at the same time; raises TemplateProblem."""
    known = {at_home(wanted.rendered.identity, home): wanted for wanted in theirs}
    steps = f"in the steps {other.phase}/{other.step.name} and {place.phase}/{place.step.name}, which run at once"
    for wanted in mine:
        _refuse(known.get(at_home(wanted.rendered.identity, home)), wanted, steps, "phase")


def _refuse(first: Wanted | None, second: Wanted, where: str, apart: str) -> None:
    if first is None:
        return
    one, other = first.rendered, second.rendered
    if first.applies is second.applies and same(one.body, other.body):
        return
    name = other.template
    also = "" if one.template == name else f", also by templates/{one.template}"
    if first.applies is not second.applies:
        done = "is applied and deleted"
        advice = f"put the two tasks into serial {'steps' if apart == 'step' else 'phases'}"
    else:
        done, advice = "is rendered twice", "give one of the two another name"
    said = f"{other.identity} {done} {where}{also}; one of the two would be lost: {advice}"
    raise Conflict(name, 0, said)
