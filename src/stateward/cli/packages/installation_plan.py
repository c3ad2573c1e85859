"""The preview of a change of an installation, from the data on the server. It only reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec

from stateward.api.kinds.installation import Installation, InstallationStatus, StateStatus
from stateward.api.kinds.package import Package as PackageObject
from stateward.api.schema.structure import check_structure
from stateward.api.values.base import GROUP, Json
from stateward.cli.packages.installation_look import (
    Offered,
    conflicting_objects,
    existing_objects,
    made_from,
    package_called,
)
from stateward.cli.packages.installation_rights import missing_rights
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import NotFound
from stateward.operator.installations.objects.views import CLUSTER_PACKAGES, INSTALLATIONS, PACKAGES
from stateward.packages.format.parameters import BadValue, in_force
from stateward.packages.format.records import Package
from stateward.packages.format.trees import at, text
from stateward.packages.plans.choice import Chosen, Refused, State, choose
from stateward.packages.plans.decision import ANNOTATION_TRIGGER, Begin, GoOn, Rest, Stop, decide
from stateward.packages.plans.run_record import fixed_values, state_of
from stateward.packages.plans.steps import work_of
from stateward.packages.plans.work import BY_CHANGES
from stateward.packages.rendering.rendering import Use, places
from stateward.packages.rendering.templates import TemplateProblem
from stateward.packages.review.foresight import Foresight, foresee


@dataclass(frozen=True, slots=True)
class Following:
    """The plan that runs after the first one, and its changes."""

    chosen: Chosen
    foresight: Foresight


@dataclass(frozen=True, slots=True)
class InstallationPreview:
    """The effect of a change: the plan that it runs and the changes of that plan, or why none may run (`refused`).

    `held` is what would make the plan wait, `notes` are remarks, `asked` is whether a user requested the plan, and
    `following` is what runs after it.
    """

    wanted: Installation
    namespace: str
    package: Package
    before: StateStatus | None
    chosen: Chosen | None = None
    refused: str = ""
    foresight: Foresight | None = None
    held: tuple[str, ...] = ()
    asked: bool = False
    notes: tuple[str, ...] = ()
    following: Following | None = None

    @property
    def goes_through(self) -> bool:
        """Whether nothing is refused and nothing blocks the plan."""
        return not self.refused and not self.held


def installations_in(found: Sequence[tuple[str, Any]], name: str | None) -> list[Installation]:
    """Return the installations among documents, with that name if there is one; raise Failure for an invalid one."""
    mine = [(place, item) for place, item in _ours(found, {INSTALLATIONS.kind}) if name in (None, _name(item))]
    return [_typed(place, item, Installation) for place, item in mine]


def packages_in(found: Sequence[tuple[str, Any]]) -> Offered:
    """Return the packages among documents by the names of their objects; raise Failure for an invalid one."""
    kinds = {PACKAGES.kind, CLUSTER_PACKAGES.kind}
    return {_name(item): _typed(place, item, PackageObject) for place, item in _ours(found, kinds)}


def _ours(found: Sequence[tuple[str, Any]], kinds: set[str]) -> list[tuple[str, Json]]:
    # Other operators have a kind `Installation`, too.
    documents = [(place, cast("Json", item)) for place, item in found if isinstance(item, dict)]
    mine = [each for each in documents if text(each[1].get("apiVersion")).partition("/")[0] in ("", GROUP)]
    return [(place, item) for place, item in mine if text(item.get("kind")) in kinds]


def _name(document: Json) -> str:
    return str(at(document, "metadata", "name") or "")


def _typed(place: str, document: Json, record: type[Any]) -> Any:
    if problems := check_structure(document, record):
        raise Failure("\n".join(f"{place}: {problem}" for problem in problems))
    return msgspec.convert(document, record)


async def installation_preview(session: Session, wanted: Installation, offered: Offered) -> InstallationPreview:
    """Return the preview of an installation; raise Failure or ApiError."""
    try:
        live = await session.api.get(INSTALLATIONS, session.key(wanted.metadata.name))
    except NotFound:
        live = None
    package = await package_called(session, wanted.spec.package, offered)
    status = live.status if live is not None else InstallationStatus()
    found = decided(InstallationPreview(wanted, session.namespace, package, status.installed), status)
    if found.chosen is None:
        return found
    before, notes = await made_from(session, live, offered)
    now = await existing_objects(session, live)
    try:
        after = Use(package, wanted.metadata.name, session.namespace, found.chosen.state.values)
        foresight = foresee(before, after, found.chosen.plan, now, wanted.spec.deletion_policy)
        following = _following(found, after, foresight, status)
    except (TemplateProblem, BadValue) as error:
        return replace(found, refused=str(error))
    new = (*foresight.new, *(following.foresight.new if following else ()))
    held = await conflicting_objects(session, wanted, new)
    if account := wanted.spec.service_account_name:
        lacks, unknown = await missing_rights(session, account, _applied(after, found.chosen.plan))
        held, notes = [*held, *lacks], [*notes, *unknown]
    if found.asked and found.chosen.plan not in BY_CHANGES:
        notes += [f"{identity} exists and runs once more" for identity in foresight.work]
    found = replace(found, foresight=foresight, following=following)
    return replace(found, held=tuple(held), notes=(*found.notes, *notes))


def _following(
    found: InstallationPreview, after: Use, foresight: Foresight, status: InstallationStatus
) -> Following | None:
    """Return the plan that the rest of the change runs; raises TemplateProblem, BadValue."""
    if found.chosen is None:
        return None
    chosen = choose(found.package, found.chosen.state, _state(found, status))
    if not isinstance(chosen, Chosen):
        return None
    use = Use(found.package, after.name, after.namespace, chosen.state.values)
    return Following(chosen, foresee(after, use, chosen.plan, foresight.then, found.wanted.spec.deletion_policy))


def _applied(use: Use, plan: str) -> list[Json]:
    """Return all objects that a plan applies."""
    return [rendered.body for place in places(use.package, plan) for rendered in work_of(use, place).apply]


def decided(found: InstallationPreview, status: InstallationStatus) -> InstallationPreview:
    """Return a preview with the operator's decision: a plan, nothing, or manual intervention."""
    wish = found.wanted.metadata.annotations.get(ANNOTATION_TRIGGER, "")
    state = _state(found, status)
    match decide(found.package, status, state, wish, found.wanted.metadata.name):
        case Begin(chosen=chosen, granted=granted):
            return replace(found, chosen=chosen, asked=bool(granted))
        case Stop() as stop:
            return replace(found, refused=stop.whole)
        case Rest(problem=problem) | GoOn(problem=problem) if problem is not None:
            return replace(found, refused=problem.whole)
        case Rest():
            return found
        case GoOn():
            return _after(found, status, state)


def _state(found: InstallationPreview, status: InstallationStatus) -> State:
    values = in_force(found.package, found.wanted.spec.parameters, fixed_values(status.installed))
    return State(found.package.digest, values)


def _after(found: InstallationPreview, status: InstallationStatus, state: State) -> InstallationPreview:
    """Return a preview of what follows the running plan."""
    running = status.run.plan if status.run is not None else ""
    noted = replace(found, notes=(f"plan {running} runs now and continues; steps of another plan follow it",))
    chosen = choose(found.package, state_of(status.installed), state)
    if isinstance(chosen, Refused):
        return replace(noted, refused=chosen.message)
    return replace(noted, chosen=chosen)
