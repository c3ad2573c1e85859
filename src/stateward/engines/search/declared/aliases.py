"""Which index takes the writes through an alias, and what a rollover has moved on. Pure.

An alias of one index takes writes into it, unless `is_write_index` is false there. An alias of several indices takes
none, unless it is true for one of them. A rollover moves the alias to a new index; if `is_write_index` was true, the
alias stays on the old index, too, and is false there.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from stateward.api.kinds.search_object import Claim
from stateward.api.values.base import Json
from stateward.engines.search.declared.desired import Desired, Observed
from stateward.engines.search.declared.kinds import Write

_FLAG = "is_write_index"


def rolled_on(desired: Desired, observed: Observed) -> Desired:
    """Return the desired state, without the write index once another index has it: a database has one at most."""
    if not _written(desired) or not _flag(desired.body) or not _writers(_others(desired, observed)):
        return desired
    return replace(desired, body={**desired.body, _FLAG: False}, sent={**desired.sent, _FLAG: False})


def moved_to(desired: Desired, observed: Observed) -> str:
    """Return the index to which a rollover has moved the alias or its writes; empty if it is where it was written."""
    if not _written(desired):
        return ""
    others = _others(desired, observed)
    if writers := _writers(others):
        return writers[0] if _flag(desired.body) else ""
    mine = _indices(desired, observed).get(desired.what.names["index"])
    return _writer(others) if mine is None and not _flag(desired.body) else ""


def writes_end(desired: Desired, observed: Observed) -> str:
    """Return the index that takes writes now and would not after the write; empty if there is none.

    A body that has `is_write_index` says what is wanted.
    """
    if desired.what.kind.write is not Write.ALIAS or _FLAG in desired.body:
        return ""
    before = _indices(desired, observed)
    after = {**before, desired.what.names["index"]: desired.body}
    return _writer(before) if not _writer(after) else ""


def _written(desired: Desired) -> bool:
    return desired.what.kind.write is Write.ALIAS and desired.memory.claim in (Claim.OWNED, Claim.MERGED)


def _indices(desired: Desired, observed: Observed) -> dict[str, Json]:
    """Return the alias as each of its indices has it."""
    answer = cast("Json", observed.answer) if isinstance(observed.answer, Mapping) else {}
    found: dict[str, Json] = {}
    for index, inner in answer.items():
        aliases = cast("Json", inner).get("aliases") if isinstance(inner, Mapping) else None
        alias = cast("Json", aliases).get(desired.what.name) if isinstance(aliases, Mapping) else None
        if isinstance(alias, Mapping):
            found[index] = cast("Json", alias)
    return found


def _others(desired: Desired, observed: Observed) -> dict[str, Json]:
    mine = desired.what.names["index"]
    return {index: alias for index, alias in _indices(desired, observed).items() if index != mine}


def _writers(indices: Mapping[str, Json]) -> list[str]:
    return [index for index, alias in indices.items() if _flag(alias)]


def _writer(indices: Mapping[str, Json]) -> str:
    """Return the index that takes the writes; empty if none does."""
    if writers := _writers(indices):
        return writers[0]
    return (
        next((index for index, alias in indices.items() if alias.get(_FLAG) is None), "") if len(indices) == 1 else ""
    )


def _flag(alias: Json) -> bool:
    return str(alias.get(_FLAG)).lower() == "true"
