"""The nodes that may take copies of an index, as far as its own settings say: filters, tiers, and remote indices.

Awareness, disks, versions and filters of the whole cluster are not in it: the database itself refuses such a move.
Source: the deciders `filter` and `data_tier` of the databases, and the roles of remote indices (OpenSearch `search` and
`warm`, Elasticsearch `data_frozen`).
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import cast

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.engines.search.database.wire import IndexSettings

REMOTE_ROLES = frozenset({"search", "warm", "data_frozen"})
"""Roles of nodes that hold only indices whose files are in a repository, unless they have another role with data."""
TIER = "_tier_preference"
UNKNOWN_FIELDS = frozenset({"_ip", "_host_ip", "_publish_ip", "_host", "_tier", TIER})
"""What is not read: addresses, and tiers in filters, which exist in Elasticsearch 7 only. A filter by them excludes no
node here."""


class Place(Struct, frozen=True):
    """A node with data: its name, id and attributes, and those of its roles with which it holds data."""

    name: str
    identifier: str
    roles: frozenset[str]
    attributes: Mapping[str, str]

    @property
    def ordinary(self) -> bool:
        """Whether it takes indices whose files are on its disk."""
        return bool(self.roles - REMOTE_ROLES)


class Places:
    """The nodes with data of one observation; each different rule of the indices is judged once."""

    def __init__(self, places: list[Place]) -> None:
        self._places = places
        self._all = frozenset(place.name for place in places)
        self.searching = frozenset(place.name for place in places if "search" in place.roles)
        """The nodes that may take search replicas."""
        self._known: dict[object, frozenset[str]] = {}

    def of(self, index: IndexSettings) -> frozenset[str] | None:
        """Return the names of the nodes that may take copies of an index; None if all may."""
        rules = {verb: dict(_flat(found)) for verb, found in index.routing.allocation.filters()}
        key = (index.store.type, *((verb, *sorted(rule.items())) for verb, rule in rules.items()))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = frozenset(p.name for p in self._allowed(index.store.type, rules))
        return None if found == self._all else found

    def _allowed(self, store: str, rules: Mapping[str, Mapping[str, str]]) -> Iterator[Place]:
        tier = rules.get("include", {}).get(TIER, "")
        for place in self._tiered(tier) if tier else self._stored(store):
            include = {field: text for field, text in rules.get("include", {}).items() if field != TIER}
            if include and not any(_matches(place, *rule, unread=True) for rule in include.items()):
                continue
            if not all(_matches(place, *rule, unread=True) for rule in rules.get("require", {}).items()):
                continue
            if not any(_matches(place, *rule, unread=False) for rule in rules.get("exclude", {}).items()):
                yield place

    def _tiered(self, preference: str) -> list[Place]:
        """Return the nodes of the first tier that has nodes; a node with the role `data` is in every tier."""
        for tier in preference.split(","):
            found = [place for place in self._places if place.roles & {tier.strip(), "data"}]
            if found:
                return found
        return []

    def _stored(self, store: str) -> list[Place]:
        if store == "remote_snapshot":
            return [place for place in self._places if place.roles & REMOTE_ROLES]
        return [place for place in self._places if place.ordinary]


def _flat(rule: Json, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield fields and texts of a filter; the answer nests attributes whose names have dots."""
    for field, found in rule.items():
        name = f"{above}{field}"
        if isinstance(found, dict):
            yield from _flat(cast("Json", found), f"{name}.")
        elif isinstance(found, str) and found:
            yield name, found


def _matches(place: Place, field: str, text: str, *, unread: bool) -> bool:
    """Return whether one of the patterns fits the node; `unread` for what is not known of it."""
    if field in UNKNOWN_FIELDS:
        return unread
    own = {"_name": place.name, "name": place.name, "_id": place.identifier}.get(field, place.attributes.get(field))
    patterns = (pattern.strip().replace("[", "[[]").replace("?", "[?]") for pattern in text.split(","))
    return own is not None and any(fnmatchcase(own, pattern) for pattern in patterns)
