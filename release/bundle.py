"""The OLM bundle: the objects of the chart in the form that the Operator Lifecycle Manager installs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from stateward.api.schema.custom_resources import KINDS
from stateward.api.values.base import GROUP, VERSION

Object = dict[str, Any]
PACKAGE = "stateward"
CHANNEL = "alpha"
RIGHTS = {"ClusterRole": "clusterPermissions", "Role": "permissions"}
"""Fields of the ClusterServiceVersion by the kind of role."""
IN_VERSION = {"Deployment", "Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding"}
"""Kinds that the ClusterServiceVersion contains, or that OLM creates from it."""


def bundle(objects: Iterable[Object], version: str, image: str, created: str) -> dict[str, str]:
    """Return the files of the bundle by path; `created` is an RFC 3339 time."""
    found = list(objects)
    kept = [each for each in found if each["kind"] not in IN_VERSION and not _is_bound(each, found)]
    files = {f"manifests/{_file(each)}": _yaml(_without_namespace(each)) for each in kept}
    csv = _yaml(service_version(found, version, image, created))
    files["manifests/stateward.clusterserviceversion.yaml"] = csv
    files["metadata/annotations.yaml"] = _yaml({"annotations": annotations()})
    return files | {"bundle.Dockerfile": dockerfile()}


def annotations() -> dict[str, str]:
    """Return the annotations that describe the bundle."""
    prefix = "operators.operatorframework.io.bundle"
    return {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": PACKAGE,
        f"{prefix}.channels.v1": CHANNEL,
        f"{prefix}.channel.default.v1": CHANNEL,
    }


def dockerfile() -> str:
    """Return the recipe of the bundle's image."""
    labels = "".join(f"LABEL {name}={value}\n" for name, value in annotations().items())
    return f"FROM scratch\n{labels}COPY manifests /manifests/\nCOPY metadata /metadata/\n"


def service_version(found: list[Object], version: str, image: str, created: str) -> Object:
    """Return the ClusterServiceVersion."""
    (deployment,) = [each for each in found if each["kind"] == "Deployment"]
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    meta = {
        "alm-examples": json.dumps([yaml.safe_load(kind.example) for kind in KINDS]),
        "capabilities": "Deep Insights",
        "categories": "Database",
        "containerImage": image,
        "createdAt": created,
        "description": "Runs stateful databases and applies every change along the gentlest safe path.",
    }
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{PACKAGE}.v{version}", "annotations": meta},
        "spec": {
            "displayName": "Stateward",
            "description": "A Kubernetes operator for OpenSearch, Elasticsearch and FoundationDB.",
            "version": version,
            "maturity": "alpha",
            "minKubeVersion": "1.29.0",
            "provider": {"name": "Stateward"},
            "keywords": ["opensearch", "elasticsearch", "foundationdb", "database"],
            "installModes": [{"type": mode, "supported": mode == "AllNamespaces"} for mode in modes],
            "customresourcedefinitions": {"owned": list(_owned())},
            "relatedImages": [{"name": "operator", "image": image}],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [{"name": deployment["metadata"]["name"], "spec": deployment["spec"]}],
                    **rights(found),
                },
            },
        },
    }


def rights(found: list[Object]) -> dict[str, list[Object]]:
    """Return the rules of all bound roles, by service account."""
    result: dict[str, list[Object]] = {field: [] for field in RIGHTS.values()}
    for role in (each for each in found if _is_bound(each, found)):
        for account in sorted(_accounts(role, found)):
            result[RIGHTS[role["kind"]]].append({"serviceAccountName": account, "rules": role["rules"]})
    return result


def _accounts(role: Object, found: Iterable[Object]) -> set[str]:
    name, bindings = role["metadata"]["name"], {f"{role['kind']}Binding"}
    bound = (each for each in found if each["kind"] in bindings and each["roleRef"]["name"] == name)
    return {subject["name"] for each in bound for subject in each["subjects"]}


def _is_bound(each: Object, found: Iterable[Object]) -> bool:
    return each["kind"] in RIGHTS and bool(_accounts(each, found))


def _owned() -> Iterator[Mapping[str, str]]:
    for kind in KINDS:
        described = (kind.record.__doc__ or kind.name).strip().splitlines()[0]
        names = {"name": f"{kind.plural}.{GROUP}", "kind": kind.name, "version": VERSION, "displayName": kind.name}
        yield {**names, "description": described}


def _without_namespace(each: Object) -> Object:
    """Return an object without its namespace: OLM chooses it."""
    return {**each, "metadata": {key: value for key, value in each["metadata"].items() if key != "namespace"}}


def _file(each: Object) -> str:
    return f"{each['metadata']['name']}.{each['kind'].lower()}.yaml"


def _yaml(document: object) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=120)
