"""Index of the workloads or clusters that use an object: what to requeue when it changes."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from stateward.packages.restarts.dependencies import Dependency

User = TypeVar("User", bound=Hashable)

Source = tuple[str, str, str]
"""Namespace, kind and name of an object whose data is used."""


class Uses(Generic[User]):
    """Users by the objects that they use, as of their last reconciliation."""

    def __init__(self) -> None:
        self._sources: dict[User, frozenset[Source]] = {}
        self._users: dict[Source, set[User]] = {}

    def put(self, user: User, namespace: str, used: Iterable[Dependency]) -> None:
        """Record the objects that a user uses, in a namespace."""
        self.drop(user)
        sources = frozenset((namespace, d.kind, d.name) for d in used)
        self._sources[user] = sources
        for source in sources:
            self._users.setdefault(source, set()).add(user)

    def drop(self, user: User) -> None:
        """Remove a user."""
        for source in self._sources.pop(user, frozenset()):
            self._users[source].discard(user)
            if not self._users[source]:
                del self._users[source]

    def of(self, source: Source) -> frozenset[User]:
        """Return the users of an object."""
        return frozenset(self._users.get(source, ()))
