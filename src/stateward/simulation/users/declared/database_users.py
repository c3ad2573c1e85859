"""People who declare users of a secured database, and another client that changes the same users.

They also delete, edit and take the Secrets from which applications connect.
"""

import base64
from collections.abc import Callable, Mapping

from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.stored_objects import SHORTEST_PASSWORD
from stateward.simulation.users.declared.resource_edits import USER, ResourceEdits, stalled_for
from stateward.simulation.world.declared_objects import SECRETS, USER_ROOTS, USERS, connection_of, texts_of
from stateward.simulation.world.world import NAME, NAMESPACE, World

NAMES = ("shop", "mail", "stock")
"""The users that people declare."""
TAKEN = 0.5
"""How often the Secret for the applications of a user belongs to people before it is declared."""
GIVEN, KEY = "password-of-people", "word"
"""The Secret from which some users have their password, and its key."""
MADE: Json = {"overlap": "30m"}
"""A password that the operator makes. After the usual overlap, a day, a storm is over."""
ROTATED: Json = {**MADE, "rotateAfter": "1h"}
FROM_PEOPLE: Json = {**MADE, "secretName": GIVEN, "key": KEY}
RARELY = "90d"
"""After this time a password is rotated in the end: a settled cluster writes nothing."""
REFUSED: tuple[Json, ...] = (
    {**FROM_PEOPLE, "rotateAfter": "1h"},
    {"rotateAfter": "30m", "overlap": "5m"},
    {"rotateAfter": "1h", "overlap": "45m"},
)
"""Passwords that the operator refuses."""
DATABASE_USER_EDITS: Mapping[str, int] = {
    "database user declared": 4,
    "database user edited": 3,
    "password from elsewhere": 6,
    "overlap changed": 1,
    "password refused": 1,
    "database user deleted": 2,
    "database user toggled": 3,
    "database user declared twice": 1,
    "given password changed": 2,
    "given password unusable": 1,
    "connection Secret deleted": 1,
    "connection Secret edited": 1,
    "connection Secret of another owner": 1,
}
"""What people do, by name, with its weight."""
_TOGGLED = (("deletionPolicy", "Retain", "Delete"), ("existing", "Adopt", "Refuse"))


