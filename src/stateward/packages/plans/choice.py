"""Chooses the plan for a change.

* a new installation: `deploy`
* another version of the package: `upgrade`, else `update`, else `deploy`
* other values: the plan that the parameter names as its trigger, else `update`, else `deploy`
* the deletion of an installation: `cleanup`, if there is one

Values that need different plans in one change are refused, because their order is unknown. While a plan runs they do
not conflict: changes of the running plan join it, the others follow.

Another version together with the value of a parameter that triggers another plan: both plans run, in this order. The
first one uses the current value of the parameter. The disaster this prevents: a smaller size has a plan in which
members leave before their pods go, and an upgrade with the new size removes the pods without it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stateward.packages.format.parameters import Values, changed, check_value, same, seen
from stateward.packages.format.records import Package, Parameter

DEPLOY = "deploy"
UPDATE = "update"
UPGRADE = "upgrade"
CLEANUP = "cleanup"


@dataclass(frozen=True, slots=True)
class State:
    """The current or desired state of an installation: the digest of the package, and the given values."""

    digest: str
    values: Values

    def __eq__(self, other: object) -> bool:
        """Compare what is written, not what Python takes for equal."""
        return isinstance(other, State) and self.digest == other.digest and same(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A plan to run, the state it leads to, and why in a sentence; `later` is what follows it."""

    plan: str
    state: State
    why: str
    later: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """No plan can be chosen; the message says what to change."""

    message: str


def choose(package: Package, before: State | None, wanted: State) -> Chosen | Refused | None:
    """Return the plan that leads from one state to another; None if nothing changes.

    `package` is the desired one. Raises BadValue for values that it does not accept.
    """
    if before is None:
        return Chosen(DEPLOY, wanted, "the package is installed for the first time")
    if before.digest != wanted.digest:
        chosen, plans = _upgrade(package, before, wanted, "another version of the package is desired")
        return chosen if len(plans) < 2 else _too_many(plans)
    names = changed(package, before.values, wanted.values)
    plans = by_plan(package, names)
    if len(plans) > 1:
        return _too_many(plans)
    for plan, parameters in plans.items():
        return Chosen(plan, wanted, f"other values of {', '.join(parameters)}")
    return None


def _too_many(plans: Mapping[str, tuple[str, ...]]) -> Refused:
    asked = "; ".join(f"{plan} for {', '.join(parameters)}" for plan, parameters in plans.items())
    return Refused(f"these parameters need different plans; change them one after the other: {asked}")


def _upgrade(package: Package, before: State, wanted: State, why: str) -> tuple[Chosen, Mapping[str, tuple[str, ...]]]:
    """Return the plan for another version, and the plans that follow it with their parameters."""
    plan = _first(package, (UPGRADE, UPDATE))
    plans: dict[str, tuple[str, ...]] = {}
    for name, parameter in package.parameters.items():
        if parameter.trigger not in ("", plan) and _waits(parameter, before.values.get(name), wanted.values.get(name)):
            plans[parameter.trigger] = (*plans.get(parameter.trigger, ()), name)
    values = dict(wanted.values)
    for name in (name for names in plans.values() for name in names):
        values.pop(name, None)
        values |= {name: before.values[name]} if before.values.get(name) is not None else {}
    later = ", ".join(f"plan {follows} for {', '.join(names)}" for follows, names in plans.items())
    told = f"{why}; then {later}" if later else why
    return Chosen(plan, State(wanted.digest, values), told, later), plans


def _waits(parameter: Parameter, before: Any, wanted: Any) -> bool:
    """Return whether a new value can wait: the version accepts the current one, and lets it change later."""
    if parameter.immutable or (before is None and parameter.owed):
        return False
    if before is not None and any(check_value(parameter, before)):
        return False
    return not same(seen(parameter, before), seen(parameter, wanted))


def join(package: Package, installed: State | None, running: Chosen, wanted: State) -> Chosen | Refused | None:
    """Return how a running plan continues when the desired state has changed.

    None: it continues unchanged, and the rest follows. Refused: it continues unchanged, and the rest cannot follow. The
    same plan with other values starts again: each of its steps is idempotent, and a later change may always repair what
    is broken.
    """
    if running.state.digest == wanted.digest and not changed(package, running.state.values, wanted.values):
        return None  # Also if a value is only written in another way: what is asked for must not begin again for it.
    chosen = choose(package, installed, wanted)
    if running.state.digest != wanted.digest and installed is not None and installed.digest == wanted.digest:
        # The other version may be half installed: a plan for some value would leave the rest of it.
        return _upgrade(package, installed, wanted, "the previous version is desired again")[0]
    if isinstance(chosen, Chosen) and (chosen.plan == running.plan or chosen.state.digest != running.state.digest):
        return None if chosen.state == running.state else chosen
    if chosen is None or installed is None:
        return Chosen(running.plan, wanted, "the change was reverted")
    if isinstance(chosen, Refused) and installed.digest != wanted.digest:
        return chosen
    mine = _of_plan(package, installed, running.plan, wanted)
    return None if mine == running.state else Chosen(running.plan, mine, running.why)


def _of_plan(package: Package, installed: State, plan: str, wanted: State) -> State:
    """Return the installed values with the desired ones that belong to the plan."""
    names = by_plan(package, changed(package, installed.values, wanted.values)).get(plan, ())
    values: dict[str, Any] = {name: value for name, value in installed.values.items() if name not in names}
    values |= {name: wanted.values[name] for name in names if name in wanted.values}
    return State(installed.digest, values)


def by_plan(package: Package, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the plans that parameters trigger, each with the parameters."""
    usual = _first(package, (UPDATE,))
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        plan = package.parameters[name].trigger or usual
        found[plan] = (*found.get(plan, ()), name)
    return found


def _first(package: Package, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in package.operator.plans), DEPLOY)
