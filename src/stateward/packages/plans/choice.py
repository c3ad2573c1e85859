"""Which plan a change runs.

* a new installation: `deploy`
* another version of the package: `upgrade`, else `update`, else `deploy`
* other values: the plan that the parameter names as its trigger, else `update`, else `deploy`
* the end of an installation: `cleanup`, if there is one

Values that ask for different plans in one change are refused: which of them should come first, nobody has said. While
a plan runs they are no conflict: what belongs to the running plan joins it, the rest comes after it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stateward.packages.format.parameters import Values, changed, same
from stateward.packages.format.records import Package

DEPLOY = "deploy"
UPDATE = "update"
UPGRADE = "upgrade"
CLEANUP = "cleanup"


@dataclass(frozen=True, slots=True)
class State:
    """What an installation was made from, or should be made from: the digest of the package, and the values given."""

    digest: str
    values: Values

    def __eq__(self, other: object) -> bool:
        """Compare what is written, not what Python takes for equal."""
        return isinstance(other, State) and self.digest == other.digest and same(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A plan to run, the state it leads to, and why in a sentence."""

    plan: str
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """No plan can be chosen; the message says what to change."""

    message: str


def choose(package: Package, before: State | None, wanted: State) -> Chosen | Refused | None:
    """Return the plan that leads from one state to another; None when there is nothing to do.

    `package` is the wanted one. Raises BadValue for values that it does not accept.
    """
    if before is None:
        return Chosen(DEPLOY, wanted, "the package is installed for the first time")
    if before.digest != wanted.digest:
        return Chosen(_first(package, (UPGRADE, UPDATE)), wanted, "another version of the package is desired")
    names = changed(package, before.values, wanted.values)
    plans = by_plan(package, names)
    if len(plans) > 1:
        asked = "; ".join(f"{plan} for {', '.join(parameters)}" for plan, parameters in plans.items())
        return Refused(f"these parameters need different plans; change them one after the other: {asked}")
    for plan, parameters in plans.items():
        return Chosen(plan, wanted, f"other values of {', '.join(parameters)}")
    return None


def join(package: Package, installed: State | None, running: Chosen, wanted: State) -> Chosen | None:
    """Return what a running plan should go on as, when the wanted state is no longer that which it leads to.

    None: it goes on as it is, and the rest comes after it. The same plan with other values begins again: each of its
    steps is idempotent, and what is broken may always be put right by what comes next.
    """
    if running.state == wanted:
        return None
    chosen = choose(package, installed, wanted)
    if running.state.digest != wanted.digest and installed is not None and installed.digest == wanted.digest:
        # Another version was begun, and may be half there: the plan for some value would leave the rest of it.
        return Chosen(_first(package, (UPGRADE, UPDATE)), wanted, "the previous version is desired again")
    if isinstance(chosen, Chosen) and (chosen.plan == running.plan or chosen.state.digest != running.state.digest):
        return None if chosen.state == running.state else chosen
    if chosen is None or installed is None:
        return Chosen(running.plan, wanted, "the change was reverted")
    mine = _of_plan(package, installed, running.plan, wanted)
    return None if mine == running.state else Chosen(running.plan, mine, running.why)


def _of_plan(package: Package, installed: State, plan: str, wanted: State) -> State:
    """Return the installed values with those wanted ones that the plan is there for."""
    names = by_plan(package, changed(package, installed.values, wanted.values)).get(plan, ())
    values: dict[str, Any] = {name: value for name, value in installed.values.items() if name not in names}
    values |= {name: wanted.values[name] for name in names if name in wanted.values}
    return State(installed.digest, values)


def by_plan(package: Package, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the plans that parameters ask for, each with the parameters."""
    usual = _first(package, (UPDATE,))
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        plan = package.parameters[name].trigger or usual
        found[plan] = (*found.get(plan, ()), name)
    return found


def _first(package: Package, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in package.operator.plans), DEPLOY)
