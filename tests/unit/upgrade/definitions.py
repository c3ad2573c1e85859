"""CRDs and example manifests of released versions, and what a later version may not take from them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import KINDS
from stateward.api.values.base import Json
from tests.unit.upgrade.cases import CASES
from tests.unit.upgrade.frozen import RELEASED

DEFINITIONS, MANIFESTS = "definitions.gz", "manifests.yaml"
NAMES = ("kind", "plural", "singular", "shortNames", "categories")
LOWER, UPPER = ("minimum", "minLength", "minItems", "minProperties"), ("maximum", "maxLength", "maxItems")
SAME = ("pattern", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
LOOSE = "x-kubernetes-preserve-unknown-fields"
ENGINES = {kind.plural: kind for kind in KINDS}
PLURALS = {"opensearch": "osclusters", "elasticsearch": "esclusters", "foundationdb": "fdbclusters"}


def definitions(folder: Path) -> dict[str, Json]:
    """Return the CRDs of a released version, by plural."""
    found: dict[str, Json] = json.loads(gzip.decompress((folder / DEFINITIONS).read_bytes()))
    return found


def manifests(folder: Path) -> list[Json]:
    """Return the example manifests of a released version."""
    return list(yaml.safe_load_all((folder / MANIFESTS).read_text()))


def write_definitions(folder: Path) -> None:
    """Write the CRDs of the current version, and manifests that users of it may have."""
    folder.mkdir(parents=True, exist_ok=True)
    found = json.dumps({kind.plural: crd(kind) for kind in KINDS}, sort_keys=True).encode()
    (folder / DEFINITIONS).write_bytes(gzip.compress(found, mtime=0))
    examples = [yaml.safe_load(kind.example) for kind in KINDS]
    for name, case in CASES.items():
        kind = ENGINES[PLURALS[case.engine]]
        metadata = {"name": f"frozen-{name}"}
        examples.append(
            {"apiVersion": "stateward.dev/v1alpha1", "kind": kind.name, "metadata": metadata, "spec": case.spec}
        )
    (folder / MANIFESTS).write_text(yaml.safe_dump_all(examples, sort_keys=False, width=120))


def released() -> list[Path]:
    """Return the folders of the released versions."""
    return sorted(path for path in RELEASED.iterdir() if path.is_dir())


def taken(old: Json, new: Json) -> Iterator[str]:
    """Yield what a CRD no longer accepts, as sentences."""
    for name in NAMES:
        before, after = old["spec"]["names"].get(name), new["spec"]["names"].get(name)
        if isinstance(before, list) and not set(before) <= set(after or ()):
            yield f"names.{name} has lost {sorted(set(before) - set(after or ()))}"
        elif not isinstance(before, list) and before != after:
            yield f"names.{name} was {before}"
    if old["spec"]["scope"] != new["spec"]["scope"]:
        yield f"the scope was {old['spec']['scope']}"
    versions = {each["name"]: each for each in new["spec"]["versions"] if each["served"]}
    for each in old["spec"]["versions"]:
        if each["served"] and each["name"] not in versions:
            yield f"{each['name']} is not served"
        elif each["served"]:
            before, after = (
                one["schema"]["openAPIV3Schema"]["properties"]["spec"] for one in (each, versions[each["name"]])
            )
            yield from narrowed(before, after, "spec")


def narrowed(old: Json, new: Json, path: str) -> Iterator[str]:
    """Yield what a schema accepts less than the one before, as sentences."""
    if new.get("type") != old.get("type") and (old.get("type"), new.get("type")) != ("integer", "number"):
        yield f"{path}: the type was {old.get('type')}"
    for flag in ("nullable", LOOSE, "x-kubernetes-int-or-string"):
        if old.get(flag) and not new.get(flag):
            yield f"{path}: {flag} is gone"
    if "enum" in new and not set(map(str, old.get("enum", ["any value"]))) <= set(map(str, new["enum"])):
        yield f"{path}: accepted are only {new['enum']}"
    for key in SAME:
        if key in new and old.get(key) != new[key]:
            yield f"{path}: {key} was {old.get(key)}"
    yield from _limits(old, new, path)
    if more := set(new.get("required", ())) - set(old.get("required", ())):
        yield f"{path}: {sorted(more)} is required"
    yield from _rules(old, new, path)
    yield from _parts(old, new, path)


def _rules(old: Json, new: Json, path: str) -> Iterator[str]:
    rules = {each["rule"] for each in old.get("x-kubernetes-validations", ())}
    for each in new.get("x-kubernetes-validations", ()):
        if each["rule"] not in rules:
            yield f"{path}: there is a new rule: {each['rule']}"


def _limits(old: Json, new: Json, path: str) -> Iterator[str]:
    for keys, sign in ((LOWER, 1), (UPPER, -1)):
        for key in keys:
            if key in new and (key not in old or sign * new[key] > sign * old[key]):
                yield f"{path}: {key} was {old.get(key)} and is {new[key]}"


def _parts(old: Json, new: Json, path: str) -> Iterator[str]:
    loose = new.get(LOOSE) or new.get("additionalProperties")
    known: dict[str, Any] = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        if name in known:
            yield from narrowed(schema, known[name], f"{path}.{name}")
        elif not loose:
            yield f"{path}.{name} is gone"
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from narrowed(before, after, f"{path}{mark}")
        elif before and not after and not new.get(LOOSE):
            yield f"{path}{mark} is gone"
