"""The OLM bundle: the objects of the chart in the form that the Operator Lifecycle Manager installs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
from msgspec import Struct

from release.krew import HOMEPAGE
from stateward.api.schema.custom_resources import KINDS
from stateward.api.values.base import GROUP, VERSION
from stateward.api.yaml_writer import to_yaml

Object = dict[str, Any]
PACKAGE = "stateward"
CHANNEL = "alpha"
RIGHTS = {"ClusterRole": "clusterPermissions", "Role": "permissions"}
"""Fields of the ClusterServiceVersion by the kind of role."""
IN_VERSION = {"Deployment", "Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding"}
"""Kinds that the ClusterServiceVersion contains, or that OLM creates from it."""


_MAINTAINERS = [{"name": "The maintainers of Stateward", "email": "maintainers@stateward.dev"}]
_DESCRIPTION = """\
Stateward runs OpenSearch, Elasticsearch and FoundationDB, and installs packages of others.

* Every change takes the gentlest path that is safe. The operator waits where a step costs data or availability, and
  says why.
* `kubectl stateward plan` shows the steps, their order and their effects before a change is made.
* Members that are lost are replaced; volumes, certificates and users are kept.
* An upgrade of the operator restarts no database.

Databases keep running when the operator is uninstalled. Deleting the CRDs deletes all clusters.
"""


class Edition(Struct, frozen=True):
    """What a bundle says of itself."""

    version: str
    image: str
    created: str
    """RFC 3339 time."""
    previous: str = ""
    """The released version before this one; empty for the first."""
    icon: str = ""
    """SVG, in Base64."""


def bundle(objects: Iterable[Object], edition: Edition) -> dict[str, str]:
    """Return the files of the bundle by path."""
    found = list(objects)
    kept = [each for each in found if _is_file(each, found)]
    files = {f"manifests/{_file(each)}": _yaml(_without_namespace(each)) for each in kept}
    csv = _yaml(service_version(found, edition))
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


def service_version(found: list[Object], edition: Edition) -> Object:
    """Return the ClusterServiceVersion."""
    (deployment,) = [each for each in found if each["kind"] == "Deployment"]
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    meta = {
        "alm-examples": json.dumps([yaml.safe_load(kind.example) for kind in KINDS]),
        "capabilities": "Deep Insights",
        "categories": "Database",
        "certified": "false",
        "containerImage": edition.image,
        "createdAt": edition.created,
        "repository": HOMEPAGE,
        "support": "The maintainers of Stateward",
        "olm.skipRange": f"<{edition.version}",
        "description": "Runs stateful databases and applies every change along the gentlest safe path.",
    }
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{PACKAGE}.v{edition.version}", "annotations": meta},
        "spec": {
            "displayName": "Stateward",
            "description": _DESCRIPTION,
            "version": edition.version,
            **({"replaces": f"{PACKAGE}.v{edition.previous}"} if edition.previous else {}),
            **({"icon": [{"base64data": edition.icon, "mediatype": "image/svg+xml"}]} if edition.icon else {}),
            "maturity": "alpha",
            "minKubeVersion": "1.29.0",
            "provider": {"name": "Stateward", "url": HOMEPAGE},
            "maintainers": _MAINTAINERS,
            "links": [{"name": "Stateward", "url": HOMEPAGE}],
            "keywords": ["opensearch", "elasticsearch", "foundationdb", "database"],
            "installModes": [{"type": mode, "supported": mode == "AllNamespaces"} for mode in modes],
            "customresourcedefinitions": {"owned": list(_owned())},
            "relatedImages": [{"name": "operator", "image": edition.image}],
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
    return {subject["name"] for each in bound for subject in each["subjects"] if subject["kind"] == "ServiceAccount"}


def _is_bound(each: Object, found: Iterable[Object]) -> bool:
    return each["kind"] in RIGHTS and bool(_accounts(each, found))


def _is_file(each: Object, found: Iterable[Object]) -> bool:
    """Return whether an object has a file of its own: rights of users, too, which OLM makes only for accounts."""
    if each["kind"] in {"RoleBinding", "ClusterRoleBinding"}:
        return any(subject["kind"] != "ServiceAccount" for subject in each["subjects"])
    if each["kind"] == "Role":
        return not _is_bound(each, found)
    return each["kind"] not in IN_VERSION and not _is_bound(each, found)


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
    return to_yaml(document)
