"""The kinds of declared resources, and what is wrong with one: for the webhook and for files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.search_user import SearchUser
from stateward.api.kinds.snapshots.restore import SearchRestore
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.snapshot import SearchSnapshot
from stateward.api.values.base import Record
from stateward.api.values.problem import Problem
from stateward.engines.search.declared import identity, users
from stateward.engines.search.snapshots import decision, restoring, schedule


@dataclass(frozen=True)
class DeclaredRules:
    """The record of a kind, and the problems of one resource besides its shape."""

    record: type[Record]
    problems: Callable[[Any], Iterable[Problem]]


DECLARED_RULES: Mapping[str, DeclaredRules] = {
    SearchObject.__name__: DeclaredRules(SearchObject, lambda found: identity.problems(found.spec)),
    SearchUser.__name__: DeclaredRules(SearchUser, users.problems),
    SearchSnapshot.__name__: DeclaredRules(SearchSnapshot, lambda found: decision.problems(found.spec)),
    SearchSnapshotSchedule.__name__: DeclaredRules(SearchSnapshotSchedule, lambda found: schedule.problems(found.spec)),
    SearchRestore.__name__: DeclaredRules(SearchRestore, lambda found: restoring.problems(found.spec)),
}
"""By the name of the kind."""
