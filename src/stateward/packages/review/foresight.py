"""The effect of a plan on an installation before it runs: the changed objects, and the restarting pods with reasons.

The current objects are derived from their origin: each object records its step, and that step, rendered with the
current values, is what it was created from. The plan's steps are then laid over it. So the server's additions
(defaults, a status) are no difference, and no object has to be read completely.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stateward.api.kinds.cluster import Retention
from stateward.api.values.base import Json
from stateward.packages.format.records import TaskKind
from stateward.packages.format.trees import obj
from stateward.packages.plans.steady_state import KEPT, ONCE, place_in
from stateward.packages.plans.steps import origin, pod_labels, superfluous, work_of
from stateward.packages.rendering.objects import Identity, identity_of
from stateward.packages.rendering.rendering import Place, Use, places
from stateward.packages.rendering.step_objects import at_home
from stateward.packages.review.difference import Difference, difference


@dataclass(frozen=True, slots=True)
class Made:
    """An object of an installation: its identity, and its annotations."""

    identity: Identity
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Now:
    """The current state: the objects of the installation, and workloads of others with restart control."""

    made: tuple[Made, ...] = ()
    bystanders: tuple[Json, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Foresight:
    """The effect of a plan; `new` would be created, `unclear` cannot be compared.

    `others` are the tasks that do more than apply objects, `work` the existing jobs and pods of the plan. `then` is the
    state when the plan is done.
    """

    difference: Difference
    new: tuple[Json, ...] = ()
    unclear: tuple[Identity, ...] = ()
    others: tuple[str, ...] = ()
    work: tuple[Identity, ...] = ()
    then: Now = Now()


def foresee(before: Use | None, after: Use, plan: str, now: Now, retention: Retention = Retention.RETAIN) -> Foresight:
    """Return the effect of a plan on an installation; `before` is its current state, None for a new one.

    Raises TemplateProblem, BadValue, and KeyError if there is no such plan.
    """
    home = after.namespace
    known, unclear = _known(before, now.made, home)
    was = {**_placed(now.bystanders, home), **known}
    will, others = dict(was), list[str]()
    origins = {at_home(one.identity, home): one for one in now.made}
    new, work_there = list[Json](), list[Identity]()
    for place in places(after.package, plan):
        work = work_of(after, place)
        others += (f"{task.name} ({_kind(task.kind)})" for task in work.others if task.kind is not TaskKind.DUMMY)
        for rendered in work.delete:
            will.pop(at_home(rendered.identity, home), None)
        for rendered in work.apply:
            body = pod_labels(after, _at_home(rendered.body, home))
            identity = identity_of(body)
            if identity not in was and identity not in will:
                new.append(body)
            if identity in was and (identity.group, identity.kind) in ONCE:
                work_there.append(identity)
            will[identity] = body
            origins[identity] = Made(identity, origin(place))
    kept = KEPT if retention is Retention.RETAIN else frozenset[tuple[str, str]]()
    every = [place for name in after.package.operator.plans for place in places(after.package, name)]
    mine = [made.identity for made in now.made]
    for identity in superfluous(mine, after, every):
        if (identity.group, identity.kind) not in kept:
            will.pop(at_home(identity, home), None)
    changes = difference(was.values(), will.values())
    then = Now(tuple(made for identity, made in origins.items() if identity in will), now.bystanders)
    return Foresight(changes, tuple(new), unclear, tuple(dict.fromkeys(others)), tuple(dict.fromkeys(work_there)), then)


def _kind(kind: TaskKind) -> str:
    return "installs another package" if kind is TaskKind.OPERATOR else "runs a pod and keeps the files it makes"


def _known(before: Use | None, made: Iterable[Made], home: str) -> tuple[dict[Identity, Json], tuple[Identity, ...]]:
    """Return the objects as they were created, and those for which that is unknown."""
    rendered: dict[Place, Mapping[Identity, Json]] = {}
    known, unclear = dict[Identity, Json](), list[Identity]()
    for one in made:
        identity = at_home(one.identity, home)
        place = place_in(before, dict(one.annotations)) if before is not None else None
        if before is not None and place is not None and place not in rendered:
            rendered[place] = _rendered(before, place)
        body = rendered[place].get(identity) if place is not None else None
        if body is None:
            unclear.append(identity)
        # An object of unknown content exists all the same: under this name, and nothing more.
        known[identity] = body or _bare(identity)
    return known, tuple(unclear)


def _rendered(use: Use, place: Place) -> Mapping[Identity, Json]:
    bodies = [pod_labels(use, _at_home(rendered.body, use.namespace)) for rendered in work_of(use, place).apply]
    return {identity_of(body): body for body in bodies}


def _bare(identity: Identity) -> Json:
    version = f"{identity.group}/" if identity.group else ""
    where = {"namespace": identity.namespace} if identity.namespace else {}
    return {"apiVersion": version, "kind": identity.kind, "metadata": {"name": identity.name, **where}}


def _placed(bodies: Iterable[Json], home: str) -> dict[Identity, Json]:
    made = [_at_home(body, home) for body in bodies]
    return {identity_of(body): body for body in made}


def _at_home(body: Json, home: str) -> Json:
    meta = obj(body.get("metadata"))
    if meta.get("namespace") != home:
        return body
    return {**body, "metadata": {name: value for name, value in meta.items() if name != "namespace"}}
