"""The objects of a settled installation, and the step and plan of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stateward.api.kinds.installation import RemovedObject
from stateward.api.values.base import GROUP, Json
from stateward.packages.format.trees import at, text
from stateward.packages.plans.steps import (
    ANNOTATION_PHASE,
    ANNOTATION_PLAN,
    ANNOTATION_STEP,
    Work,
    Works,
    placeless,
    work_of,
)
from stateward.packages.rendering.objects import Identity, Rendered
from stateward.packages.rendering.rendering import Place, Use, places

ONCE = frozenset({("batch", "Job"), ("", "Pod")})
"""Kinds of objects that are work: a missing one is done, and is not created again automatically."""
KEPT = frozenset(
    {
        ("", "PersistentVolumeClaim"),
        ("", "PersistentVolume"),
        ("", "Namespace"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)
"""Kinds whose deletion destroys data."""


def removal_turn(identity: Identity) -> int:
    """Return when an object is removed, the lowest first; all of one turn are gone before the next ones go.

    Custom resources are first: the controller that has to end what they stand for may be in the same package, and
    without it they would never go. Installations of other packages, which this one needs to work, are last.
    """
    if (identity.group, identity.kind) == (GROUP, "Installation"):
        return 2
    custom = "." in identity.group and not identity.group.endswith(".k8s.io")
    return 0 if custom else 1


@dataclass(frozen=True, slots=True)
class Standing:
    """An object, and the place of its template."""

    place: Place
    rendered: Rendered


def standing(use: Use, plan: str, works: Works = work_of) -> Mapping[Identity, Standing]:
    """Return what is there when a plan is done, but for what is work, by identities without a namespace.

    Raises TemplateProblem, BadValue, KeyError.
    """
    found: dict[Identity, Standing] = {}
    for place in places(use.package, plan):
        work = works(use, place)
        for rendered in work.apply:
            found[placeless(rendered.identity)] = Standing(place, rendered)
        for rendered in work.delete:
            found.pop(placeless(rendered.identity), None)
    return {identity: what for identity, what in found.items() if (identity.group, identity.kind) not in ONCE}


def removed_after(
    before: Iterable[RemovedObject], works: Iterable[Work], *, done: bool, deployed: Iterable[Identity] | None
) -> list[RemovedObject]:
    """Return the objects that drift correction must not recreate, when a plan begins or is done; `works` are its steps.

    All that the plan deletes is recorded when it begins, because it may fail or be interrupted after any step. The
    disaster this prevents: a plan stops the database to restore its data and fails, and the database is started on half
    of them. When the plan is done, what it has applied last is there again.

    `deployed` are the objects of the plan `deploy`, the only ones that are recreated; None if they are not known.
    """
    gone = {Identity(found.group, found.kind, "", found.name) for found in before}
    for work in works:
        if done:
            gone -= {placeless(rendered.identity) for rendered in work.apply}
        gone |= {placeless(rendered.identity) for rendered in work.delete}
    if deployed is not None:
        gone &= frozenset(deployed)
    return [RemovedObject(group=identity.group, kind=identity.kind, name=identity.name) for identity in sorted(gone)]


def place_in(use: Use, annotations: Json) -> Place | None:
    """Return the step recorded on an object; None if the package no longer has it."""
    plan, phase, step = (text(annotations.get(name)) for name in (ANNOTATION_PLAN, ANNOTATION_PHASE, ANNOTATION_STEP))
    if plan not in use.package.operator.plans:
        return None
    found = (place for place in places(use.package, plan) if (place.phase, place.step.name) == (phase, step))
    return next(found, None)


def place_of(use: Use, plan: str, name: tuple[str, str]) -> Place:
    """Return a step of a plan by its phase and name; raises KeyError."""
    for place in places(use.package, plan):
        if (place.phase, place.step.name) == name:
            return place
    raise KeyError(name)


def owner_of(body: Json) -> str:
    """Return the set of objects that a live object belongs to; empty for none."""
    return text(at(body, "metadata", "labels", "applyset.kubernetes.io/part-of"))
