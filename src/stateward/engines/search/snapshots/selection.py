"""Which indices of a snapshot are restored, and under which names. Pure.

A pattern for new names is a small part of regular expressions, in which both languages, this one and that of the
databases, agree, and which take no time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from stateward.api.kinds.snapshots.restore import RestoredIndex, SearchRestoreSpec
from stateward.api.values.problem import Problem
from stateward.engines.search.snapshots.records import Snapshot

MOST = 1000
"""Indices and data streams in one restore: all of them are in its status."""


def pattern_problems(patterns: Sequence[str] | None) -> Iterator[Problem]:
    """Yield what is wrong with a list of patterns, besides their shape."""
    if patterns and patterns[0].startswith("-"):
        yield Problem("spec.indices[0]", patterns[0], "leaves out, and nothing is chosen before it: begin with *")


class SelectionError(ValueError):
    """Patterns or names that cannot be restored; the message says at which field."""


def selected(spec: SearchRestoreSpec, found: Snapshot) -> list[RestoredIndex]:
    """Return what is restored, by name; raises SelectionError."""
    patterns = spec.indices or ["*"]
    streams = set(found.data_streams)
    names = [each for each in {*found.indices, *streams} if not each.startswith(".")]
    for pattern in patterns:
        if "*" not in pattern and pattern.removeprefix("-") not in names:
            raise SelectionError(f"spec.indices: the snapshot {found.snapshot} has no {pattern.removeprefix('-')}")
    chosen = sorted(name for name in names if _matches(name, patterns))
    if not chosen:
        raise SelectionError(f"spec.indices: the snapshot {found.snapshot} has no such index")
    if len(chosen) > MOST:
        raise SelectionError(
            f"spec.indices: these are {len(chosen)} indices; restore at most {MOST} at once, by several resources"
        )
    made = [RestoredIndex(source=name, name=renamed(spec, name), data_stream=name in streams) for name in chosen]
    _check(made)
    return made


def has_any(spec: SearchRestoreSpec, found: Snapshot) -> bool:
    """Return whether a snapshot has an index or data stream of those that are asked for."""
    names = {*found.indices, *found.data_streams}
    return any(not name.startswith(".") and _matches(name, spec.indices or ["*"]) for name in names)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name is selected; later patterns decide, as in the databases."""
    chosen = False
    for pattern in patterns:
        if _fits(name, pattern.removeprefix("-")):
            chosen = not pattern.startswith("-")
    return chosen


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, re.sub(r"([\[?])", r"[\1]", pattern))


def _check(made: Iterable[RestoredIndex]) -> None:
    for each in made:
        if each.name.startswith((".", "-", "_", "+")):
            raise SelectionError(f"spec.renameReplacement: {each.source} would be named {each.name}, which is reserved")
    double = next((name for name, count in Counter(each.name for each in made).items() if count > 1), None)
    if double is not None:
        both = " and ".join(each.source for each in made if each.name == double)
        raise SelectionError(f"spec.renameReplacement: {both} would both be named {double}")


def renamed(spec: SearchRestoreSpec, name: str) -> str:
    """Return the name that an index gets; raises SelectionError."""
    if spec.rename_pattern is None or spec.rename_replacement is None:
        return name
    text = re.sub(r"\$([12])", r"\\g<\1>", spec.rename_replacement)
    try:
        return re.sub(spec.rename_pattern, text, name)
    except (re.error, IndexError) as error:
        raise SelectionError(f"spec.renameReplacement: {error}") from None
