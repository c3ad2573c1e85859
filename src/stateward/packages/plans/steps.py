"""The content of one step of a plan: objects to apply, objects to remove, and other tasks.

The tasks of a step run together, so their objects are one set (`rendering/step_objects`).
Objects that workloads may use come before the workloads, so that the data exists when a pod starts, and so that its
digest is computed from what was applied.
"""

import hashlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from stateward.api.values.base import GROUP, Json
from stateward.packages.format.records import Task
from stateward.packages.format.trees import obj
from stateward.packages.rendering.nested import nested_identities
from stateward.packages.rendering.objects import Identity, Rendered
from stateward.packages.rendering.pipes import pipe_identities
from stateward.packages.rendering.rendering import Place, Use
from stateward.packages.rendering.step_budget import Allowance
from stateward.packages.rendering.step_objects import (
    MORE_THAN_OBJECTS,
    Wanted,
    at_once,
    refuse_conflicts,
    step_objects,
)
from stateward.packages.restarts.dependencies import template_path

LABEL_INSTALLATION = f"{GROUP}/installation"
"""On an object of a package: the name of the installation that has created it."""
LABEL_PACKAGE = f"{GROUP}/package"
"""On an object of a package: the name of the package."""
LABEL_PART_OF = "applyset.kubernetes.io/part-of"
"""The convention of `kubectl apply --prune`: which set an object belongs to."""
ANNOTATION_VERSION = f"{GROUP}/package-version"
"""On an object of a package: the version of the package that has written it."""
ANNOTATION_PLAN = f"{GROUP}/plan"
"""On an object of a package: the plan that has written it last."""
ANNOTATION_PHASE = f"{GROUP}/phase"
"""On an object of a package: the phase of that plan."""
ANNOTATION_STEP = f"{GROUP}/step"
"""On an object of a package: the step of that phase."""


@dataclass(frozen=True, slots=True)
class Work:
    """The content of a step; `others` are the tasks that do more than apply objects, in their order."""

    apply: tuple[Rendered, ...]
    delete: tuple[Rendered, ...]
    others: tuple[Task, ...]


def work_of(use: Use, place: Place, allowance: Allowance | None = None) -> Work:
    """Return the content of a step; raises TemplateProblem, BadValue, and Spent if it exceeds the allowance."""
    wanted = step_objects(use, place, allowance).values()
    tasks = [use.package.task(name) for name in place.step.tasks]
    made = [found.rendered for found in wanted if found.applies]
    gone = [found.rendered for found in wanted if not found.applies]
    others = tuple(task for task in tasks if task.kind in MORE_THAN_OBJECTS)
    return Work(tuple(sorted(made, key=_rank)), tuple(sorted(gone, key=_rank, reverse=True)), others)


def refuse_conflicts_of(use: Use, place: Place, works: Mapping[Place, Work]) -> None:
    """Refuse an object that a step and another one that runs at the same time both make; raises TemplateProblem."""
    for other in at_once(use.package, place):
        if other in works:
            refuse_conflicts(place, _wanted(works[place]), other, _wanted(works[other]), use.namespace)


def _wanted(work: Work) -> list[Wanted]:
    return [Wanted(found, applies=True) for found in work.apply] + [
        Wanted(found, applies=False) for found in work.delete
    ]


Works = Callable[[Use, Place], Work]
"""The source of a step's content: `work_of`, or a cache of it."""

_FIRST = ("Namespace", "CustomResourceDefinition", "ServiceAccount", "Secret", "ConfigMap")


def _rank(rendered: Rendered) -> int:
    """Sort what others use before them, and otherwise leave the order of the package."""
    kind = rendered.identity.kind
    if kind in _FIRST:
        return _FIRST.index(kind)
    return len(_FIRST) + (template_path(rendered.body) is not None)


def stamped(use: Use, place: Place, body: Json) -> Json:
    """Return an object as it is applied: with labels for its owner, and annotations for its origin.

    Labels also go on the pods, because they never change during the installation's life. Plan, step and version change
    with every run: on the pods they would restart everything, so they are on the object alone.
    """
    labels = _labels(use)
    notes = {ANNOTATION_VERSION: use.package.version, **origin(place)}
    part = {LABEL_PART_OF: set_id(use.name, use.namespace)}
    made = _with(_as_data(body), ("metadata", "labels"), labels | part)
    return pod_labels(use, _with(made, ("metadata", "annotations"), notes))


def _as_data(body: Json) -> Json:
    """Return a Secret with its text as data: of text, server-side apply records no owner, and so never removes a key.

    What the server has to refuse is returned as it is.
    """
    texts, data = body.get("stringData"), body.get("data")
    if (body.get("apiVersion"), body.get("kind")) != ("v1", "Secret") or not isinstance(texts, dict):
        return body
    written = {key: b64encode(text.encode()).decode() for key, text in obj(texts).items() if isinstance(text, str)}
    if len(written) < len(obj(texts)) or not isinstance(data, dict | None):
        return body
    rest = {name: value for name, value in body.items() if name != "stringData"}
    return {**rest, "data": {**obj(data), **written}}


def origin(place: Place) -> dict[str, str]:
    """Return the annotations that record which step an object comes from."""
    return {ANNOTATION_PLAN: place.plan, ANNOTATION_PHASE: place.phase, ANNOTATION_STEP: place.step.name}


def pod_labels(use: Use, body: Json) -> Json:
    """Return an object with the labels that its pods get."""
    path = template_path(body)
    return _with(body, (*path, "metadata", "labels"), _labels(use)) if path else body


def _labels(use: Use) -> dict[str, str]:
    return {LABEL_INSTALLATION: use.name, LABEL_PACKAGE: use.package.name}


def set_id(name: str, namespace: str) -> str:
    """Return the name of the set of objects that an installation is the parent of, as the convention forms it."""
    digest = hashlib.sha256(f"{name}.{namespace}.Installation.{GROUP}".encode()).digest()
    return f"applyset-{urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def _with(body: Json, path: tuple[str, ...], values: Mapping[str, str]) -> Json:
    if not path:
        return {**body, **values}
    return {**body, path[0]: _with(obj(body.get(path[0])), path[1:], values)}


def superfluous(
    inventory: Iterable[Identity], use: Use, places: Iterable[Place], work: Works = work_of
) -> tuple[Identity, ...]:
    """Return the objects that were applied once and that none of these steps renders any longer.

    With the steps of all plans these may be pruned: an object of a rarely used plan (the volume of a backup) still
    belongs to the package. Raises TemplateProblem, BadValue: what cannot be rendered is not known to be gone.
    """
    works = [work(use, place) for place in places]
    rendered = {found.identity for wanted in works for found in (*wanted.apply, *wanted.delete)}
    piped, nested = pipe_identities(use.package, use.name, use.namespace), nested_identities(use)
    known = {placeless(identity) for identity in (*rendered, *piped, *nested)}
    return tuple(identity for identity in inventory if placeless(identity) not in known)


def placeless(identity: Identity) -> Identity:
    """Return an identity that distinguishes the objects of one installation, independent of their written namespace.

    They are all in its namespace or in none. Packages write a namespace also on cluster-scoped kinds (a ClusterRole),
    and the server omits it: it is the same object all the same.
    """
    return identity._replace(namespace="")
