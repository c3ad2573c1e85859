"""Checks each request of the operator that changes a user of the database, and what there is of users in the end.

The letters are those of docs/properties.md.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

import msgspec

from stateward.api.kinds.security import lifetime_seconds
from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.engines.connection.base import Call
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.stored_objects import is_user
from stateward.simulation.properties.declared.logins import Logins
from stateward.simulation.properties.declared.statuses import judged, reason_of
from stateward.simulation.properties.declared.task_audit import DONE, TaskAudit
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.declared_objects import (
    SECRETS,
    USER_ROOTS,
    USERS,
    cluster_of,
    connection_of,
    owner_of,
    texts_of,
)
from stateward.simulation.world.world import NAMESPACE, World

OF_THE_OPERATOR = frozenset({"admin", "kibanaserver"})
"""The users that the operator makes for itself and the people of a cluster."""
PASSWORDS = ("password", "next-password")
"""The keys of a connection Secret with passwords."""


class UsersWatchdog(TaskAudit):
    """Checks the users of databases, and the Secrets from which applications connect.

    `passwords` gets each password that the operator makes.
    """

    def __init__(self, world: World, violations: list[Violation], passwords: list[str]) -> None:
        super().__init__(world, violations)
        self._root = USER_ROOTS[world.product.engine]
        self._passwords = passwords
        self._logins = Logins(world, self._violated)
        self._authors: dict[tuple[str, str], str] = {}
        """The UID of the resource for which each user was last written, by the identity of a database and the path."""
        self._confirmed: set[tuple[str, str]] = set()
        """Users that a status called owned, by the UID of the resource and the path."""
        self._kept: dict[str, set[str]] = {}
        """All passwords that the connection Secrets have had, by UID of the resource."""
        world.store.subscribers.append(self._on_event)

    # The API server.

    def read(self, kind: str, key: Key) -> None:
        """Record a live read of a resource."""
        task = asyncio.current_task()
        if kind == USERS and task is not None:
            self._resources[task] = self._world.store.get(kind, key)

    def wrote(self, write: Write) -> None:
        """Check a Secret that was written for a resource, and that passwords are nowhere else."""
        resource, stored = self._resource(), self._world.store.get(write.kind, write.key)
        if stored is None:
            return
        owner = owner_of(stored) if write.kind == SECRETS else ""
        if write.kind == SECRETS and (owner or resource is not None) and (resource is None or owner != resource.uid):
            self._violated("f", f"{write.verb} of the Secret {write.key.name}, which belongs to others")
        if not owner:
            texts = texts_of(stored).values() if write.kind == SECRETS else (msgspec.json.encode(stored.doc).decode(),)
            if any(word in text for word in self._passwords for text in texts):
                self._violated("n", f"{write.verb} of {write.kind} {write.key.name} shows a password")

    def _published(self, resource: Stored, secret: Stored) -> None:
        live = self._world.store.get(USERS, resource.key)
        if live is None or live.uid != resource.uid or live.terminating:
            return
        given = base_of(resource) if _is_given(resource) or _is_given(live) else ""
        self._logins.published(resource.uid, texts_of(secret), overlap_of(resource), given=given)

    # The databases.

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check a request right before the database performs it."""
        self._logins.before(cluster)
        if call.method == "GET" or not is_user(call.path):
            return
        name, removes = call.path.removeprefix(self._root), call.method == "DELETE"
        what = f"the user {name} is {'deleted' if removes else 'written'}"
        if not self.beside():
            if name not in OF_THE_OPERATOR:
                self._violated("l", f"{what}, which no resource asks for")
            return
        session, resource = self._session(), self._resource()
        if resource is None or name not in names_of(resource):
            self._violated("l", f"{what}, which the resource that was read does not declare")
            return
        if cluster.name != f"{NAMESPACE}.{cluster_of(resource)}":
            self._violated("l", f"{what} in {cluster.name}, for {resource.key.name} of another cluster")
        if len(session.versions) != 1:
            self._violated("k", f"{what} while the versions of the members are not one")
        if call.path not in session.seen:
            self._violated("l", f"{what} without a read before")
            return
        mine = self._authors.get((cluster.identity, call.path)) == resource.uid
        if removes:
            self._check_removal(resource, name, what, mine=mine)
        else:
            consent = mine or session.seen[call.path] is None or part(resource.doc, "spec").get("existing") == "Adopt"
            self._check_write(resource, call.body or {}, what, consent=consent)

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note what was read or written."""
        resource = self._resource()
        if resource is None:
            return
        self._note_versions(cluster, call)
        if not is_user(call.path):
            return
        if call.method == "GET":
            self._session().seen[call.path] = cluster.objects.content(call.path)
        elif status < DONE:
            self.requests += 1
            removes = call.method == "DELETE"
            done = "deletes" if removes else "writes"
            self._world.context.count(f"declared: operator {done} a user")
            name = call.path.removeprefix(self._root)
            self._world.context.trace(f"the operator {done} the user {name} for {resource.key.name}")
            self._authors[cluster.identity, call.path] = resource.uid
            self._logins.after(cluster, call.path, None if removes else call.body or {}, resource.uid)

    def _check_removal(self, resource: Stored, name: str, what: str, *, mine: bool) -> None:
        asked = resource.terminating and part(resource.doc, "spec").get("deletionPolicy", "Delete") == "Delete"
        named = texts_of(self._world.store.get(SECRETS, connection_of(resource))).get("username")
        replaced = not resource.terminating and name != part(resource.doc, "status").get("username")
        if not asked and not (replaced and named != name):
            self._violated("m", f"{what} although {resource.key.name} does not ask for that")
        if not mine:
            self._violated("m", f"{what}, which {resource.key.name} has not written")

    def _check_write(self, resource: Stored, body: Json, what: str, *, consent: bool) -> None:
        if resource.terminating:
            self._violated("l", f"{what} although {resource.key.name} is being deleted")
        if not consent:
            self._violated("l", f"{what}, which others had made, without consent of {resource.key.name}")
        if _rights(body) != _rights_asked(resource):
            self._violated("l", f"{what} with other roles than {resource.key.name} asks for")
        if not _is_given(resource) and body.get("password") not in self._kept.get(resource.uid, ()):
            self._violated("r", f"{what} with a password that is in no Secret")

    # Resources and Secrets.

    def _on_event(self, kind: str, event: Event) -> None:
        if kind == SECRETS:
            self._on_secret(event)
        if kind != USERS:
            return
        if event.new is None:
            if event.old is not None:
                self._gone(event.old)
            return
        user = event.new
        self._world.context.count(f"declared: user {reason_of(user) or 'without status'}")
        if user.terminating:
            self._logins.ended(user.uid)
        elif _is_given(user):
            self._logins.follows(user.uid, f"{self._root}{base_of(user)}")
        self._logins.overlap_is(user.uid, overlap_of(user))
        for known in items(user.doc, "status", "users"):
            if known.get("claim") == "Owned":
                self._confirmed.add((user.uid, f"{self._root}{known['name']}"))

    def _on_secret(self, event: Event) -> None:
        """Note the passwords that the operator makes, and what people do with its Secrets."""
        secret = event.new or event.old
        owner = owner_of(secret) if secret is not None else ""
        if secret is None or not owner:
            return
        texts, before = texts_of(event.new), texts_of(event.old)
        own = self._resource()
        if any(texts.get(key) != before.get(key) for key in ("username", "password")):
            if own is None or own.uid != owner:
                self._logins.withdrawn(owner)
            elif event.new is not None and not own.terminating:
                self._published(own, event.new)
        for key in PASSWORDS:
            if word := texts.get(key):
                self._kept.setdefault(owner, set()).add(word)
                if word not in self._passwords:
                    self._passwords.append(word)

    def _gone(self, user: Stored) -> None:
        """Check that no user is left that the operator has made, if the resource says so."""
        cluster, database = self._world.resource(), self._world.database()
        asked = part(user.doc, "spec").get("deletionPolicy", "Delete") == "Delete"
        for place, uid in list(self._authors.items()):
            if uid != user.uid:
                continue
            del self._authors[place]
            there = cluster is not None and not cluster.terminating
            if database is None or database.identity != place[0] or not there or not asked:
                continue
            if self._logins.untouched(database, place[1]):
                self._violated("m", f"{user.key.name} is gone, and {place[1]} is left in the database")

    # The end.

    def unmet(self) -> Iterator[str]:
        """Yield each user that is not in the database as declared, and whose status does not truly say why."""
        database = self._world.database()
        for user in self._world.store.all(USERS):
            differences, says_why = partial(self._differences, user), partial(self._says_why, user)
            yield from judged(user, "SearchUser", database, differences, says_why)

    def _differences(self, user: Stored, database: Cluster) -> Iterator[str]:
        name, texts = user.key.name, texts_of(self._world.store.get(SECRETS, connection_of(user)))
        current, asked = texts.get("username", ""), part(user.doc, "spec", "password")
        path, content = f"{self._root}{current}", database.objects.content(f"{self._root}{current}")
        if content is None or _rights(content) != _rights_asked(user):
            yield f"the SearchUser {name} is Ready, and the database has {content} as {current}"
        if self._logins.given(database, path) != texts.get("password"):
            yield f"the SearchUser {name} is Ready, and applications cannot log in as {current}"
        if _is_given(user) and texts.get("password") != self._given_to(user):
            yield f"the SearchUser {name} is Ready, and its password is not that of its Secret"
        wanted = {f"{base_of(user)}-1", f"{base_of(user)}-2"} if "rotateAfter" in asked else {base_of(user)}
        if current not in wanted:
            yield f"the SearchUser {name} is Ready, and applications have {current}"
        if len(status := items(user.doc, "status", "users")) > 1:
            yield f"the SearchUser {name} still has {' and '.join(each['name'] for each in status)}"
        for (identity, other), uid in self._authors.items():
            mine = uid == user.uid and identity == database.identity and other != path
            if mine and self._logins.untouched(database, other):
                yield f"the SearchUser {name} is Ready, and its previous user {other} is still there"

    def _says_why(self, user: Stored, database: Cluster) -> bool:
        secret = self._world.store.get(SECRETS, connection_of(user))
        others = [other for other in self._world.store.all(USERS) if other.uid != user.uid]
        true = {
            "Exists": any(
                database.objects.content(f"{self._root}{name}") is not None
                and (user.uid, f"{self._root}{name}") not in self._confirmed
                for name in names_of(user)
            ),
            "Conflict": any(names_of(user) & names_of(other) for other in others),
            "SecretTaken": secret is not None and owner_of(secret) != user.uid,
        }
        return true.get(reason_of(user), False)

    def _given_to(self, user: Stored) -> str | None:
        asked = part(user.doc, "spec", "password")
        found = self._world.store.get(SECRETS, Key(user.key.namespace, asked["secretName"]))
        allowed = found is not None and found.labels.get(LABEL_ALLOWED) in ("true", cluster_of(user))
        return texts_of(found).get(asked["key"]) if allowed else None


def base_of(user: Stored) -> str:
    """Return the name of a user without the number of a rotation."""
    return part(user.doc, "spec").get("username") or user.key.name


def names_of(user: Stored) -> set[str]:
    """Return the names in the database that a resource may have."""
    base = base_of(user)
    own = {f"{base}-1", f"{base}-2"} if "rotateAfter" in part(user.doc, "spec", "password") else {base}
    return own | {each["name"] for each in items(user.doc, "status", "users")}


def overlap_of(user: Stored) -> float:
    """Return the overlap that a user's resource asks for, in seconds."""
    return lifetime_seconds(part(user.doc, "spec", "password").get("overlap", "1d"))


def _is_given(user: Stored) -> bool:
    """Return whether the password of a user comes from a Secret of people."""
    return "secretName" in part(user.doc, "spec", "password")


def _rights(body: Json) -> tuple[list[str], Json]:
    """Return the roles and attributes of a user as either product stores them."""
    roles = body.get("opendistro_security_roles", body.get("roles", []))
    return sorted(roles), body.get("attributes", body.get("metadata")) or {}


def _rights_asked(user: Stored) -> tuple[list[str], Json]:
    spec = part(user.doc, "spec")
    return sorted(spec.get("roles", [])), spec.get("attributes", {})
