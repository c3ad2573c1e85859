"""The objects that users declare in a world: their paths in the database, and their bodies with the values of Secrets.

Written from the reference of the products, without the operator's table of kinds: so a mistake there is not repeated.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.settings import ENABLE, EXCLUDE, REBALANCE
from stateward.simulation.opensearch.stored_objects import alias_path
from stateward.simulation.world.world import World

OBJECTS = "stateward.dev/searchobjects"
SNAPSHOTS = "stateward.dev/searchsnapshots"
SCHEDULES = "stateward.dev/searchsnapshotschedules"
RESTORES = "stateward.dev/searchrestores"
USERS = "stateward.dev/searchusers"
DECLARED = frozenset({OBJECTS, SNAPSHOTS, SCHEDULES, RESTORES, USERS})
"""The kinds of declared resources of a world, of which the operator writes the status and the finalizers."""
SECRETS = "/secrets"
USER_ROOTS: Mapping[str, str] = {
    "opensearch": "/_plugins/_security/api/internalusers/",
    "elasticsearch": "/_security/user/",
}
"""The path of users, by engine."""
SETTINGS_LABEL = "clusterSettings"
"""The object of resources that declare settings, each of which is an object of its own."""
NOTE = "stateward.dev/search-object"
"""The key under which an object may name its owner."""
_COMMON = {
    "componentTemplate": "/_component_template/",
    "indexTemplate": "/_index_template/",
    "ingestPipeline": "/_ingest/pipeline/",
    "snapshotRepository": "/_snapshot/",
}
ROOTS: Mapping[str, Mapping[str, str]] = {
    "opensearch": {**_COMMON, "role": "/_plugins/_security/api/roles/", "ismPolicy": "/_plugins/_ism/policies/"},
    "elasticsearch": {**_COMMON, "role": "/_security/role/", "ilmPolicy": "/_ilm/policy/"},
}
"""The path of each kind, by engine."""


def path_of(engine: str, label: str) -> str:
    """Return the path in the database of an object such as `role/reader` or `alias/INDEX/NAME`."""
    kind, _, name = label.partition("/")
    return alias_path(*name.split("/")) if kind == "alias" else f"{ROOTS[engine][kind]}{name}"


def connection_of(user: Stored) -> Key:
    """Return the Secret from which applications of a SearchUser connect."""
    name = part(user.doc, "spec").get("connectionSecretName") or f"{user.key.name}-connection"
    return Key(user.key.namespace, name)


def owner_of(secret: Stored) -> str:
    """Return the UID of the SearchUser to which a Secret belongs; empty if it belongs to none."""
    owners: list[Json] = secret.meta.get("ownerReferences") or []
    return next((each["uid"] for each in owners if each["kind"] == "SearchUser"), "")


def texts_of(secret: Stored | None) -> dict[str, str]:
    """Return the content of a Secret as texts; nothing if there is none."""
    data: dict[str, str] = part(secret.doc, "data") if secret is not None else {}
    return {key: base64.b64decode(value).decode(errors="replace") for key, value in data.items()}


def wanted_body(world: World, resource: Stored) -> Json | None:
    """Return the body that a resource declares; None without one of its Secrets."""
    body: Any = part(resource.doc, "spec", "body")
    for value in items(resource.doc, "spec", "values"):
        secret = world.store.get(SECRETS, Key(resource.key.namespace, value["secretName"]))
        text = part(secret.doc, "data").get(value["key"]) if secret is not None else None
        if text is None:
            return None
        body = _placed(body, value["path"].split("/")[1:], base64.b64decode(text).decode())
    return body


def _placed(document: Any, way: list[str], text: str) -> Any:
    if not way:
        return text
    step, *rest = way
    if isinstance(document, list):
        inner = cast("list[Any]", document)
        return [_placed(each, rest, text) if str(number) == step else each for number, each in enumerate(inner)]
    return {**document, step: _placed(document.get(step, {}), rest, text)}


def is_throwaway(name: str) -> bool:
    """Return whether a name is that of a throw-away cluster, or of what is made in it."""
    return name.startswith("verify-")


def cluster_of(resource: Stored) -> str:
    """Return the name of the cluster of a declared resource."""
    return resource.doc["spec"]["cluster"]["name"]


def is_settings(resource: Stored) -> bool:
    """Return whether a SearchObject declares cluster settings."""
    return resource.doc["spec"].get("object") == SETTINGS_LABEL


def own_setting(key: str) -> bool:
    """Return whether a setting is one that the operator changes around restarts and removals, or its note about it."""
    return key in (ENABLE, EXCLUDE, REBALANCE) or key.startswith("cluster.metadata.stateward")


def wanted_settings(resource: Stored) -> dict[str, str]:
    """Return the declared settings by their dotted names, as the database stores them."""
    body = part(resource.doc, "spec", "body")
    return dict(_dotted(body["persistent"] if list(body) == ["persistent"] else body, ""))


def _dotted(settings: Json, root: str) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _dotted(cast("Json", value), f"{root}{key}.")
        else:
            yield f"{root}{key}", str(value)


def without_note(body: Any) -> Any:
    """Return a stored body without the note about its owner."""
    if isinstance(body, list):
        return [without_note(each) for each in cast("list[Any]", body)]
    if not isinstance(body, dict):
        return body
    found = cast("Json", body)
    return {
        key: without_note(inner)
        for key, inner in found.items()
        if key != NOTE and not (isinstance(inner, dict) and list(cast("Json", inner)) == [NOTE])
    }


def owner_in(body: Any) -> str:
    """Return the owner that a stored body names, as NAMESPACE/NAME; empty without a note."""
    if not isinstance(body, dict):
        return ""
    found = cast("Json", body)
    inner = (owner_in(each) for each in found.values())
    return str(found[NOTE]) if NOTE in found else next((owner for owner in inner if owner), "")
