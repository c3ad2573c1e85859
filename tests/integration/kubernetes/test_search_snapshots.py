"""The definitions of snapshots, schedules and restores on a real API server: what is accepted and what is refused."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from stateward.api.schema.custom_resources import SEARCH_RESTORE, SEARCH_SNAPSHOT, SEARCH_SNAPSHOT_SCHEDULE, Kind
from tests.integration.kubernetes.test_search_object import define, served

pytestmark = pytest.mark.integration

CLUSTER = {"kind": "OpenSearchCluster", "name": "logs"}
DRY = "?dryRun=All&fieldValidation=Strict"
KINDS = (SEARCH_SNAPSHOT, SEARCH_SNAPSHOT_SCHEDULE, SEARCH_RESTORE)
OWN: dict[str, dict[str, Any]] = {
    "SearchSnapshot": {},
    "SearchSnapshotSchedule": {"schedule": "30 3 * * *"},
    "SearchRestore": {"snapshot": "nightly-1"},
}
WRONG: list[tuple[Kind, dict[str, Any], str]] = [
    (SEARCH_SNAPSHOT, {"repository": "a/b"}, "must be the name of a repository"),
    (SEARCH_SNAPSHOT, {"snapshot": "Upper"}, "must be the name of a snapshot"),
    (SEARCH_SNAPSHOT, {"indices": ["a b"]}, "must be an index, a data stream or a pattern"),
    (SEARCH_SNAPSHOT, {"indices": ["_all"]}, "must be an index, a data stream or a pattern"),
    (SEARCH_SNAPSHOT, {"cluster": {"kind": "FoundationDBCluster", "name": "x"}}, "supported values"),
    (SEARCH_SNAPSHOT_SCHEDULE, {"schedule": "@daily"}, "must be five fields as in a crontab"),
    (SEARCH_SNAPSHOT_SCHEDULE, {"retention": {"minCount": 3, "maxCount": 2}}, "must not exceed maxCount"),
    (SEARCH_SNAPSHOT_SCHEDULE, {"retention": {"maxAge": "30 days"}}, "must be whole minutes, hours or days"),
    (SEARCH_RESTORE, {"snapshot": None}, "spec.snapshot: required value"),
    (SEARCH_RESTORE, {"snapshot": "Nightly?"}, "or a pattern such as nightly-*"),
    (SEARCH_RESTORE, {"renamePattern": "(.+)"}, "renamePattern and renameReplacement belong together"),
    (SEARCH_RESTORE, {"indices": [".kibana"]}, "not begin with a dot"),
    (SEARCH_RESTORE, {"renamePattern": "(a+)+", "renameReplacement": "x"}, "with at most two groups (.+)"),
    (SEARCH_RESTORE, {"renamePattern": "a", "renameReplacement": "$3"}, "$1 and $2 for the groups"),
    (SEARCH_RESTORE, {"existing": "Overwrite"}, "supported values"),
]
FIXED: list[tuple[Kind, dict[str, Any], str]] = [
    (SEARCH_SNAPSHOT, {"indices": ["x-*"]}, "only deletionPolicy can be changed"),
    (SEARCH_SNAPSHOT, {"repository": "other"}, "only deletionPolicy can be changed"),
    (SEARCH_SNAPSHOT_SCHEDULE, {"repository": "other"}, "cluster and repository cannot be changed"),
    (SEARCH_SNAPSHOT_SCHEDULE, {"cluster": {**CLUSTER, "name": "x"}}, "cluster and repository cannot be changed"),
    (SEARCH_RESTORE, {"existing": "Replace"}, "a restore cannot be changed"),
]
TOLD = [said for _, _, said in (*WRONG, *FIXED)]
"""What the API server says in these cases."""


@pytest.fixture(scope="module")
def api(control_plane: Path) -> KubeApi:
    api = KubeApi(control_plane)
    for kind in KINDS:
        define(api, kind)
        deadline = time.monotonic() + 30
        while not served(api, collection(kind)):
            assert time.monotonic() < deadline, f"{kind.name} is not served"
            time.sleep(0.1)
    return api


def collection(kind: Kind) -> str:
    return f"/apis/stateward.dev/v1alpha1/namespaces/default/{kind.plural}"


def document(kind: Kind, name: str = "one", **spec: Any) -> dict[str, Any]:
    wanted = {"cluster": CLUSTER, "repository": "files", **OWN[kind.name], **spec}
    wanted = {key: value for key, value in wanted.items() if value is not None}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": kind.name, "metadata": {"name": name}}
    return {**head, "spec": wanted}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_example_is_accepted(api: KubeApi, kind: Kind) -> None:
    example = yaml.safe_load(kind.example)
    assert api.post(collection(kind) + DRY, example)["spec"] == example["spec"]


@pytest.mark.parametrize(
    "spec",
    [
        {"snapshot": "nightly-*", "indices": ["logs-*", "-logs-x*", "orders"]},
        {"renamePattern": "^logs-(.+)-(.+)$", "renameReplacement": "old.$2-$1"},
        {"indexSettings": {"index.number_of_replicas": 0}, "ignoreIndexSettings": ["index.refresh_interval"]},
    ],
)
def test_restores_in_all_their_forms_are_accepted(api: KubeApi, spec: dict[str, Any]) -> None:
    api.post(collection(SEARCH_RESTORE) + DRY, document(SEARCH_RESTORE, **spec))


@pytest.mark.parametrize(("kind", "spec", "said"), WRONG)
def test_wrong_input_is_refused_without_a_webhook(api: KubeApi, kind: Kind, spec: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError) as caught:
        api.post(collection(kind) + DRY, document(kind, **spec))
    assert said.lower() in str(caught.value).lower()


@pytest.mark.parametrize(("kind", "spec", "said"), FIXED)
def test_what_is_fixed_cannot_be_changed(api: KubeApi, kind: Kind, spec: dict[str, Any], said: str) -> None:
    path = f"{collection(kind)}/fixed"
    api.post(collection(kind), document(kind, "fixed"))
    try:
        with pytest.raises(ApiError) as caught:
            api.apply(path, document(kind, "fixed", **spec))
        assert said in str(caught.value)
    finally:
        api.delete(path)


def test_what_may_change_can_be_changed(api: KubeApi) -> None:
    for kind, spec in ((SEARCH_SNAPSHOT, {"deletionPolicy": "Delete"}), (SEARCH_SNAPSHOT_SCHEDULE, {"paused": True})):
        api.post(collection(kind), document(kind, "free"))
        api.apply(f"{collection(kind)}/free", document(kind, "free", **spec))
        api.delete(f"{collection(kind)}/free")
