"""Checks each request of the operator that changes cluster settings, and what there is of them in the end.

Each setting is an object of its own. The letters are those of docs/properties.md.
"""

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from stateward.api.values.base import Json
from stateward.engines.connection.base import Call
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.settings import UNKNOWN
from stateward.simulation.properties.declared.statuses import is_ready, judged, reason_of
from stateward.simulation.properties.declared.task_audit import DONE, TaskAudit
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.declared_objects import OBJECTS, is_settings, own_setting, wanted_settings
from stateward.simulation.world.world import World

PATH = "/_cluster/settings"


class Setter(NamedTuple):
    """The resource for which a setting was last written, and its value then."""

    uid: str
    value: str


class Agreed(NamedTuple):
    """What a resource declared and the database had when its status became Ready."""

    identity: str
    body: Json
    values: Mapping[str, str | None]
    requests: int


class SettingsWatchdog(TaskAudit):
    """Checks cluster settings, declared ones and those of the operator itself."""

    def __init__(self, world: World, violations: list[Violation]) -> None:
        super().__init__(world, violations)
        self._setters: dict[tuple[str, str], Setter] = {}
        """By the identity of a database and the setting."""
        self._agreed: dict[str, Agreed] = {}
        """By UID."""
        self._written: dict[str, int] = {}
        """How often the operator has written settings for a resource, by UID."""
        world.store.subscribers.append(self._on_event)

    # The API server.

    def read(self, kind: str, key: Key) -> None:
        """Record a live read of a resource."""
        task = asyncio.current_task()
        if kind == OBJECTS and task is not None:
            self._resources[task] = self._world.store.get(kind, key)

    # The databases.

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check a request right before the database performs it."""
        if call.path != PATH or call.method != "PUT":
            return
        body: Json = call.body or {}
        if not self.beside():
            for key in sorted({*body.get("persistent", {}), *body.get("transient", {})}):
                if not own_setting(key):
                    self._violated("l", f"the setting {key} is changed, which is not the operator's")
            return
        session, resource = self._session(), self._resource()
        if resource is None or not is_settings(resource) or body.keys() != {"persistent"}:
            self._violated("l", f"{sorted(body)} is set, which the resource that was read does not declare")
            return
        if len(session.versions) != 1:
            self._violated("k", "settings are written while the versions of the members are not one")
        if PATH not in session.seen:
            self._violated("l", "settings are written without a read before")
            return
        seen: dict[str, str] = session.seen[PATH]
        for key, value in body["persistent"].items():
            self._check(cluster, resource, seen.get(key), key, value)
        self._check_drift(cluster, resource, seen)

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note what was read or written."""
        resource = self._resource()
        if resource is None or not is_settings(resource):
            return
        self._note_versions(cluster, call)
        if call.path == PATH and call.method == "GET":
            self._session().seen[PATH] = dict(cluster.settings.persistent)
        elif call.path == PATH and status < DONE:
            self.requests += 1
            self._written[resource.uid] = self._written.get(resource.uid, 0) + 1
            self._world.context.count("declared: operator writes settings")
            changed: dict[str, object] = (call.body or {})["persistent"]
            self._world.context.trace(f"the operator sets {changed} for {resource.key.name}")
            for key, value in changed.items():
                self._setters.pop((cluster.identity, key), None)
                if value is not None:
                    self._setters[cluster.identity, key] = Setter(resource.uid, str(value))

    def _check(self, cluster: Cluster, resource: Stored, seen: str | None, key: str, value: object) -> None:
        spec, wanted, name = part(resource.doc, "spec"), wanted_settings(resource), resource.key.name
        if own_setting(key):
            self._violated("l", f"the setting {key} is written for {name}, which is the operator's")
        consent = self._set_by(resource, cluster, key) or seen is None or spec.get("existing", "Refuse") != "Refuse"
        if value is None:
            deleted = resource.terminating and spec.get("deletionPolicy", "Delete") == "Delete"
            dropped = not resource.terminating and key not in wanted
            if not deleted and not dropped:
                self._violated("m", f"the setting {key} is reset, although {name} does not ask for that")
            if not consent:
                self._violated("m", f"the setting {key} is reset, which {name} has not written")
            return
        if resource.terminating or spec.get("paused") or wanted.get(key) != str(value):
            self._violated("l", f"the setting {key} is written, which {name} does not ask for")
        if not consent and seen != str(value):
            self._violated("l", f"the setting {key} is written, which others had made, without consent of {name}")

    def _check_drift(self, cluster: Cluster, resource: Stored, seen: Mapping[str, str]) -> None:
        """Check that no change of another client is undone that is only to be reported."""
        spec, agreed = part(resource.doc, "spec"), self._agreed.get(resource.uid)
        if resource.terminating or spec.get("drift") != "Report" or agreed is None:
            return
        if (agreed.identity, agreed.body) != (cluster.identity, spec["body"]):
            return
        unwritten = agreed.requests == self._written.get(resource.uid, 0)
        if unwritten and any(seen.get(key) != value for key, value in agreed.values.items()):
            self._violated(
                "l", f"settings of {resource.key.name} are written over a change that is only to be reported"
            )

    # Resources.

    def _on_event(self, kind: str, event: Event) -> None:
        if kind != OBJECTS:
            return
        if event.new is None:
            if event.old is not None and is_settings(event.old):
                self._gone(event.old)
            return
        database = self._world.database()
        if database is None or not is_settings(event.new) or not is_ready(event.new):
            return
        if part(event.new.doc, "status").get("clusterUUID") == database.identity:
            values = {key: database.settings.persistent.get(key) for key in wanted_settings(event.new)}
            count = self._written.get(event.new.uid, 0)
            self._agreed[event.new.uid] = Agreed(database.identity, part(event.new.doc, "spec")["body"], values, count)

    def _gone(self, resource: Stored) -> None:
        """Check that settings have their defaults back with the end of their resource, if it says so."""
        self._agreed.pop(resource.uid, None)
        cluster, database = self._world.resource(), self._world.database()
        asked = part(resource.doc, "spec").get("deletionPolicy", "Delete") == "Delete"
        identity = part(resource.doc, "status").get("clusterUUID")
        for place, setter in list(self._setters.items()):
            if setter.uid != resource.uid:
                continue
            del self._setters[place]
            if database is None or database.identity != place[0] or cluster is None or cluster.terminating:
                continue
            if asked and identity == place[0] and database.settings.persistent.get(place[1]) == setter.value:
                self._violated("m", f"{resource.key.name} is gone, and its setting {place[1]} is left in the database")

    # The end.

    def unmet(self) -> Iterator[str]:
        """Yield each resource whose settings are not in the database as declared, and that does not truly say why."""
        database, found = self._world.database(), [s for s in self._world.store.all(OBJECTS) if is_settings(s)]
        for resource in found:
            others = [other for other in found if other.uid != resource.uid]
            says_why = partial(self._says_why, resource, others=others)
            yield from judged(resource, "SearchObject", database, partial(self._differences, resource), says_why)

    def _differences(self, resource: Stored, database: Cluster) -> Iterator[str]:
        name, stored, wanted = resource.key.name, database.settings.persistent, wanted_settings(resource)
        for key, value in wanted.items():
            if stored.get(key) != value:
                yield f"the SearchObject {name} is Ready, and {key} is {stored.get(key)} instead of {value}"
        for (identity, key), setter in self._setters.items():
            mine = setter.uid == resource.uid and identity == database.identity and key not in wanted
            if mine and stored.get(key) == setter.value:
                yield f"the SearchObject {name} does not declare {key} any more, and it is still {setter.value}"

    def _says_why(self, resource: Stored, database: Cluster, *, others: list[Stored]) -> bool:
        stored, wanted = database.settings.persistent, wanted_settings(resource)
        differs = [key for key, value in wanted.items() if stored.get(key) != value]
        true = {
            "Exists": any(key in stored and not self._is_known(resource, database, key) for key in wanted),
            "OwnerUnknown": any(
                key in stored and key not in wanted for key in items(resource.doc, "status", "unwritten")
            ),
            "Drifted": part(resource.doc, "spec").get("drift") == "Report" and bool(differs),
            "Conflict": any(wanted.keys() & wanted_settings(other).keys() for other in others),
            "SettingHeld": any(wanted.keys() & set(items(other.doc, "status", "settings")) for other in others),
            "Refused": UNKNOWN in wanted,
            "InvalidSpec": any(map(own_setting, wanted)),
        }
        return true.get(reason_of(resource), False)

    def _is_known(self, resource: Stored, database: Cluster, key: str) -> bool:
        """Return whether the operator knows that it has written a setting for a resource.

        It does not know while the answer to the write was lost, and another client or an edit has changed what is there
        or declared. Once the resource was Ready with the setting in this database, it knew.
        """
        setter, agreed = self._setters.get((database.identity, key)), self._agreed.get(resource.uid)
        knew = agreed is not None and agreed.identity == database.identity and key in agreed.values
        return setter is not None and setter.uid == resource.uid and knew

    def _set_by(self, resource: Stored, cluster: Cluster, key: str) -> bool:
        setter = self._setters.get((cluster.identity, key))
        return setter is not None and setter.uid == resource.uid
