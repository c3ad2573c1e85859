"""People who declare objects of a database, and another client that changes objects there."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.users.declared.bodies import (
    REPOSITORY,
    TOKEN_KEY,
    TOKEN_SECRET,
    labels,
    name_of,
    refused_spec,
    spec_of,
)
from stateward.simulation.users.declared.database_users import DatabaseUsers
from stateward.simulation.users.declared.resource_edits import TOGGLED, USER, ResourceEdits, stalled_for
from stateward.simulation.users.declared.settings import SettingsUsers
from stateward.simulation.users.declared.snapshots import SnapshotUsers
from stateward.simulation.world.declared_objects import OBJECTS, SECRETS, is_settings, path_of
from stateward.simulation.world.world import NAME, NAMESPACE, SYSTEM, World

FOREIGN = 100
"""The smallest number of a body that another client writes: those of declared bodies are smaller."""
USERS_SHARE = 0.45
"""The part of what people and another client do that concerns users of the database, where these are declared."""
SNAPSHOTS_SHARE = 0.35
"""The part of what people do that concerns snapshots."""
SETTINGS_SHARE = 0.25
"""The part of the rest that concerns cluster settings, and of what another client does."""
DECLARATIONS: Mapping[str, int] = {
    "object declared": 3,
    "body edited": 5,
    "refused body": 2,
    "resource deleted": 3,
    "drift toggled": 2,
    "deletionPolicy toggled": 2,
    "existing toggled": 1,
    "object paused or resumed": 1,
    "object declared twice": 1,
    "Secret changed": 1,
}
"""What people do, by name, with its weight."""
_TOGGLED: Mapping[str, tuple[str, Any, Any]] = dict(
    zip(
        ("drift toggled", "deletionPolicy toggled", "existing toggled", "object paused or resumed"),
        TOGGLED,
        strict=True,
    )
)
"""The fields of which people change their mind, by the name of that."""


class Declarations(ResourceEdits):
    """The declared resources of a world, the Secret with their value, and what people do with them.

    Users of the database are declared in a secured cluster.
    """

    def __init__(self, world: World, *, secured: bool = False) -> None:
        super().__init__(world, "declarations")
        self.values: list[str] = []
        """All values that the Secret has ever had."""
        self.passwords: list[str] = []
        """All passwords that declared users have ever had."""
        self._labels = labels(world.product.engine)
        self._numbers = 0
        self._snapshots = SnapshotUsers(world)
        self._settings = SettingsUsers(world)
        self._users = DatabaseUsers(world, self.passwords) if secured else None

    def begin(self) -> None:
        """Create the Secrets, and declare half of the objects, and the repository."""
        # The key of digests is random otherwise, and a run is a function of its seed.
        key = base64.b64encode(self._rng.randbytes(32)).decode()
        self._secret(SYSTEM, "stateward-digest-key", {"key": key}, {})
        self.values.append(self._value())
        self._secret(NAMESPACE, TOKEN_SECRET, self._data(), {LABEL_ALLOWED: NAME})
        for label in (*self._labels[::2], f"snapshotRepository/{REPOSITORY}"):
            self._create(label)
        if self._users is not None:
            self._users.begin()

    def edit(self) -> None:
        """Do one thing, if it is possible now."""
        if self._users is not None and self._rng.random() < USERS_SHARE:
            self._users.edit()
            return
        if self._rng.random() < SNAPSHOTS_SHARE:
            self._snapshots.edit()
            return
        if self._rng.random() < SETTINGS_SHARE:
            self._settings.edit()
            return
        what = self._rng.choices(list(DECLARATIONS), list(DECLARATIONS.values()))[0]
        label = self._rng.choice(self._labels)
        if self._do(what, label):
            self._world.context.count(f"user: {what}")
            self._world.context.trace(f"a user of the database's objects: {what} ({label})")

    def interfere(self) -> None:
        """Let another client create, change or delete an object in the database."""
        database = self._world.database()
        if database is None or not database.leader or database.read_only:
            return
        if self._users is not None and self._rng.random() < USERS_SHARE:
            self._users.interfere(database)
            return
        if self._rng.random() < SETTINGS_SHARE:
            self._settings.interfere(database)
            return
        label = self._rng.choice(self._labels)
        path = path_of(self._world.product.engine, label)
        if database.objects.content(path) is not None and self._rng.random() < 0.3:
            if not database.objects.used_by(path):
                self._say(f"another client deletes {label} in the database")
                database.objects.put(path, None)
            return
        self._say(f"another client writes {label} in the database")
        before = database.objects.content(path) or {}
        changed = spec_of(self._world.product.engine, label, FOREIGN + self._rng.randint(1, 9))["body"]
        if database.objects.trouble(path, changed) is None:
            database.objects.put(path, {**before, **changed})

    def make_satisfiable(self) -> None:
        """End what cannot be satisfied: pauses, refused bodies, names that are taken, objects that others need."""
        self._snapshots.make_satisfiable()
        self._settings.make_satisfiable()
        if self._users is not None:
            self._users.make_satisfiable()
        for stored in self._all():
            spec: Json = stored.doc["spec"]
            label = spec["object"]
            changes: Json = {"paused": False}
            if self._refused(stored):
                changes |= self._numbered(label)
            if "Exists" in stalled_for(stored) and self._rng.random() < 0.5:
                changes["existing"] = "Adopt"
            if stored.terminating and "Refused" in stalled_for(stored):
                changes["deletionPolicy"] = "Retain"
            self._change(stored, changes)

    def resolve(self) -> None:
        """Do what the statuses ask people to do about resources that are being deleted."""
        self._snapshots.resolve()
        self._settings.resolve()
        if self._users is not None:
            self._users.resolve()
        database = self._world.database()
        for stored in self._all():
            reasons = stalled_for(stored)
            if stored.terminating and "Refused" in reasons:
                self._change(stored, {"deletionPolicy": "Retain"})
            if stored.terminating and "OwnerUnknown" in reasons and database is not None:
                self._remove_unknown(stored, database)

    def _remove_unknown(self, stored: Stored, database: Cluster) -> None:
        """Delete an object of which the operator does not know whether the resource has written it."""
        label = stored.doc["spec"]["object"]
        self._say(f"a user deletes {label} in the database, as its status asks")
        database.objects.put(path_of(self._world.product.engine, label), None)

    # What people do.

    def _do(self, what: str, label: str) -> bool:
        """Do one thing with an object; returns False if it is not possible now."""
        toggled = _TOGGLED.get(what)
        if toggled is not None:
            return self._toggle(label, *toggled)
        does: dict[str, Callable[[str], bool]] = {
            "object declared": self._create,
            "body edited": self._edit,
            "refused body": self._spoil,
            "resource deleted": self._delete,
            "object declared twice": self._rival,
            "Secret changed": lambda _: self._change_secret(),
        }
        return does[what](label)

    def _create(self, label: str) -> bool:
        return self._create_as(name_of(label), label)

    def _rival(self, label: str) -> bool:
        return self._create_as(f"{name_of(label)}-again", label)

    def _create_as(self, name: str, label: str) -> bool:
        if self._world.store.get(OBJECTS, Key(NAMESPACE, name)) is not None:
            return False
        spec: Json = {
            "object": label,
            "drift": self._rng.choice(("Correct", "Correct", "Report")),
            "deletionPolicy": self._rng.choice(("Delete", "Delete", "Retain")),
            **self._numbered(label),
        }
        return self._declare(OBJECTS, name, spec, resource="SearchObject")

    def _edit(self, label: str) -> bool:
        found = self._some(label)
        return found is not None and self._change(found, self._numbered(label))

    def _spoil(self, label: str) -> bool:
        found, refused = self._some(label), refused_spec(label)
        return found is not None and refused is not None and self._change(found, refused)

    def _delete(self, label: str) -> bool:
        found = self._some(label)
        return found is not None and self._remove(found)

    def _toggle(self, label: str, field: str, value: Any, usual: Any) -> bool:
        found = self._some(label)
        return found is not None and self._toggle_field(found, field, value, usual)

    def _change_secret(self) -> bool:
        found = self._world.store.get(SECRETS, Key(NAMESPACE, TOKEN_SECRET))
        if found is None:
            return False
        self.values.append(self._value())
        self._world.server.update(SECRETS, found.key, {**found.doc, "data": self._data()}, manager=USER)
        return True

    # Parts of it.

    def _numbered(self, label: str) -> Json:
        self._numbers += 1
        return spec_of(self._world.product.engine, label, self._numbers % (FOREIGN - 1) + 1)

    def _value(self) -> str:
        return f"value-of-people-{len(self.values)}-{self._rng.randbytes(6).hex()}"

    def _data(self) -> dict[str, str]:
        return {TOKEN_KEY: base64.b64encode(self.values[-1].encode()).decode()}

    def _secret(self, namespace: str, name: str, data: dict[str, str], labels: dict[str, str]) -> None:
        meta = {"name": name, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        self._world.server.create(SECRETS, namespace, body, USER)

    def _some(self, label: str) -> Stored | None:
        """Return one of the resources that declare an object."""
        found = [stored for stored in self._all() if stored.doc["spec"]["object"] == label]
        return self._rng.choice(found) if found else None

    def _all(self) -> list[Stored]:
        return [stored for stored in self._declared(OBJECTS) if not is_settings(stored)]

    def _refused(self, stored: Stored) -> bool:
        spec = part(stored.doc, "spec")
        refused = refused_spec(spec["object"])
        return refused is not None and spec["body"] == refused["body"]

    def _say(self, text: str) -> None:
        self._world.context.trace(text)
