"""Shrinks a failing run: less time, fewer faults, operators and members, while it violates the same property.

The method is greedy: it takes the first proposal of `smaller` that still fails, until none fails or the attempts are
used up (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002). A
smaller run draws other random numbers, so each proposal is tried with several seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy

from msgspec import Struct, structs

from stateward.api.values.base import Json
from stateward.simulation.campaign.declared import COUNTED, COUNTED_USERS
from stateward.simulation.campaign.run import Outcome, Plan
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.timing.wrong_clock import COUNTED as WRONG_CLOCKS

ATTEMPTS = 150
"""Proposals that are tried for one failing run."""
SEEDS = 4
"""Seeds with which each proposal is tried; the first is the failing run's own."""
STEP = 1_000_003
"""Distance between these seeds: far outside of a usual campaign."""
SHORTEST = 60.0
"""The shortest time with faults, in seconds of virtual time."""

Runs = Callable[[Sequence[tuple[int, Plan]]], Sequence[Outcome]]
"""Runs seeds with their plans, and returns the outcomes in that order."""


class SmallRun(Struct, frozen=True, forbid_unknown_fields=True):
    """A small run that violates a property; `stateward simulate --replay` repeats it."""

    seed: int
    plan: Plan
    violation: Violation
    attempts: int
    """The number of tried proposals."""


def shrink(outcome: Outcome, plan: Plan, runs: Runs, attempts: int = ATTEMPTS) -> SmallRun:
    """Return the smallest run found with the first violation of the outcome; at worst that run itself."""
    kind, best, used = kind_of(outcome.violations[0]), (outcome, plan), 0
    while used < attempts:
        for proposal in smaller(*best):
            used += 1
            found = still_failing(kind, proposal, best[0].seed, runs)
            if found is not None:
                best = found, proposal
                break
            if used >= attempts:
                break
        else:
            break
    violation = next(v for v in best[0].violations if kind_of(v) == kind)
    return SmallRun(best[0].seed, best[1], violation, used)


def kind_of(violation: Violation) -> tuple[str, str]:
    """Return the key of a kind of violation: the property, and for the goal the part that was not reached."""
    return violation.property, violation.message.partition(":")[0] if violation.property == "g" else ""


def still_failing(kind: tuple[str, str], plan: Plan, seed: int, runs: Runs) -> Outcome | None:
    """Return the outcome of the first seed that violates the same property with a plan."""
    seeds = [seed, *(seed % STEP + STEP * n for n in range(1, SEEDS))]
    outcomes = runs([(seed, plan) for seed in seeds])
    return next((o for o in outcomes if any(kind_of(v) == kind for v in o.violations)), None)


def smaller(outcome: Outcome, plan: Plan) -> Iterator[Plan]:
    """Yield smaller plans, the smallest first. `outcome` is that of the plan."""
    for factor in (0.5, 0.75):
        if plan.chaos * factor >= SHORTEST:
            yield structs.replace(plan, chaos=plan.chaos * factor // 60 * 60)
    if plan.profile:
        yield structs.replace(plan, profile="")
    plan = chosen_by_seed(outcome, plan)
    for name in ("declared", "secured", "wrong_clocks"):
        if getattr(plan, name):
            yield structs.replace(plan, **{name: False})
    for only in fewer(plan.only, frozenset(named(outcome, "fault") + named(outcome, "lasting fault"))):
        yield structs.replace(plan, only=only)
    if plan.processes != 1:
        yield structs.replace(plan, processes=1)
    if plan.agents is not False:
        yield structs.replace(plan, agents=False)
    for spec in smaller_specs(plan.spec or outcome.spec):
        yield structs.replace(plan, spec=spec)


def chosen_by_seed(outcome: Outcome, plan: Plan) -> Plan:
    """Return the plan with what its seed has chosen, so that it stays when faults are removed.

    A seed chooses a profile, declared resources and wrong clocks only if it chooses everything.
    """
    if plan.profile is None:
        plan = structs.replace(plan, profile=next(iter(named(outcome, "profile")), ""))
    if plan.declared is None:
        plan = structs.replace(plan, declared=COUNTED in outcome.counts)
    if plan.wrong_clocks is None:
        plan = structs.replace(plan, wrong_clocks=WRONG_CLOCKS in outcome.counts)
    return plan if plan.secured is not None else structs.replace(plan, secured=COUNTED_USERS in outcome.counts)


def fewer(only: frozenset[str] | None, occurred: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield smaller sets of faults: those that occurred, then halves, then all but one."""
    if only is None or only > occurred:
        yield occurred
    names = sorted(occurred if only is None else only & occurred)
    if len(names) > 2:
        yield frozenset(names[::2])
        yield frozenset(names[1::2])
    for name in names:
        yield frozenset(names) - {name}


def smaller_specs(spec: Json) -> Iterator[Json]:
    """Yield specs without one of the pools, and with one member less."""
    pools = spec.get("pools", [])
    for index in range(len(pools)):
        if len(pools) > 1:
            yield {**deepcopy(spec), "pools": [deepcopy(p) for n, p in enumerate(pools) if n != index]}
        if pools[index].get("replicas", 1) > 1:
            fresh = deepcopy(spec)
            fresh["pools"][index]["replicas"] -= 1
            yield fresh


def named(outcome: Outcome, kind: str) -> list[str]:
    """Return the names of a kind that the outcome counts."""
    return [name.removeprefix(f"{kind}: ") for name in outcome.counts if name.startswith(f"{kind}: ")]
