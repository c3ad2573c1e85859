"""People who declare cluster settings, and another client that changes the same settings."""

from collections.abc import Callable, Mapping

from stateward.api.values.base import Json
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.settings import ENABLE, EXCLUDE, REBALANCE, UNKNOWN
from stateward.simulation.users.declared.resource_edits import TOGGLED, ResourceEdits, stalled_for
from stateward.simulation.world.declared_objects import (
    OBJECTS,
    SETTINGS_LABEL,
    is_settings,
    own_setting,
    wanted_settings,
)
from stateward.simulation.world.world import World

SETTINGS = ("search.max_buckets", "search.max_open_scroll_context", "action.search.shard_count.limit")
"""The settings that people and another client change, all of them numbers."""
NAMES = ("settings", "more-settings")
"""The names of the resources: two may share the settings, each of which belongs to one of them."""
REFUSED: tuple[Json, ...] = (
    {UNKNOWN: "1"},
    {ENABLE: "none"},
    {REBALANCE: "none"},
    {EXCLUDE: "logs-hot-0"},
    {"cluster": {"metadata": {"stateward": {"draining": "logs-hot-0"}}}},
)
"""Bodies that are refused: a setting that the database does not know, and those that belong to the operator."""
FOREIGN = 1000
"""The smallest number that another client writes: those of people are smaller."""
SETTINGS_EDITS: Mapping[str, int] = {
    "settings declared": 3,
    "settings edited": 5,
    "settings refused": 3,
    "settings resource deleted": 2,
    "settings toggled": 3,
}
"""What people do, by name, with its weight."""


class SettingsUsers(ResourceEdits):
    """The declared cluster settings of a world, and what people and another client do with them."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "settings")

    def edit(self) -> None:
        """Do one thing, if it is possible now."""
        does: dict[str, Callable[[], bool]] = {
            "settings declared": self._declare_some,
            "settings edited": lambda: self._change_some({"body": self._body()}),
            "settings refused": lambda: self._change_some({"body": self._rng.choice(REFUSED)}),
            "settings resource deleted": self._delete_some,
            "settings toggled": self._toggle_some,
        }
        what = self._rng.choices(list(SETTINGS_EDITS), list(SETTINGS_EDITS.values()))[0]
        if does[what]():
            self._world.context.count(f"user: {what}")
            self._world.context.trace(f"a user of the database's settings: {what}")

    def interfere(self, database: Cluster) -> None:
        """Let another client set one of the settings in the database, or give it its default back."""
        key = self._rng.choice(SETTINGS)
        value = None if self._rng.random() < 0.4 else str(FOREIGN + self._rng.randint(1, 9))
        self._write(database, {key: value}, "another client")

    def make_satisfiable(self) -> None:
        """End what cannot be satisfied: pauses, refused bodies, settings that others have made."""
        for stored in self._all():
            changes: Json = {"paused": False}
            if any(own_setting(key) or key == UNKNOWN for key in wanted_settings(stored)):
                changes["body"] = self._body()
            if "Exists" in stalled_for(stored) and self._rng.random() < 0.5:
                changes["existing"] = "Adopt"
            self._change(stored, changes)

    def resolve(self) -> None:
        """Do what the statuses ask people to do about resources that are being deleted."""
        database = self._world.database()
        for stored in self._all():
            if stored.terminating and "Refused" in stalled_for(stored):
                self._change(stored, {"deletionPolicy": "Retain"})
            if "OwnerUnknown" in stalled_for(stored) and database is not None:
                status = part(stored.doc, "status")
                named = [key for key in status.get("settings") or () if key in status["activity"]]
                self._write(database, dict.fromkeys(named), "a user, as the status asks,")

    def _declare_some(self) -> bool:
        name = self._rng.choice(NAMES)
        if any(stored.key.name == name for stored in self._all()):
            return False
        spec: Json = {
            "object": SETTINGS_LABEL,
            "drift": self._rng.choice(("Correct", "Correct", "Report")),
            "deletionPolicy": self._rng.choice(("Delete", "Delete", "Retain")),
            "body": self._body(),
        }
        return self._declare(OBJECTS, name, spec, resource="SearchObject")

    def _body(self) -> Json:
        """Return one or two settings, in one of the forms of the reference."""
        chosen = {key: self._rng.randint(1, FOREIGN - 1) for key in self._rng.sample(SETTINGS, self._rng.randint(1, 2))}
        form = self._rng.randrange(3)
        return chosen if form == 0 else {"persistent": chosen} if form == 1 else _nested(chosen)

    def _delete_some(self) -> bool:
        found = [stored for stored in self._all() if not stored.terminating]
        return bool(found) and self._remove(self._rng.choice(found))

    def _toggle_some(self) -> bool:
        toggled, found = self._rng.choice(TOGGLED), self._all()
        return bool(found) and self._toggle_field(self._rng.choice(found), *toggled)

    def _change_some(self, changes: Json) -> bool:
        found = self._all()
        return bool(found) and self._change(self._rng.choice(found), changes)

    def _write(self, database: Cluster, values: dict[str, str | None], who: str) -> None:
        self._world.context.trace(f"{who} sets {values} in the database")
        database.settings.change(database.settings.persistent, values)
        database.version += 1

    def _all(self) -> list[Stored]:
        return [stored for stored in self._declared(OBJECTS) if is_settings(stored)]


def _nested(settings: Json) -> Json:
    """Return dotted settings as nested objects."""
    made: Json = {}
    for key, value in settings.items():
        *way, last = key.split(".")
        place = made
        for step in way:
            place = place.setdefault(step, {})
        place[last] = value
    return made
