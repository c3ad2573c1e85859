"""The objects that clients put into the database: templates, policies, pipelines, roles, aliases.

Written from the reference of the products and from answers of real ones, without the operator's table of kinds: so a
mistake in that table is not repeated here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.settings import flatten

_SECURITY = "/_plugins/_security/api/"
USERS = f"{_SECURITY}internalusers/"
_XPACK_USERS = "/_security/user/"
SHORTEST_PASSWORD = 6
"""Characters of the shortest password that a database accepts by default: six in Elasticsearch, more in OpenSearch."""
_LISTED = {
    "/_component_template/": ("component_templates", "component_template"),
    "/_index_template/": ("index_templates", "index_template"),
}
_NUMBERED = {"/_plugins/_ism/policies/": "policy", "/_plugins/_transform/": "transform"}
_REPOSITORIES = "/_snapshot/"
_NAMED = (
    "/_ingest/pipeline/",
    "/_search/pipeline/",
    _REPOSITORIES,
    "/_security/role/",
    _XPACK_USERS,
    "/_security/role_mapping/",
    *(f"{_SECURITY}{kind}/" for kind in ("roles", "rolesmapping", "tenants", "actiongroups", "internalusers")),
)
_PERMANENT = tuple(f"{_SECURITY}{name}" for name in ("securityconfig", "audit"))
"""What the security plugin always has, below the paths where it is read: `config` is where it is written."""
_OTHERS = ("/_scripts/", "/_ilm/policy/", "/_plugins/_sm/policies/", "/_enrich/policy/")
_ROOTS = (*_LISTED, *_NUMBERED, *_NAMED, *_OTHERS)
_ALIAS = "/_alias/"
_MEDIA_TYPES = frozenset({"application/json", "text/plain", "application/x-www-form-urlencoded"})
Reply = tuple[int, Json]
"""A status code and a document."""
_ACKNOWLEDGED: Reply = (200, {"acknowledged": True})


def concerned(path: str) -> bool:
    """Return whether a request to a path is about stored objects."""
    return path == "/_aliases" or path.startswith((_ALIAS, *_ROOTS)) or path.removesuffix("/config") in _PERMANENT


def is_user(path: str) -> bool:
    """Return whether a path is that of one user."""
    return path.startswith((USERS, _XPACK_USERS))


def alias_path(index: str, name: str) -> str:
    """Return the path by which the alias of one index is named here."""
    return f"/{index}{_ALIAS}{name}"


def changed_by(method: str, path: str, body: Json) -> dict[str, bool]:
    """Return the paths of the objects that a request changes, each with whether it removes the object."""
    if path == "/_aliases":
        actions = [next(iter(action.items())) for action in body["actions"]]
        return {alias_path(asked["index"], asked["alias"]): verb == "remove" for verb, asked in actions}
    inside = path.startswith(_REPOSITORIES) and "/" in path.removeprefix(_REPOSITORIES)
    if method == "GET" or not path.startswith(_ROOTS) or inside:
        return {}
    return {path: method == "DELETE"}


@dataclass(slots=True)
class StoredObject:
    """One object, and the sequence number of its last write."""

    body: Json
    number: int


@dataclass(slots=True)
class StoredObjects:
    """All objects of one database, by path, and the aliases by index and name."""

    by_path: dict[str, StoredObject] = field(default_factory=dict[str, StoredObject])
    aliases: dict[tuple[str, str], Json] = field(default_factory=dict[tuple[str, str], Json])
    indices: set[str] = field(default_factory=set[str])
    writes: int = 0
    passwords: dict[str, str] = field(default_factory=dict[str, str])
    """The passwords of users, by path."""
    unusable: set[str] = field(default_factory=set[str])
    """The names of repositories that nodes cannot read and write: they are stored, and fail when they are used."""

    def users(self) -> list[str]:
        """Return the names of the internal users."""
        return sorted(path.removeprefix(USERS) for path in self.by_path if path.startswith(USERS))

    def repositories(self) -> list[str]:
        """Return the names of the snapshot repositories."""
        return [path.removeprefix(_REPOSITORIES) for path in self.by_path if path.startswith(_REPOSITORIES)]

    def content(self, path: str) -> Json | None:
        """Return the object at a path as it is stored, also an alias of one index; None if there is none."""
        if _ALIAS in path:
            index, _, name = path.removeprefix("/").partition(_ALIAS)
            return self.aliases.get((index, name))
        found = self.by_path.get(path)
        return None if found is None else found.body

    def form(self, path: str, body: Json) -> Json:
        """Return a body as the database stores it at a path."""
        root = next((root for root in _ROOTS if path.startswith(root)), "")
        return _alias_in_own_form(body) if _ALIAS in path else _in_own_form(root, body)

    def put(self, path: str, body: Json | None) -> None:
        """Let another client change the object at a path, or remove it (None), whatever was there."""
        self.writes += 1
        if _ALIAS in path:
            index, _, name = path.removeprefix("/").partition(_ALIAS)
            self.aliases.pop((index, name), None)
            if body is not None and index in self.indices:
                self.aliases[index, name] = self.form(path, body)
            return
        self.by_path.pop(path, None)
        if body is None:
            self.passwords.pop(path, None)
        else:
            self._set_password(path, body)
            self.by_path[path] = StoredObject(self.form(path, body), self.writes)

    def used_by(self, path: str) -> list[str]:
        """Return the paths of the objects that keep the one at a path from being removed."""
        name = path.removeprefix("/_component_template/")
        return [
            other for other, found in self.by_path.items() if name != path and name in found.body.get("composed_of", [])
        ]

    def trouble(self, path: str, body: Json) -> str | None:
        """Return why the database refuses a body at a path; None if it accepts it."""
        if _ALIAS in path:
            index = path.removeprefix("/").partition(_ALIAS)[0]
            return None if index in self.indices else f"no such index [{index}]"
        return self._trouble(next((root for root in _ROOTS if path.startswith(root)), ""), path, body)

    def answer(self, method: str, path: str, params: Mapping[str, str], body: Json) -> Reply | None:
        """Return the reply to a request; None if it concerns no such object."""
        if path == "/_aliases":
            return self._change_aliases(body["actions"])
        if path.startswith(_ALIAS):
            asked = path.removeprefix(_ALIAS)
            found = {i: {"aliases": {name: each}} for (i, name), each in self.aliases.items() if name == asked}
            return (200, found) if found else _missing()
        if path.removesuffix("/config") in _PERMANENT:
            return self._permanent(method, path, body)
        root = next((root for root in _ROOTS if path.startswith(root)), None)
        if root is None:
            return None
        name = path.removeprefix(root)
        if method == "GET":
            found = self.by_path.get(path)
            return _missing() if found is None else (200, _shown(root, name, found))
        return self._delete(path, name) if method == "DELETE" else self._put(method, root, name, params, body)

    def _permanent(self, method: str, path: str, body: Json) -> Reply:
        kept = self.by_path.setdefault(path.removesuffix("/config"), StoredObject({"enabled": True}, 0))
        if method == "GET" and not path.endswith("/config"):
            return 200, {"_readonly": [], "config": kept.body}
        if method != "PUT" or not path.endswith("/config"):
            return _refusal(405, "method_not_allowed", f"{method} {path}")
        self.writes += 1
        kept.body = body
        return 200, {"status": "OK", "message": "updated"}

    def _put(self, method: str, root: str, name: str, params: Mapping[str, str], body: Json) -> Reply:
        if root == _REPOSITORIES and name.endswith("/_verify"):
            name = name.removesuffix("/_verify")
            return self._used(name) if root + name in self.by_path else _missing()
        path = f"{root}{name}"
        found = self.by_path.get(path)
        if params.get("create") == "true" and found is not None:
            return _refusal(400, "illegal_argument_exception", f"[{name}] already exists")
        if root in _NUMBERED or root == "/_plugins/_sm/policies/":
            expected = params.get("if_seq_no")
            creates = method == "POST" or (root in _NUMBERED and expected is None)
            if creates is (found is not None) or (found is not None and str(found.number) != expected):
                return _refusal(409, "version_conflict_engine_exception", f"[{name}]: version conflict")
        if (trouble := self._trouble(root, path, body)) is not None:
            return _refusal(400, "illegal_argument_exception", trouble)
        self.writes += 1
        self._set_password(path, body)
        self.by_path[path] = StoredObject(_in_own_form(root, body), self.writes)
        return self._used(name) if root == _REPOSITORIES and params.get("verify") != "false" else _ACKNOWLEDGED

    def _set_password(self, path: str, body: Json) -> None:
        """Set the password of a user; a body without one leaves that of a user who exists."""
        if is_user(path) and "password" in body:
            self.passwords[path] = body["password"]

    def _used(self, repository: str) -> Reply:
        """Return the reply to a verification, as OpenSearch 2.19.3 words it."""
        if repository not in self.unusable:
            return _ACKNOWLEDGED
        text = f"[{repository}] path is not accessible on cluster-manager node"
        return _refusal(500, "repository_verification_exception", text)

    def _trouble(self, root: str, path: str, body: Json) -> str | None:
        if is_user(path):
            return self._wrong_password(path, body.get("password"))
        if root == "/_index_template/":
            if not body.get("index_patterns"):
                return "index patterns are missing"
            parts = cast("list[str]", body.get("composed_of", []))
            missing = [part for part in parts if f"/_component_template/{part}" not in self.by_path]
            return f"index template specifies component templates {missing} that do not exist" if missing else None
        if root in _NUMBERED and _NUMBERED[root] not in body:
            return f"Missing required field: {_NUMBERED[root]}"
        return next(_wrong_types(body), None) if root == "/_ingest/pipeline/" else None

    def _wrong_password(self, path: str, password: str | None) -> str | None:
        if password is None:
            return None if path in self.by_path else "a new user needs a password"
        return None if len(password) >= SHORTEST_PASSWORD else "the password is too short"

    def _delete(self, path: str, name: str) -> Reply:
        if path not in self.by_path:
            return _missing()
        if users := self.used_by(path):
            return _refusal(400, "illegal_argument_exception", f"[{name}] cannot be removed, it is used by {users}")
        self.writes += 1
        del self.by_path[path]
        self.passwords.pop(path, None)
        return 200, {"acknowledged": True}

    def _change_aliases(self, actions: list[Json]) -> Reply:
        for action in actions:
            (verb, asked), *_ = action.items()
            key = (asked["index"], asked["alias"])
            if asked["index"] not in self.indices:
                return _refusal(404, "index_not_found_exception", f"no such index [{asked['index']}]")
            self.writes += 1
            if verb == "remove":
                self.aliases.pop(key, None)
            else:
                self.aliases[key] = _alias_in_own_form(asked)
        return 200, {"acknowledged": True}


def _wrong_types(pipeline: Json) -> Iterator[str]:
    """Yield why the database refuses processors that set a value: its words repeat what was sent."""
    for processor in cast("list[Json]", pipeline.get("processors", [])):
        kind = cast("Json", processor.get("set", {})).get("media_type", "text/plain")
        if kind not in _MEDIA_TYPES:
            yield f"[media_type] property does not contain a supported media type [{kind}]"


def _shown(root: str, name: str, found: StoredObject) -> Json:
    """Return an object as the GET of its path shows it."""
    numbers = {"_id": name, "_version": 1, "_seq_no": found.number, "_primary_term": 1}
    if root in _LISTED:
        many, one = _LISTED[root]
        return {many: [{"name": name, one: found.body}]}
    if root in _NUMBERED:
        inner = {**found.body[_NUMBERED[root]], f"{_NUMBERED[root]}_id": name, "last_updated_time": found.number}
        return {**numbers, _NUMBERED[root]: inner}
    if root == "/_plugins/_sm/policies/":
        return {**numbers, "_id": f"{name}-sm-policy", "sm_policy": {"name": name, **found.body}}
    special: dict[str, Json] = {
        "/_scripts/": {"_id": name, "found": True, "script": found.body.get("script")},
        "/_ilm/policy/": {name: {"version": found.number, "policy": found.body.get("policy")}},
        "/_enrich/policy/": {"policies": [{"config": found.body}]},
    }
    return special.get(root, {name: found.body})


def _in_own_form(root: str, body: Json) -> Json:
    """Return a body as the database shows it: settings of indices as text, roles with their flags, no passwords."""
    if root in (USERS, _XPACK_USERS):
        shown = {key: value for key, value in body.items() if key != "password"}
        flags = {"hash": "", "reserved": False, "hidden": False, "static": False}
        return {**flags, **shown} if root == USERS else {"full_name": None, "email": None, "enabled": True, **shown}
    if root in _LISTED and "settings" in body.get("template", {}):
        settings: dict[str, Any] = {}
        for key, value in flatten(body["template"]["settings"]):
            settings[key.removeprefix("index.")] = str(value).lower() if isinstance(value, bool) else str(value)
        nested = {"index": settings}
        return {**body, "template": {**body["template"], "settings": nested}}
    if root == f"{_SECURITY}roles/":
        return {"reserved": False, "hidden": False, "static": False, "index_permissions": [], **body}
    return body


def _alias_in_own_form(asked: Json) -> Json:
    """Return an alias as the database shows it: with routing for search and for indexing."""
    shown = {name: value for name, value in asked.items() if name not in ("index", "alias", "routing")}
    both = {name: asked["routing"] for name in ("index_routing", "search_routing") if "routing" in asked}
    return {**shown, **both}


def _missing() -> Reply:
    return _refusal(404, "resource_not_found_exception", "not found")


def _refusal(status: int, kind: str, reason: str) -> Reply:
    return status, {"error": {"type": kind, "reason": reason}, "status": status}
