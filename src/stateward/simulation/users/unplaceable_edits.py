"""Valid edits that no node can satisfy: they must not harm healthy members."""

from stateward.api.values.base import Json
from stateward.simulation.apiserver.documents import part
from stateward.simulation.users.edits import Draft, Edit

NO_SUCH_CLASS = "no-such-class"
NO_SUCH_PRIORITY = "no-such-priority"
TOO_MUCH = "512Gi"
"""More memory than any node of the world has."""


def _class(draft: Draft) -> bool:
    storage = draft.storage()
    if storage is None:
        return False
    storage["storageClass"] = NO_SUCH_CLASS
    return True


def _classes(draft: Draft) -> bool:
    """Misspell the class of all pools at once, as in an edit by search and replace."""
    for pool in draft.pools:
        if not pool["storage"].get("ephemeral"):
            pool["storage"]["storageClass"] = NO_SUCH_CLASS
    return True


def _memory(draft: Draft) -> bool:
    draft.pool()["resources"] = {"limits": {"memory": TOO_MUCH}}
    return True


def _selector(draft: Draft) -> bool:
    draft.pool()["podTemplate"] = {"spec": {"nodeSelector": {"no-such": "label"}}}
    return True


def _selector_and_class(draft: Draft) -> bool:
    """Request another class on nodes that do not exist: the class alone would replace all members."""
    pool = draft.pool()
    if pool["storage"].get("ephemeral"):
        return False
    pool["podTemplate"] = {"spec": {"nodeSelector": {"no-such": "label"}}}
    pool["storage"]["storageClass"] = "fast"
    return True


def _priority(draft: Draft) -> bool:
    draft.pool()["podTemplate"] = {"spec": {"priorityClassName": NO_SUCH_PRIORITY}}
    return True


def _surge(draft: Draft) -> bool:
    update = draft.spec.setdefault("update", {})
    if update.pop("surge", None) is None:
        update["surge"] = "Preferred"
    return True


UNPLACEABLE_EDITS = (
    Edit("unknown storage class", 2, _class),
    Edit("unknown storage class for all pools", 1, _classes),
    Edit("more memory than any node has", 1, _memory),
    Edit("unsatisfiable node selector", 1, _selector),
    Edit("storage class changed with an unsatisfiable selector", 1, _selector_and_class),
    Edit("unknown priority class", 1, _priority),
    Edit("surge toggled", 1, _surge),
)


def make_placeable(holder: Json) -> None:
    """Remove unsatisfiable fields of a spec or of a pool."""
    spec = part(holder, "podTemplate", "spec")
    if "nodeSelector" in spec or "priorityClassName" in spec:
        del holder["podTemplate"]
    if part(holder, "resources", "limits").get("memory") == TOO_MUCH:
        del holder["resources"]
    if part(holder, "storage").get("storageClass") == NO_SUCH_CLASS:
        del holder["storage"]["storageClass"]