class DatabaseUsers(ResourceEdits):
    """The declared users of a world, their Secrets, and what people and another client do with them.

    `passwords` gets each password that people choose.
    """

    def __init__(self, world: World, passwords: list[str]) -> None:
        super().__init__(world, "database users")
        self._passwords = passwords
        self._root = USER_ROOTS[world.product.engine]
        self._numbers = 0

    def begin(self) -> None:
        """Declare two users, one of which has its password rotated; the Secret of the third may be taken."""
        self._give(self._word())
        self._create(NAMES[0], ROTATED)
        self._create(NAMES[1], self._rng.choice((MADE, ROTATED, FROM_PEOPLE)))
        if self._rng.random() < TAKEN:
            self._take_secret(NAMES[2])

    def edit(self) -> None:
        """Do one thing, if it is possible now."""
        does: dict[str, Callable[[], bool]] = {
            "database user declared": lambda: self._create(self._rng.choice(NAMES), self._password()),
            "database user edited": lambda: self._change_some(self._rights()),
            "password from elsewhere": lambda: self._change_some({"password": self._password()}),
            "overlap changed": self._change_overlap,
            "password refused": lambda: self._change_some({"password": self._rng.choice(REFUSED)}),
            "database user deleted": self._delete_some,
            "database user toggled": self._toggle_some,
            "database user declared twice": self._rival,
            "given password changed": lambda: self._give(self._word()),
            "given password unusable": self._spoil,
            "connection Secret deleted": self._delete_secret,
            "connection Secret edited": self._edit_secret,
            "connection Secret of another owner": lambda: self._take_secret(self._rng.choice(NAMES)),
        }
        what = self._rng.choices(list(DATABASE_USER_EDITS), list(DATABASE_USER_EDITS.values()))[0]
        if does[what]():
            self._world.context.count(f"user: {what}")
            self._say(f"a user of the database's users: {what}")

    def interfere(self, database: Cluster) -> None:
        """Let another client create, change or delete a user in the database, or set its password."""
        name = self._rng.choice([f"{name}{number}" for name in NAMES for number in ("", "-1", "-2")])
        path, dice = f"{self._root}{name}", self._rng.random()
        before = database.objects.content(path)
        if before is not None and dice < 0.3:
            self._say(f"another client deletes the user {name} in the database")
            database.objects.put(path, None)
            return
        self._say(f"another client writes the user {name} in the database")
        roles = "roles" if self._world.product.engine == "elasticsearch" else "opendistro_security_roles"
        changed: Json = {roles: [f"foreign-{self._rng.randint(1, 9)}"]}
        if before is None or dice < 0.5:
            changed["password"] = f"password-of-others-{self._rng.randint(1, 9)}"
        database.objects.put(path, {**(before or {}), **changed})

    def make_satisfiable(self) -> None:
        """End what cannot be satisfied: refused and unusable passwords, taken names; and rotations that come soon."""
        self._give(self._word())
        for stored in self._declared(USERS):
            asked = part(stored.doc, "spec", "password")
            changes: Json = {"backendRoles": None}
            if asked in REFUSED:
                changes["password"] = MADE
            elif "rotateAfter" in asked:
                changes["password"] = {**asked, "rotateAfter": RARELY}
            if "Exists" in stalled_for(stored) and self._rng.random() < 0.5:
                changes["existing"] = "Adopt"
            if "SecretTaken" in stalled_for(stored) and self._rng.random() < 0.5:
                self._drop(connection_of(stored))
            self._change(stored, changes)

    def resolve(self) -> None:
        """Do what the statuses ask people to do about resources that are being deleted."""
        database = self._world.database()
        for stored in self._declared(USERS):
            reasons = stalled_for(stored)
            if stored.terminating and "Refused" in reasons:
                self._change(stored, {"deletionPolicy": "Retain"})
            if "OwnerUnknown" in reasons and database is not None:
                for known in items(stored.doc, "status", "users"):
                    if known.get("claim") != "Owned":
                        self._say(f"a user deletes the user {known['name']} in the database, as the status asks")
                        database.objects.put(f"{self._root}{known['name']}", None)

    # Users.

    def _create(self, name: str, password: Json, username: str | None = None) -> bool:
        spec: Json = {
            "password": password,
            "existing": self._rng.choice(("Refuse", "Refuse", "Refuse", "Adopt")),
            "deletionPolicy": self._rng.choice(("Delete", "Delete", "Retain")),
            **self._rights(),
            **({"username": username} if username else {}),
        }
        return self._declare(USERS, name, spec, resource="SearchUser")

    def _rights(self) -> Json:
        self._numbers += 1
        return {"roles": ["reader", f"role-{self._numbers}"], "attributes": {"number": str(self._numbers)}}

    def _password(self) -> Json:
        return self._rng.choice((MADE, ROTATED, ROTATED, FROM_PEOPLE))

    def _change_some(self, changes: Json) -> bool:
        found = self._declared(USERS)
        return bool(found) and self._change(self._rng.choice(found), changes)

    def _change_overlap(self) -> bool:
        rotated = [s for s in self._declared(USERS) if "rotateAfter" in part(s.doc, "spec", "password")]
        chosen = {**ROTATED, "overlap": self._rng.choice(("5m", "10m", "30m"))}
        return bool(rotated) and self._change(self._rng.choice(rotated), {"password": chosen})

    def _delete_some(self) -> bool:
        found = self._declared(USERS)
        return bool(found) and self._remove(self._rng.choice(found))

    def _toggle_some(self) -> bool:
        toggled, found = self._rng.choice(_TOGGLED), self._declared(USERS)
        return bool(found) and self._toggle_field(self._rng.choice(found), *toggled)

    def _rival(self) -> bool:
        name = self._rng.choice(NAMES)
        return self._create(f"{name}-again", self._password(), name)

    # Secrets.

    def _word(self) -> str:
        self._passwords.append(f"password-of-people-{len(self._passwords)}-{self._rng.randbytes(6).hex()}")
        return self._passwords[-1]

    def _give(self, word: str, allowed: str = NAME) -> bool:
        """Write the Secret from which some users have their password."""
        self._write(GIVEN, {KEY: word}, {LABEL_ALLOWED: allowed})
        return True

    def _spoil(self) -> bool:
        """Have the given password be too short, not allowed for the cluster, or not there."""
        match self._rng.randrange(3):
            case 0:
                return self._give("&~5%a"[: SHORTEST_PASSWORD - 1])
            case 1:
                return self._give(self._word(), "another")
            case _:
                return self._drop(Key(NAMESPACE, GIVEN))

    def _connections(self) -> list[Stored]:
        keys = [connection_of(stored) for stored in self._declared(USERS)]
        return [secret for key in keys if (secret := self._world.store.get(SECRETS, key)) is not None]

    def _delete_secret(self) -> bool:
        found = self._connections()
        return bool(found) and self._drop(self._rng.choice(found).key)

    def _edit_secret(self) -> bool:
        """Change the password, the name of the user or an irrelevant key, or take all of it away."""
        found = self._connections()
        if not found:
            return False
        chosen = self._rng.choice(found)
        before = texts_of(chosen)
        other = f"{self._rng.choice(NAMES)}{self._rng.choice(('', '-1', '-2'))}"
        after = self._rng.choice(
            ({**before, "password": self._word()}, {**before, "username": other}, {**before, "note": "mine"}, {})
        )
        self._write(chosen.key.name, after)
        return True

    def _take_secret(self, user: str) -> bool:
        """Create a Secret of one's own under the name that a connection Secret would have."""
        name = f"{user}-connection"
        if self._world.store.get(SECRETS, Key(NAMESPACE, name)) is not None:
            return False
        self._write(name, {"mine": "yes"})
        return True

    def _write(self, name: str, texts: Mapping[str, str], labels: Mapping[str, str] | None = None) -> None:
        self._say(f"a person writes the Secret {name}: {', '.join(sorted(texts)) or 'nothing'}")
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        found = self._world.store.get(SECRETS, Key(NAMESPACE, name))
        if found is None:
            meta = {"name": name, "labels": dict(labels or {})}
            body: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
            self._world.server.create(SECRETS, NAMESPACE, body, USER)
            return
        meta = {**found.meta, **({"labels": dict(labels)} if labels is not None else {})}
        self._world.server.update(SECRETS, found.key, {**found.doc, "metadata": meta, "data": data}, manager=USER)

    def _drop(self, key: Key) -> bool:
        found = self._world.store.get(SECRETS, key)
        if found is None:
            return False
        self._say(f"a person deletes the Secret {key.name}")
        self._world.server.delete(SECRETS, key, DeleteOptions(Preconditions(found.uid)))
        return True

    def _say(self, text: str) -> None:
        self._world.context.trace(text)
