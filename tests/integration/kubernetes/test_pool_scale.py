"""PoolScale on a real API server: autoscalers read and write its scale subresource, and nothing else of it."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from stateward.api.schema.custom_resources import POOL_SCALE
from tests.integration.kubernetes.test_search_object import define, served

pytestmark = pytest.mark.integration

COLLECTION = "/apis/stateward.dev/v1alpha1/namespaces/default/poolscales"
STRICT = "?fieldValidation=Strict"


@pytest.fixture(scope="module")
def api(control_plane: Path) -> KubeApi:
    api = KubeApi(control_plane)
    define(api, POOL_SCALE)
    deadline = time.monotonic() + 30
    while not served(api, COLLECTION):
        assert time.monotonic() < deadline, "PoolScale is not served"
        time.sleep(0.1)
    return api


@pytest.fixture
def stored(api: KubeApi) -> Any:
    yield api.post(COLLECTION + STRICT, yaml.safe_load(POOL_SCALE.example))
    api.delete(f"{COLLECTION}/logs-hot")


def test_an_autoscaler_reads_and_writes_the_number(api: KubeApi, stored: Any) -> None:
    path, selector = f"{COLLECTION}/{stored['metadata']['name']}", "stateward.dev/cluster=logs,stateward.dev/pool=hot"
    status = {"observedGeneration": 1, "replicas": 3, "readyReplicas": 2, "selector": selector}
    api.patch(f"{path}/status", {"status": status})
    scale = api.get(f"{path}/scale")
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 3)
    assert scale["status"] == {"replicas": 3, "selector": selector}
    api.patch(f"{path}/scale", {"spec": {"replicas": 7}})
    assert api.get(path)["spec"] == {**stored["spec"], "replicas": 7}
    assert api.get(path)["status"] == status


def test_the_pool_stays_what_it_is(api: KubeApi, stored: Any) -> None:
    path = f"{COLLECTION}/{stored['metadata']['name']}"
    for change in ({"pool": "cold"}, {"cluster": {"name": "other"}}):
        with pytest.raises(ApiError, match="cluster and pool cannot be changed"):
            api.patch(path, {"spec": change})


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"replicas": -1}, "greater than or equal to 0"),
        ({"replicas": 501}, "less than or equal to 500"),
        ({"cluster": {"kind": "FoundationDBCluster", "name": "x"}}, "supported values"),
        ({"poool": "hot"}, "unknown field"),
    ],
)
def test_wrong_input_is_refused(api: KubeApi, spec: dict[str, Any], words: str) -> None:
    example = yaml.safe_load(POOL_SCALE.example)
    with pytest.raises(ApiError) as caught:
        api.post(f"{COLLECTION}?dryRun=All&fieldValidation=Strict", {**example, "spec": {**example["spec"], **spec}})
    assert words in str(caught.value)
