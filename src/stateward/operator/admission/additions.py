"""What a change adds to the reasons to refuse a spec: it is refused for that, and not for what was stored before. Pure.

A reason is the same as before if it is about the same field and has the same words or the same value. Words alone are
not enough: a sentence may name what is accepted, which another correction in the same spec changes. A pool is known by
its name, because its place changes when another one is removed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from stateward.api.values.problem import Problem, printable

_POOL = re.compile(r"spec\.pools\[(\d+)\]")


def written_alike(old: object, new: object) -> bool:
    """Return whether two specs are written alike: `true` equals `1` for Python, and not for a database."""
    return msgspec.json.encode(old) == msgspec.json.encode(new)


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason to refuse a spec, the check that has found it, and by what it is known again."""

    text: str
    check: str
    known_by: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons to refuse a spec, and the checks that could be made: some need a spec that passes the others."""

    found: tuple[Reason, ...]
    made: frozenset[str]


def of_problem(problem: Problem, check: str, pools: Sequence[str] = ()) -> Reason:
    """Return the reason that a problem of a spec with these pools is."""
    place, text = _named(problem.path, pools), str(problem)
    known_by = {(place, problem.message)}
    if problem.value is not None:
        end = printable(f"{problem.message}{problem.detail}")
        known_by.add((place, text.removeprefix(printable(problem.path)).removesuffix(end)))
    return Reason(text, check, frozenset(known_by))


def of_plan(subject: str, reason: str, text: str, check: str, pools: Sequence[str] = ()) -> Reason:
    """Return the reason that a refusal of a plan is."""
    return Reason(text, check, frozenset({(_named(subject, pools), reason)}))


def added(new: Reasons, old: Reasons) -> tuple[str, ...]:
    """Return the reasons that a change adds.

    If a check could not be made of the old spec, what it finds now may have been there: the change has corrected
    something, and what is left is held back by a condition, as if the webhook had been away.
    """
    known = {key for reason in old.found for key in reason.known_by}
    return tuple(r.text for r in new.found if r.check in old.made and known.isdisjoint(r.known_by))


def texts(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return what is said of reasons."""
    return tuple(reason.text for reason in reasons)


def _named(path: str, pools: Sequence[str]) -> str:
    found = _POOL.match(path)
    if found is None or int(found[1]) >= len(pools):
        return path
    return f"spec.pools[{pools[int(found[1])]}]{path[found.end() :]}"
