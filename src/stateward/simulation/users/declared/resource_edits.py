"""What people do with declared resources of any kind: the base of the users beside this."""

from typing import Any

from stateward.api.values.base import API_VERSION, Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.world.declared_objects import cluster_of
from stateward.simulation.world.world import NAME, NAMESPACE, World

USER = "kubectl"
TOGGLED: tuple[tuple[str, Any, Any], ...] = (
    ("drift", "Report", "Correct"),
    ("deletionPolicy", "Retain", "Delete"),
    ("existing", "Adopt", "Refuse"),
    ("paused", True, False),
)
"""Fields of a SearchObject, each with its value and the usual one."""


class ResourceEdits:
    """Creates, changes and deletes declared resources of one cluster; `stream` names the source of its choices."""

    def __init__(self, world: World, stream: str) -> None:
        self._world = world
        self._rng = world.context.stream(stream)

    def _declared(self, kind: str) -> list[Stored]:
        """Return the resources of a kind for the cluster, in order of name."""
        found = (stored for stored in self._world.store.all(kind) if cluster_of(stored) == NAME)
        return sorted(found, key=lambda stored: stored.key)

    def _declare(self, kind: str, name: str, spec: Json, *, resource: str) -> bool:
        """Create a resource, whose kind is called `resource` in files; return False if its name is taken."""
        if self._world.store.get(kind, Key(NAMESPACE, name)) is not None:
            return False
        cluster = {"kind": self._world.kind.resource.kind, "name": NAME}
        whole = {"cluster": cluster, **spec}
        body = {"apiVersion": API_VERSION, "kind": resource, "metadata": {"name": name}, "spec": whole}
        self._world.server.create(kind, NAMESPACE, body, USER)
        return True

    def _remove(self, stored: Stored) -> bool:
        """Delete a resource; return False if it is being deleted already."""
        if stored.terminating:
            return False
        self._world.server.delete(stored.kind, stored.key, DeleteOptions(Preconditions(stored.uid)))
        return True

    def _change(self, stored: Stored, changes: Json) -> bool:
        """Change fields of a spec, and remove those that are None; return False if nothing changes or it is refused."""
        before: Json = stored.doc["spec"]
        after = {key: value for key, value in {**before, **changes}.items() if value is not None}
        if after == before:
            return False
        try:
            self._world.server.update(stored.kind, stored.key, {**stored.doc, "spec": after}, manager=USER)
        except ApiError:
            return False
        return True

    def _toggle_field(self, stored: Stored, field: str, value: Any, usual: Any) -> bool:
        now = part(stored.doc, "spec").get(field, usual)
        return self._change(stored, {field: usual if now == value else value})


def stalled_for(stored: Stored) -> set[str]:
    """Return why a resource is stalled; empty if it is not."""
    conditions = items(stored.doc, "status", "conditions")
    return {each["reason"] for each in conditions if each["type"] == "Stalled" and each["status"] == "True"}
