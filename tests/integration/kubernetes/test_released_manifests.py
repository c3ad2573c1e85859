"""Manifests of every released version are applied to the CRDs of this one, on a real API server."""

import time
from pathlib import Path

import pytest
import yaml

from sandbox.kubernetes.kubeapi import ApiError, KubeApi, apply_patch
from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import KINDS
from stateward.api.values.base import Json
from tests.unit.upgrade.definitions import manifests, released

pytestmark = pytest.mark.integration

CRDS = Path(__file__).parents[3] / "charts/stateward/files/crds"
CRD = {kind.name: crd(kind) for kind in KINDS}
DRY = "fieldManager=old&force=true&dryRun=All&fieldValidation=Strict"
OBJECTS = [(folder.name, each) for folder in released() for each in manifests(folder)]


def collection(document: Json) -> str:
    """Return the path of the objects of a kind."""
    definition = CRD[document["kind"]]["spec"]
    place = "" if definition["scope"] == "Cluster" else "/namespaces/default"
    return f"/apis/stateward.dev/v1alpha1{place}/{definition['names']['plural']}"


def served(api: KubeApi, path: str) -> bool:
    try:
        api.get(path)
    except ApiError:
        return False
    return True


@pytest.fixture(scope="module")
def api(control_plane: Path) -> KubeApi:
    api = KubeApi(control_plane)
    for kind in KINDS:
        definition = yaml.safe_load((CRDS / f"stateward.dev_{kind.plural}.yaml").read_text())
        api.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind.plural}.stateward.dev", definition)
    deadline = time.monotonic() + 60
    while not all(served(api, collection(document)) for _, document in OBJECTS):
        assert time.monotonic() < deadline, "the kinds are not served"
        time.sleep(0.1)
    return api


@pytest.mark.parametrize(
    ("version", "document"), OBJECTS, ids=lambda part: part if isinstance(part, str) else part["metadata"]["name"]
)
def test_what_a_released_version_accepted_is_accepted(api: KubeApi, version: str, document: Json) -> None:
    name = document["metadata"]["name"]
    made = api.call("PATCH", f"{collection(document)}/{name}?{DRY}", document, kind=apply_patch)
    assert made["metadata"]["name"] == name, version
