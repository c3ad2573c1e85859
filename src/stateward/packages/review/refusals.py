"""The refusals of a changed installation, or a new package, before it is stored.

A change is refused if it would stop the operator permanently, and only for problems that it adds: an installation with
two errors may be corrected one by one, and a bad value does not block the revert of another.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stateward.api.kinds.installation import Installation, InstallationStatus
from stateward.packages.format.parameters import check_values, in_force
from stateward.packages.format.records import Package
from stateward.packages.plans.choice import Refused, State, choose
from stateward.packages.plans.decision import ANNOTATION_TRIGGER, plan_unknown
from stateward.packages.plans.run_record import fixed_values, is_running, state_of

Reasons = dict[tuple[str, str], str]
"""What is refused: a sentence for each field and value."""


@dataclass(frozen=True, slots=True)
class Holder:
    """An existing package object, from its own description."""

    object: str
    name: str
    version: str
    digest: str


def refused_installation(package: Package, new: Installation, old: Installation | None) -> tuple[str, ...]:
    """Return why an installation may not become what it is to be; `package` is the one that it names."""
    status = old.status if old is not None else InstallationStatus()
    found = _reasons(package, new, status)
    known = _reasons(package, old, status) if old is not None and found else Reasons()
    wish, before = _wish(new), _wish(old) if old is not None else ""
    unknown = plan_unknown(package, wish) if wish != before else ""
    # With a wrong value it is not known whether the parameters needed different plans before.
    added = {
        key: text for key, text in found.items() if key not in known and (key[0] or not any(at for at, _ in known))
    }
    return (*added.values(), *((unknown,) if unknown else ()))


def _wish(installation: Installation) -> str:
    return installation.metadata.annotations.get(ANNOTATION_TRIGGER, "")


def _reasons(package: Package, wanted: Installation, status: InstallationStatus) -> Reasons:
    before = fixed_values(status.installed)
    values = in_force(package, wanted.spec.parameters, before)
    problems = check_values(package, values, before)
    if problems:
        return {(problem.path, str(problem.value)): f"spec.parameters.{problem}" for problem in problems}
    if status.installed is None or is_running(status.run):
        return {}  # What belongs to another plan than the one that runs comes after it: that is no conflict.
    chosen = choose(package, state_of(status.installed), State(package.digest, values))
    return {("", chosen.message): f"spec.parameters: {chosen.message}"} if isinstance(chosen, Refused) else {}


def refused_package(package: Package, called: str, others: Iterable[Holder]) -> str:
    """Return why a package may not come in beside others of its place; nothing when it may.

    Disaster prevented: two objects that both say they are shop 1.2.0, and it depends on the name of the object which
    of two contents an installation gets.
    """
    for other in others:
        same = (other.name, other.version) == (package.name, package.version) and other.object != called
        if same and other.digest and other.digest != package.digest:
            return (
                f"spec: {other.object} is {package.name} {package.version} already, with other content ({other.digest},"
                f" and this is {package.digest}): give changed content another operatorVersion"
            )
    return ""
