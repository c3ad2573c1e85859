"""The CustomResourceDefinition on a real API server: accepted, explained; wrong input is refused with a sentence."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from sandbox.progress import Progress
from sandbox.toolchain.kubelite import build_kubelite
from stateward.api.parse import InvalidDocumentError, convert_cluster
from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import CLUSTER_KINDS, OPENSEARCH
from stateward.api.schema.rules import RULES, owned_rule
from stateward.api.schema.structure import without_nulls
from stateward.api.validation import errors, validate
from stateward.api.values.settings import OWNED, Shape
from tests.integration.kubernetes.test_search_object import WRONG, WRONG_USERS
from tests.integration.kubernetes.test_search_snapshots import TOLD
from tests.integration.kubernetes.wrong_clusters import CASES, MESSAGES, pool
from tests.unit.api.documents import Document, document, elasticsearch, foundationdb
from tests.unit.api.test_schema import documents, nodes

pytestmark = pytest.mark.integration

SCHEMA = root_schema(OPENSEARCH)
ROOT = Path(__file__).parents[3]
COLLECTION = "/apis/stateward.dev/v1alpha1/namespaces/default/osclusters"
COLLECTIONS = {kind.name: f"/apis/stateward.dev/v1alpha1/namespaces/default/{kind.plural}" for kind in CLUSTER_KINDS}
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/osclusters.stateward.dev"
DEFINITIONS = [DEFINITION.replace(OPENSEARCH.plural, kind.plural) for kind in CLUSTER_KINDS]
DRY = "?dryRun=All&fieldValidation=Strict"
SUBMIT = f"{COLLECTION}{DRY}"


@pytest.fixture(scope="module")
def api(control_plane: Path) -> KubeApi:
    api = KubeApi(control_plane)
    for kind, path in zip(CLUSTER_KINDS, DEFINITIONS, strict=True):
        (definition,) = yaml.safe_load_all(
            (ROOT / f"charts/stateward/files/crds/stateward.dev_{kind.plural}.yaml").read_text()
        )
        api.apply(path, definition)
        deadline = time.monotonic() + 30
        while not (_established(api, path) and _served(api, COLLECTIONS[kind.name])):
            assert time.monotonic() < deadline, api.get(path)["status"]
            time.sleep(0.1)
    return api


def _served(api: KubeApi, collection: str) -> bool:
    try:
        api.get(collection)
    except ApiError as error:
        if error.status not in {404, 429}:  # Not there yet, or "storage is (re)initializing".
            raise
        return False
    return True


def _established(api: KubeApi, definition: str) -> bool:
    conditions = api.get(definition).get("status", {}).get("conditions") or []  # null at first
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@pytest.fixture(scope="module")
def kubectl(control_plane: Path, api: KubeApi) -> Any:
    binary = build_kubelite(Progress()) / "kubectl"

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "KUBECONFIG": str(control_plane)}
        return subprocess.run(
            [binary, *arguments], input=stdin, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def refusal(api: KubeApi, of: Document) -> str:
    with pytest.raises(ApiError) as caught:
        api.post(COLLECTIONS[of["kind"]] + DRY, of)
    return str(caught.value)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_definition_is_accepted_and_structural(api: KubeApi, definition: str) -> None:
    conditions = {c["type"]: c["status"] for c in api.get(definition)["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert "NonStructuralSchema" not in conditions


def test_a_good_cluster_is_accepted(api: KubeApi) -> None:
    everything = document(
        image="registry.example:5000/opensearch:2.19.5-ours",
        config={"cluster": {"max_shards_per_node": 2000}, "http.cors.enabled": True, "a": None},
        podTemplate={"spec": {"tolerations": [{"operator": "Exists"}]}},
        update={"maxUnavailable": "50%", "order": ["hot", "managers"], "paused": True, "singleCopy": "Wait"},
        volumes={"whenScaled": "Delete"},
        service={"type": "NodePort", "labels": {"a": "b"}},
        plugins=[{"name": "mapper-size", "file": "size-{version}.zip"}],
        bootstrap={"fromSnapshot": {"repository": "files", "snapshot": "nightly-*", "indices": ["logs-*"]}},
        pluginSource={"image": "registry.example/plugins:{version}"},
        remoteClusters=[{"name": "east", "cluster": {"name": "logs", "namespace": "other"}, "skipUnavailable": False}],
        remoteAccess={"from": [{"name": "events"}, {"name": "logs", "namespace": "other"}]},
        routes={"hosts": ["logs.example.com"], "ingressClassName": "nginx", "tlsSecretName": "logs-tls"},
        metrics={"resources": {"limits": {"memory": "128Mi"}}, "rotateCredentialsAfter": "90d"},
        dashboards={
            "replicas": 2,
            "config": {"server": {"maxPayload": 1000}, "logging.verbose": True},
            "tls": {"secretName": "ours"},
            "rotateCredentialsAfter": "90d",
            "routes": {"hosts": ["ui.example.com"], "parentRefs": [{"name": "public", "namespace": "edge"}]},
        },
    )
    assert api.post(SUBMIT, everything)["spec"] == everything["spec"]


@pytest.mark.parametrize("version", ["7.17.0", "7.17.28", "7.20.1", "8.0.0", "8.19.4", "9.2.0"])
def test_a_good_elasticsearch_cluster_is_accepted(api: KubeApi, version: str) -> None:
    of = elasticsearch(version=version)
    assert api.post(COLLECTIONS["ElasticsearchCluster"] + DRY, of)["spec"] == of["spec"]


def test_a_foundationdb_cluster_has_metrics_and_no_users_to_rotate(api: KubeApi) -> None:
    of = foundationdb(metrics={"resources": {"limits": {"memory": "128Mi"}}, "podTemplate": {"spec": {}}})
    assert api.post(COLLECTIONS["FoundationDBCluster"] + DRY, of)["spec"] == of["spec"]
    with pytest.raises(ApiError, match=r"unknown field.*rotateCredentialsAfter"):
        api.post(COLLECTIONS["FoundationDBCluster"] + DRY, foundationdb(metrics={"rotateCredentialsAfter": "90d"}))


def test_a_storage_engine_stays_what_it_is(api: KubeApi) -> None:
    of = foundationdb(name="kept", storageEngine="ssd-2", knobs={"a": "1"}, redundancy="triple")
    path = f"{COLLECTIONS['FoundationDBCluster']}/kept"
    assert api.post(COLLECTIONS["FoundationDBCluster"], of)["spec"] == of["spec"]
    with pytest.raises(ApiError, match=r"storageEngine.*cannot be changed"):
        api.patch(path, {"spec": {"storageEngine": "memory"}})
    api.patch(path, {"spec": {"storageEngine": None}})
    api.delete(path)


@pytest.mark.parametrize("case", CASES)
def test_wrong_input_is_refused_with_path_value_and_what_is_accepted(api: KubeApi, case: str) -> None:
    said = refusal(api, CASES[case])
    assert case.partition(": ")[0] in said
    assert MESSAGES[case] in said


def test_every_rule_has_a_case() -> None:
    told = [message.rpartition(": ")[2] for message in MESSAGES.values()]
    told += [said for _, said in (*WRONG, *WRONG_USERS)]
    told += TOLD
    changes = {
        "a package cannot be changed",
        "cannot be changed: all data would have to be rewritten",
        "cluster, object and path cannot be changed",
        "cluster and username cannot be changed",
        "cluster and pool cannot be changed",
        "can only be given when the cluster is created",
    }
    without = [
        rule.message
        for rules in RULES.values()
        for rule in rules
        if not any(part in rule.message for part in told) and not rule.message.startswith(tuple(changes))
    ]
    assert without == [], "changes have tests of their own; these messages have none"


@pytest.mark.parametrize("where", ["spec.config", "spec.pools[0].config"])
def test_owned_settings_are_refused_with_the_reason(api: KubeApi, where: str) -> None:
    values: dict[Shape, object] = {Shape.SCALAR: "x", Shape.FLAG: True, Shape.LIST: ["x"]}
    config = {key: values[owned.shape] for key, owned in OWNED.items()}
    said = refusal(api, document(config=config) if where == "spec.config" else document(pools=pool(config=config)))
    for key, owned in OWNED.items():
        assert f"{where}.{key}: Forbidden: {owned_rule(key, owned).message}" in said


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (document(pools=[*pool(), *pool()]), 'spec.pools[1]: Duplicate value: {"name":"all"}'),
        (document(pools=pool(roles=["data", "data"])), 'spec.pools[0].roles[1]: Duplicate value: "data"'),
        (document(pools=pool(replicas=-1)), "spec.pools[0].replicas: Invalid value: -1"),
        (document(pools=[]), "spec.pools: Invalid value: 0: spec.pools in body should have at least 1 items"),
        (document(service={"type": "Ingress"}), 'supported values: "ClusterIP", "NodePort", "LoadBalancer"'),
        (document(pools=pool(replica=1)), 'unknown field "spec.pools[0].replica"'),
        (document(podTemplate={"containers": []}), 'unknown field "spec.podTemplate.containers"'),
        (document(pools=pool(resources={"memory": "2Gi"})), 'unknown field "spec.pools[0].resources.memory"'),
        (document(pools=pool(resources={"limits": {"memory": "2GB"}})), "spec.pools[0].resources.limits.memory"),
        ({**document(), "spec": {"version": "2.19.5"}}, "spec.pools: Required value"),
    ],
)
def test_the_shape_is_checked(api: KubeApi, of: Document, words: str) -> None:
    assert words in refusal(api, of)


def test_apply_reports_all_problems_at_once(kubectl: Any) -> None:
    bad = document(version="2.19", pools=pool(roles=["data"], storage={"size": "0"}), config={"cluster.name": "x"})
    done = kubectl("apply", "-f", "-", stdin=yaml.safe_dump(bad))
    assert done.returncode == 1
    for words in ("three numbers", "the role cluster_manager", "more than 0", "cluster.name cannot be set"):
        assert words in done.stderr


def test_every_field_is_explained(kubectl: Any) -> None:
    for path, node in nodes(SCHEMA):
        if path.startswith(".metadata") or not node.get("properties"):
            continue
        shown = kubectl("explain", f"oscluster{path.replace('[]', '')}")
        assert shown.returncode == 0, shown.stderr
        words = " ".join(shown.stdout.split())
        for name, inner in node["properties"].items():
            assert f"{name} <" in words
            if name != "metadata" and path + name not in {"apiVersion", "kind"}:
                assert " ".join(inner.get("description", "").split()) in words


@pytest.fixture
def stored(api: KubeApi) -> Iterator[Document]:
    api.delete(f"{COLLECTION}/stored")
    yield api.post(f"{COLLECTION}?fieldValidation=Strict", document(name="stored"))
    api.delete(f"{COLLECTION}/stored")


def test_status_is_written_beside_the_spec(api: KubeApi, kubectl: Any, stored: Document) -> None:
    status = {
        "observedGeneration": 1,
        "version": "2.19.5",
        "health": "green",
        "ready": "7/7",
        "activity": "nothing: all is as it should be",
        "conditions": [{"type": "Ready", "status": "True", "reason": "Settled"}],
    }
    path = f"{COLLECTION}/stored"
    api.patch(path, {"status": {"health": "red"}})
    begins = {"observedGeneration": 0}
    assert api.get(path)["status"] == begins, "the status is written through its subresource only"
    written = api.patch(f"{path}/status", {"status": status, "spec": {"version": "3.0.0"}})
    assert written["status"] == status
    assert written["spec"] == stored["spec"]
    assert written["metadata"]["generation"] == stored["metadata"]["generation"]
    lines = [line.split() for line in kubectl("get", "swos", "stored").stdout.splitlines()]
    assert lines[0] == ["NAME", "VERSION", "HEALTH", "READY", "ACTIVITY", "AGE"]
    assert lines[1][:4] == ["stored", "2.19.5", "green", "7/7"]
    assert "stored" in kubectl("get", "stateward").stdout
    assert "DESIRED" in kubectl("get", "oscluster", "-o", "wide").stdout


def test_a_cluster_begins_once(api: KubeApi, stored: Document) -> None:
    begins = {"fromSnapshot": {"repository": "files", "snapshot": "nightly-*"}}
    path = f"{COLLECTION}/stored"
    with pytest.raises(ApiError, match=r"spec\.bootstrap.*can only be given when the cluster is created"):
        api.patch(path, {"spec": {"bootstrap": begins}})
    api.delete(path)
    api.post(COLLECTION, {**stored_as_new(stored), "spec": {**stored["spec"], "bootstrap": begins}})
    with pytest.raises(ApiError, match="can only be given when the cluster is created"):
        api.patch(path, {"spec": {"bootstrap": {"fromSnapshot": {"snapshot": "other"}}}})
    api.patch(path, {"spec": {"bootstrap": None}})
    assert "bootstrap" not in api.get(path)["spec"]


def stored_as_new(stored: Document) -> Document:
    """Return an object as it was before it was created."""
    head = {"name": stored["metadata"]["name"]}
    return {"apiVersion": stored["apiVersion"], "kind": stored["kind"], "metadata": head}


def test_pools_of_two_appliers_are_merged_by_name(api: KubeApi) -> None:
    path = f"{COLLECTION}/merged"
    try:
        for manager, name in (("first", "hot"), ("second", "cold")):
            of = document(name="merged", pools=[{"name": name, "replicas": 3}])
            body = {**of, "spec": {**of["spec"], "version": "2.19.5"}}
            api.call("PATCH", f"{path}?fieldManager={manager}", body, kind="application/apply-patch+yaml")
        assert [p["name"] for p in api.get(path)["spec"]["pools"]] == ["hot", "cold"]
    finally:
        api.delete(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=documents())
def test_a_file_and_the_api_server_agree(api: KubeApi, drawn: Document) -> None:
    """What the API server refuses is an error in a file, too; and what it stores is read back as the file was."""
    of = {name: value for name, value in drawn.items() if name != "status"}  # Dropped when an object is created.
    try:
        stored = api.post(SUBMIT, of)
    except ApiError:
        with pytest.raises(InvalidDocumentError):
            _checked(of)
        return
    pruned = without_nulls(of, SCHEMA)
    assert isinstance(pruned, dict)
    assert stored["spec"] == pruned["spec"]
    convert_cluster(of)


def _checked(of: Document) -> None:
    found = errors(validate(convert_cluster(of)))
    if found:
        raise InvalidDocumentError(found)


OTHERS = [
    ("opensearch.opster.io", "OpenSearchCluster", "opensearchclusters", "opensearchcluster", ["os"]),
    ("opensearch.org", "OpenSearchCluster", "opensearchclusters", "opensearchcluster", ["os"]),
    ("elasticsearch.k8s.elastic.co", "Elasticsearch", "elasticsearches", "elasticsearch", ["es"]),
    ("elastic.example", "ElasticsearchCluster", "elasticsearchclusters", "elasticsearchcluster", ["es"]),
    ("apps.foundationdb.org", "FoundationDBCluster", "foundationdbclusters", "foundationdbcluster", ["fdb"]),
    ("operator.tigera.io", "Installation", "installations", "installation", ["inst"]),
    ("pkg.example", "Package", "packages", "package", ["pkg"]),
]
"""Names of other operators' resources: group, kind, plural, singular, short names.

All groups sort before ours, so a shared name would show their objects.
"""


def test_each_of_our_names_is_ours_beside_the_resources_of_other_operators(api: KubeApi, kubectl: Any) -> None:
    for group, kind, plural, singular, short in OTHERS:
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        named = {"kind": kind, "plural": plural, "singular": singular, "shortNames": short}
        spec = {"group": group, "scope": "Namespaced", "names": named, "versions": [version]}
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}"
        api.apply(path, {**head, "metadata": {"name": f"{plural}.{group}"}, "spec": spec})
        deadline = time.monotonic() + 30
        while not (_established(api, path) and _served(api, f"/apis/{group}/v1/{plural}")):
            assert time.monotonic() < deadline, api.get(path)["status"]
            time.sleep(0.1)
    shown = kubectl("get", "opensearchclusters", "-o", "name", "-v=6")
    assert "opensearch.opster.io" in shown.stderr  # What a shared name would do.
    for kind in CLUSTER_KINDS:
        for name in (kind.plural, kind.singular, *kind.short):
            explained = kubectl("explain", name)
            assert "GROUP:      stateward.dev" in explained.stdout, f"{name}: {explained.stdout}{explained.stderr}"
