"""Checks overrides of pods: the shape of a pod, and nothing that would change a member's identity.

The whole schema of pods belongs to the API server, which checks the StatefulSets. This module checks what would be
noticed only there, or never: lists that are merged by name need names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, cast

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.products import Product, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.pod_policy import config_maps, references
from stateward.api.values.base import GROUP, Json
from stateward.api.values.names import ANNOTATION_RESTARTED
from stateward.api.values.problem import Problem
from stateward.api.values.settings import reason_owned

_NAMED = ("containers", "initContainers", "volumes", "imagePullSecrets")
_OWNED_BY_SET: Mapping[str, str] = {
    "restartPolicy": "members are StatefulSets, whose pods are always restarted",
    "hostname": "it is the name of the member",
    "hostnameOverride": "it is the name of the member",
    "subdomain": "it is the headless Service",
}
_OWNED_BY_ENGINE: Mapping[str, str] = {
    "image": "use spec.image, so that it matches spec.version",
    "command": "Stateward starts the database",
    "args": "Stateward starts the database; use {instead}",
}
_UPPER_CASE = re.compile(r"ES_SETTING(_{1,2}[A-Z]+)+")
"""Variables that the images of Elasticsearch take for settings, from 7.15 on (bin/elasticsearch-env)."""
_CONFIGURATION_FOLDERS = ("ES_PATH_CONF", "OPENSEARCH_PATH_CONF")
_OWNED_VARIABLE = "Stateward writes the configuration of each member into its folder; use spec.config"
MOST_NAMED = 500
"""Objects that the pods of a cluster may name.

The disaster this prevents: the operator reads them one by one, in each round, and one spec names sixteen thousand.
"""


class Database(Protocol):
    """What runs in the pods, as far as their templates speak of it."""

    @property
    def engine(self) -> str:
        """Name of the database's container."""
        ...

    @property
    def instead(self) -> str:
        """What to use instead of arguments."""
        ...


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `podTemplate`, of the cluster and of each pool."""
    product = product_of(cluster)
    yield from check_all(cluster, product)


def check_all(cluster: Cluster, database: Database) -> Iterator[Problem]:
    """Yield what is wrong with the overrides of a cluster of any engine."""
    templates = [("spec.podTemplate", cluster.spec.pod_template)]
    templates += [(f"spec.pools[{i}].podTemplate", pool.pod_template) for i, pool in enumerate(cluster.spec.pools)]
    for path, template in templates:
        yield from check_template(path, template, database)
    yield from check_named(templates)


def check_named(templates: Iterable[tuple[str, Json | None]]) -> Iterator[Problem]:
    """Yield the template, of those at these paths, with which pods name too many ConfigMaps, Secrets and other objects.

    It says nothing about a single template: what a pool changes of the template of all pools can only take names away.
    """
    known = set[tuple[str, str]]()
    for path, template in templates:
        known |= {(r.kind, r.name) for r in (*references(template or {}), *config_maps(template or {})) if r.name}
        if len(known) > MOST_NAMED:
            yield Problem(path, len(known), f"names too much: the pods of a cluster may name {MOST_NAMED} objects")
            return


def environment(template: Json | None, product: Product) -> dict[str, str]:
    """Return the plain environment variables that a template gives the database's container."""
    containers = listed(mapped(template or {}, "spec"), "containers")
    variables = [e for c in containers if c.get("name") == product.engine for e in listed(c, "env")]
    return {str(e["name"]): e["value"] for e in variables if "name" in e and isinstance(e.get("value"), str)}


def check_template(path: str, template: Json | None, product: Database) -> Iterator[Problem]:
    """Yield what is wrong with one template of pods, at a path of the spec."""
    for key, value in (template or {}).items():
        if key not in {"metadata", "spec"}:
            yield Problem(f"{path}.{key}", value, "a pod template has metadata and spec only")
        elif not isinstance(value, Mapping):
            yield Problem(f"{path}.{key}", value, "must be an object")
    yield from _metadata(f"{path}.metadata", mapped(template or {}, "metadata"))
    yield from _spec(f"{path}.spec", mapped(template or {}, "spec"), product)


