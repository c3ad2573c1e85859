"""People who take snapshots of a database by hand and by a schedule, and restore them."""

from collections.abc import Callable, Mapping

from stateward.api.values.base import Json
from stateward.simulation.apiserver.documents import items
from stateward.simulation.users.declared.bodies import INDEX, REPOSITORY
from stateward.simulation.users.declared.resource_edits import ResourceEdits, stalled_for
from stateward.simulation.world.declared_objects import RESTORES, SCHEDULES, SNAPSHOTS
from stateward.simulation.world.world import World

SNAPSHOT_EDITS: Mapping[str, int] = {
    "snapshot declared": 4,
    "snapshot resource deleted": 2,
    "schedule declared or deleted": 3,
    "schedule paused or resumed": 1,
    "verification toggled": 1,
    "snapshot damaged": 1,
    "restore declared": 3,
    "restore resource deleted": 1,
}
"""What people do, by name, with its weight."""
MOST = 6
"""Snapshots by hand, and restores, that exist at once."""
DELETED = 0.3
"""The part of all changes of mind about a schedule with which it goes: verifications take minutes."""
VERIFY: Json = {"schedule": "*/4 * * * *", "timeLimit": "30m"}
_KINDS = {SNAPSHOTS: "SearchSnapshot", SCHEDULES: "SearchSnapshotSchedule", RESTORES: "SearchRestore"}


class SnapshotUsers(ResourceEdits):
    """The snapshots, schedules and restores of a world, and what people do with them."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "snapshots")
        self._number = 0

    def edit(self) -> None:
        """Do one thing, if it is possible now."""
        does: dict[str, Callable[[], bool]] = {
            "snapshot declared": self._snapshot,
            "snapshot resource deleted": lambda: self._delete(SNAPSHOTS),
            "schedule declared or deleted": self._schedule,
            "schedule paused or resumed": self._pause,
            "verification toggled": self._verify,
            "snapshot damaged": self._damage,
            "restore declared": self._restore,
            "restore resource deleted": lambda: self._delete(RESTORES),
        }
        what = self._rng.choices(list(SNAPSHOT_EDITS), list(SNAPSHOT_EDITS.values()))[0]
        if does[what]():
            self._world.context.count(f"user: {what}")
            self._world.context.trace(f"a user of the database's snapshots: {what}")

    def make_satisfiable(self) -> None:
        """Pause schedules, whose next snapshots would be writes of a settled cluster."""
        for stored in self._declared(SCHEDULES):
            self._change(stored, {"paused": True})

    def resolve(self) -> None:
        """Leave snapshots where they are whose deletion the database refuses, and remove restores that have failed."""
        for stored in self._declared(RESTORES):
            conditions = items(stored.doc, "status", "conditions")
            if any(each["reason"] == "RestoreFailed" for each in conditions):
                self._remove(stored)
        for stored in self._declared(SNAPSHOTS):
            if stored.terminating and stalled_for(stored):
                self._change(stored, {"deletionPolicy": "Retain"})

    def _snapshot(self) -> bool:
        # Of a few names, so that a name is taken by a snapshot that was retained.
        name = f"by-hand-{self._rng.randint(1, MOST)}"
        return self._create(SNAPSHOTS, name, {"deletionPolicy": self._rng.choice(("Delete", "Retain"))})

    def _schedule(self) -> bool:
        if self._declared(SCHEDULES):
            return self._rng.random() < DELETED and self._delete(SCHEDULES)
        verify = {"verify": VERIFY} if self._rng.random() < 0.6 else {}
        return self._create(SCHEDULES, "often", {"schedule": "*/3 * * * *", "retention": {"maxCount": 2}, **verify})

    def _pause(self) -> bool:
        return any(
            self._change(s, {"paused": not s.doc["spec"].get("paused", False)}) for s in self._declared(SCHEDULES)
        )

    def _verify(self) -> bool:
        """Ask for verifications, or for none, also while one is in progress."""
        return any(
            self._change(stored, {"verify": None if stored.doc["spec"].get("verify") else VERIFY})
            for stored in self._declared(SCHEDULES)
        )

    def _damage(self) -> bool:
        """Damage the files of a snapshot, which nothing shows but a restore."""
        found = list(self._world.databases.repositories.get(REPOSITORY, {}).values())
        if not found:
            return False
        chosen = self._rng.choice(found)
        chosen.damaged = True
        self._world.context.trace(f"the files of the snapshot {chosen.name} are damaged")
        return True

    def _restore(self) -> bool:
        names = [stored.doc["metadata"]["name"] for stored in self._declared(SNAPSHOTS)]
        if not names or len(self._declared(RESTORES)) >= MOST:
            return False
        spec: Json = {"snapshot": self._rng.choice([*names, "often-*"]), "indices": [INDEX]}
        if self._rng.random() < 0.5:
            spec |= {"renamePattern": "(.+)", "renameReplacement": f"restored-{self._rng.randint(1, 2)}-$1"}
        spec["existing"] = self._rng.choice(("Refuse", "Refuse", "Replace"))
        self._number += 1
        return self._create(RESTORES, f"restore-{self._number}", spec)

    def _create(self, kind: str, name: str, spec: Json) -> bool:
        return self._declare(kind, name, {"repository": REPOSITORY, **spec}, resource=_KINDS[kind])

    def _delete(self, kind: str) -> bool:
        found = [stored for stored in self._declared(kind) if not stored.terminating]
        return bool(found) and self._remove(self._rng.choice(found))
