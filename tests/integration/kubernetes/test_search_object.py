"""The definitions of declared objects and users on a real API server: what is accepted and what is refused."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from stateward.api.schema.custom_resources import SEARCH_OBJECT, SEARCH_USER, Kind

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
COLLECTION = "/apis/stateward.dev/v1alpha1/namespaces/default/searchobjects"
USERS = "/apis/stateward.dev/v1alpha1/namespaces/default/searchusers"
DRY = "?dryRun=All&fieldValidation=Strict"
CLUSTER = {"kind": "OpenSearchCluster", "name": "logs"}


@pytest.fixture(scope="module")
def api(control_plane: Path) -> KubeApi:
    api = KubeApi(control_plane)
    for kind, collection in ((SEARCH_OBJECT, COLLECTION), (SEARCH_USER, USERS)):
        define(api, kind)
        deadline = time.monotonic() + 30
        while not served(api, collection):
            assert time.monotonic() < deadline, f"{kind.name} is not served"
            time.sleep(0.1)
    return api


def define(api: KubeApi, kind: Kind) -> None:
    file = ROOT / f"charts/stateward/files/crds/stateward.dev_{kind.plural}.yaml"
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind.plural}.stateward.dev"
    api.apply(path, yaml.safe_load(file.read_text()))


def served(api: KubeApi, collection: str) -> bool:
    try:
        api.get(collection)
    except ApiError as error:
        if error.status not in {404, 429}:
            raise
        return False
    return True


def document(name: str = "one", **spec: Any) -> dict[str, Any]:
    wanted = {"cluster": CLUSTER, "object": "indexTemplate/logs", **spec}
    wanted = {key: value for key, value in wanted.items() if value is not None}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "SearchObject", "metadata": {"name": name}}
    return {**head, "spec": wanted}


def refusal(api: KubeApi, **spec: Any) -> str:
    with pytest.raises(ApiError) as caught:
        api.post(f"{COLLECTION}?dryRun=All&fieldValidation=Strict", document(**spec))
    return str(caught.value)


def test_the_example_and_any_body_are_accepted(api: KubeApi) -> None:
    example = yaml.safe_load(SEARCH_OBJECT.example)
    stored = api.post(f"{COLLECTION}?dryRun=All&fieldValidation=Strict", example)
    assert stored["spec"] == example["spec"]
    deep = {"a": [{"b": {"c": [1, "x", True, None]}}]}
    assert api.post(f"{COLLECTION}?dryRun=All", document(body=deep))["spec"]["body"] == deep


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"object": None}, "give either object or path"),
    ({"path": "/_ltr/_featureset/x"}, "give either object or path"),
    ({"object": "role/../x"}, "must be a kind and a name"),
    ({"object": None, "path": "/_x/../y"}, "must be a path of the database's API"),
    ({"existing": "Merge"}, "Merge needs deletionPolicy Retain"),
    ({"existing": "Steal"}, "supported values"),
    ({"cluster": {"kind": "FoundationDBCluster", "name": "x"}}, "supported values"),
    ({"boddy": {}}, "unknown field"),
]
WRONG_USERS: list[tuple[dict[str, Any], str]] = [
    ({"existing": "Merge"}, "must be Refuse or Adopt"),
    (
        {"backendRoles": ["x"], "cluster": {"kind": "ElasticsearchCluster", "name": "logs"}},
        "is for OpenSearch only; use roles",
    ),
    ({"password": {"secretName": "x", "rotateAfter": "9d"}}, "the operator rotates only passwords that it makes"),
    ({"username": "a:b"}, "must be letters, digits"),
    ({"password": {"rotateAfter": "1h30m"}}, "must be whole minutes, hours or days"),
]


def user(name: str = "shop", **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "SearchUser", "metadata": {"name": name}}
    return {**head, "spec": {"cluster": CLUSTER, "roles": ["reader"], **spec}}


@pytest.mark.parametrize(("spec", "said"), WRONG_USERS)
def test_a_wrong_user_is_refused_without_a_webhook(api: KubeApi, spec: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError) as caught:
        api.post(USERS + DRY, user(**spec))
    assert said in str(caught.value)


def test_the_user_that_is_meant_cannot_be_changed(api: KubeApi) -> None:
    api.post(f"{USERS}{DRY}", yaml.safe_load(SEARCH_USER.example))
    api.post(USERS, user("fixed"))
    for changed in ({"username": "other"}, {"cluster": {**CLUSTER, "name": "other"}}):
        with pytest.raises(ApiError) as caught:
            api.apply(f"{USERS}/fixed", user("fixed", **changed))
        assert "cannot be changed" in str(caught.value)
    api.apply(f"{USERS}/fixed", user("fixed", roles=["writer"]))
    api.delete(f"{USERS}/fixed")


@pytest.mark.parametrize(("spec", "said"), WRONG)
def test_wrong_input_is_refused_without_a_webhook(api: KubeApi, spec: dict[str, Any], said: str) -> None:
    assert said.lower() in refusal(api, **spec).lower()


def test_the_object_that_is_meant_cannot_be_changed(api: KubeApi) -> None:
    api.post(COLLECTION, document("fixed"))
    for changed in (
        {"object": "indexTemplate/other"},
        {"cluster": {**CLUSTER, "name": "other"}},
        {"object": None, "path": "/_ltr/_featureset/x"},
    ):
        with pytest.raises(ApiError) as caught:
            api.apply(f"{COLLECTION}/fixed", document("fixed", **changed))
        assert "cannot be changed" in str(caught.value)
    api.apply(f"{COLLECTION}/fixed", document("fixed", body={"priority": 1}))
    api.delete(f"{COLLECTION}/fixed")