def _metadata(path: str, metadata: Json) -> Iterator[Problem]:
    for key, value in metadata.items():
        if key not in {"labels", "annotations"}:
            yield Problem(f"{path}.{key}", value, "only labels and annotations can be set: names are the members'")
        elif not isinstance(value, Mapping):
            yield Problem(f"{path}.{key}", value, "must be a map of text")
        else:
            yield from _texts(f"{path}.{key}", cast("Mapping[str, Any]", value))


def _texts(path: str, values: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in values.items():
        if not isinstance(value, str):
            yield Problem(f"{path}[{name}]", value, "must be text: put it in quotes")
        if name.startswith(f"{GROUP}/") and not (name == ANNOTATION_RESTARTED and path.endswith(".annotations")):
            yield Problem(f"{path}[{name}]", value, f"cannot be set: {GROUP}/ is how Stateward finds its objects")


def _spec(path: str, spec: Json, product: Database) -> Iterator[Problem]:
    for key, reason in _OWNED_BY_SET.items():
        if key in spec:
            yield Problem(f"{path}.{key}", spec[key], f"cannot be set: {reason}")
    for key in _NAMED:
        yield from _names(f"{path}.{key}", spec.get(key))
    for volume in listed(spec, "volumes"):
        claim = mapped(mapped(mapped(volume, "ephemeral"), "volumeClaimTemplate"), "metadata")
        for key in ("labels", "annotations"):
            at = f"{path}.volumes[{volume.get('name')}].ephemeral.volumeClaimTemplate.metadata.{key}"
            yield from _texts(at, mapped(claim, key))
    for kind in ("containers", "initContainers"):
        for container in listed(spec, kind):
            ours = kind == "containers" and container.get("name") == product.engine
            yield from _container(f"{path}.{kind}[{container.get('name')}]", container, product if ours else None)


def _container(path: str, container: Json, product: Database | None) -> Iterator[Problem]:
    """Check a container; one that runs the database is given with its product."""
    yield from _names(f"{path}.env", container.get("env"))
    if product is None:
        return
    for key, reason in _OWNED_BY_ENGINE.items():
        if key in container:
            text = reason.format(instead=product.instead)
            yield Problem(f"{path}.{key}", container[key], f"cannot be set: {text}")
    for variable in listed(container, "env"):
        yield from _setting(f"{path}.env", variable)


def _setting(path: str, variable: Json) -> Iterator[Problem]:
    """Refuse owned settings here, too: the official image takes them from variables, and those win over the file."""
    name = str(variable.get("name"))
    reason = _OWNED_VARIABLE if name in _CONFIGURATION_FOLDERS else reason_owned(setting_of(name))
    if reason is not None:
        yield Problem(f"{path}[{name}]", variable.get("value"), f"cannot be set: {reason}")


def setting_of(variable: str) -> str:
    """Return the setting that the official images make of an environment variable; the name itself if it is none."""
    if _UPPER_CASE.fullmatch(variable) is None:
        return variable
    text = variable.removeprefix("ES_SETTING_").replace("_", ".")
    return text.replace("..", "_").lower()


def _names(path: str, items: Any) -> Iterator[Problem]:
    """Check that a list can be merged by name: every item has one, and no two the same."""
    if items is None:
        return
    if not isinstance(items, list):
        yield Problem(path, items, "must be a list")
        return
    entries = cast("list[Any]", items)
    names = [cast("Json", item).get("name") if isinstance(item, Mapping) else None for item in entries]
    counts = Counter(name for name in names if isinstance(name, str))
    for i, (item, name) in enumerate(zip(entries, names, strict=True)):
        if not isinstance(name, str) or not name:
            yield Problem(f"{path}[{i}]", item, "must be an object with a name, by which it is merged")
        elif counts[name] > 1 and name in names[:i]:
            yield Problem(f"{path}[{i}].name", name, "must be listed once")


def mapped(value: Json, key: str) -> Json:
    """Return an object inside of another one; empty if there is none."""
    inner = value.get(key)
    return cast("Json", inner) if isinstance(inner, Mapping) else {}


def listed(value: Json, key: str) -> list[Json]:
    """Return the objects in a list; empty if there is none."""
    inner = value.get(key)
    items = cast("list[Any]", inner) if isinstance(inner, list) else []
    return [cast("Json", item) for item in items if isinstance(item, Mapping)]
