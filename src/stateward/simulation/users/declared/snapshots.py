"""People who take snapshots of a database by hand and by a schedule, and restore them."""

from collections.abc import Callable, Mapping

from stateward.api.values.base import API_VERSION, Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.users.declared.bodies import INDEX, REPOSITORY
from stateward.simulation.world.declared_objects import RESTORES, SCHEDULES, SNAPSHOTS, cluster_of
from stateward.simulation.world.world import NAME, NAMESPACE, World

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
USER = "kubectl"
_KINDS = {SNAPSHOTS: "SearchSnapshot", SCHEDULES: "SearchSnapshotSchedule", RESTORES: "SearchRestore"}


class SnapshotUsers:
    """The snapshots, schedules and restores of a world, and what people do with them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = world.context.stream("snapshots")
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
        for stored in self._all(SCHEDULES):
            self._change(stored, {"paused": True})

    def resolve(self) -> None:
        """Leave snapshots where they are whose deletion the database refuses, and remove restores that have failed."""
        for stored in self._all(RESTORES):
            conditions = items(stored.doc, "status", "conditions")
            if not stored.terminating and any(each["reason"] == "RestoreFailed" for each in conditions):
                self._world.server.delete(RESTORES, stored.key, DeleteOptions(Preconditions(stored.uid)))
        for stored in self._all(SNAPSHOTS):
            conditions = items(stored.doc, "status", "conditions")
            if stored.terminating and any(c["type"] == "Stalled" and c["status"] == "True" for c in conditions):
                self._change(stored, {"deletionPolicy": "Retain"})

    def _snapshot(self) -> bool:
        # Of a few names, so that a name is taken by a snapshot that was retained.
        name = f"by-hand-{self._rng.randint(1, MOST)}"
        return self._create(SNAPSHOTS, name, {"deletionPolicy": self._rng.choice(("Delete", "Retain"))})

    def _schedule(self) -> bool:
        if self._all(SCHEDULES):
            return self._rng.random() < DELETED and self._delete(SCHEDULES)
        verify = {"verify": VERIFY} if self._rng.random() < 0.6 else {}
        return self._create(SCHEDULES, "often", {"schedule": "*/3 * * * *", "retention": {"maxCount": 2}, **verify})

    def _pause(self) -> bool:
        return any(self._change(s, {"paused": not s.doc["spec"].get("paused", False)}) for s in self._all(SCHEDULES))

    def _verify(self) -> bool:
        """Ask for verifications, or for none, also while one is in progress."""
        return any(
            self._change(stored, {"verify": None if stored.doc["spec"].get("verify") else VERIFY})
            for stored in self._all(SCHEDULES)
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
        names = [stored.doc["metadata"]["name"] for stored in self._all(SNAPSHOTS)]
        if not names or len(self._all(RESTORES)) >= MOST:
            return False
        spec: Json = {"snapshot": self._rng.choice([*names, "often-*"]), "indices": [INDEX]}
        if self._rng.random() < 0.5:
            spec |= {"renamePattern": "(.+)", "renameReplacement": f"restored-{self._rng.randint(1, 2)}-$1"}
        spec["existing"] = self._rng.choice(("Refuse", "Refuse", "Replace"))
        self._number += 1
        return self._create(RESTORES, f"restore-{self._number}", spec)

    def _create(self, kind: str, name: str, spec: Json) -> bool:
        if self._world.store.get(kind, Key(NAMESPACE, name)) is not None:
            return False
        cluster = {"kind": self._world.kind.resource.kind, "name": NAME}
        whole = {"cluster": cluster, "repository": REPOSITORY, **spec}
        body = {"apiVersion": API_VERSION, "kind": _KINDS[kind], "metadata": {"name": name}, "spec": whole}
        self._world.server.create(kind, NAMESPACE, body, USER)
        return True

    def _delete(self, kind: str) -> bool:
        found = [stored for stored in self._all(kind) if not stored.terminating]
        if not found:
            return False
        chosen = self._rng.choice(found)
        self._world.server.delete(kind, chosen.key, DeleteOptions(Preconditions(chosen.uid)))
        return True

    def _change(self, stored: Stored, changes: Json) -> bool:
        after = {key: value for key, value in {**stored.doc["spec"], **changes}.items() if value is not None}
        if stored.doc["spec"] == after:
            return False
        doc = {**stored.doc, "spec": after}
        try:
            self._world.server.update(stored.kind, stored.key, doc, manager=USER)
        except ApiError:
            return False
        return True

    def _all(self, kind: str) -> list[Stored]:
        found = (stored for stored in self._world.store.all(kind) if cluster_of(stored) == NAME)
        return sorted(found, key=lambda stored: stored.key)
