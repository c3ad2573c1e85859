"""`plan` reads the cluster live, asks the database through the API server, and sends nothing but questions."""

import json
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.cli.preview.inputs import ProxyTransport, endpoints
from stateward.cli.shared.failures import ExitCode
from stateward.engines import opensearch
from stateward.engines.connection.base import Call, RefusedError, UnreachableError
from stateward.kube.objects.errors import Forbidden, Status
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.objects.live import read_live
from tests.unit.cli.clusters import SPEC, typed
from tests.unit.cli.fake_api import FakeApi, Run

CHANGED = """\
apiVersion: stateward.dev/v1alpha1
kind: OpenSearchCluster
metadata: {name: logs}
spec:
  version: %s
  pools:
  - {name: managers, replicas: 3, roles: [cluster_manager]}
  - {name: hot, replicas: 3, roles: [data, ingest], storage: {size: 20Gi}}
  - {name: gateway, replicas: 1, roles: []}
"""


@pytest.fixture
def running(api: FakeApi) -> FakeApi:
    """A cluster with all its objects, whose database cannot be asked from here."""
    status = {
        "version": "2.17.1",
        "health": "green",
        "observedGeneration": 1,
        "bootstrap": {"member": "", "volume": "", "formed": True},
    }
    meta = {"name": "logs", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": 1}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": meta}
    states: list[dict[str, Any]] = []
    for pool in SPEC["pools"]:
        for ordinal in range(pool["replicas"]):
            add_member(api, pool["name"], ordinal)
            name = names.member("logs", pool["name"], ordinal)
            states.append({"name": name, "pool": pool["name"], "state": "Ready", "version": "2.17.1"})
    api.add("osclusters", {**head, "spec": SPEC, "status": {**status, "memberStates": states}})
    return api


def add_member(api: FakeApi, pool: str, ordinal: int) -> None:
    """Add the objects of one member, as the API server completes them."""
    cluster = typed(SPEC, "2.17.1")
    objects = opensearch.member_objects(cluster, pool, ordinal, "2.17.1")
    owner = {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "OpenSearchCluster",
        "name": "logs",
        "uid": "u",
        "controller": True,
    }
    stored = {"uid": f"uid-{pool}-{ordinal}", "resourceVersion": "1", "namespace": "default", "generation": 1}
    bound = {"phase": "Bound", "capacity": {"storage": "20Gi"}}
    for plural, body, status in (
        ("statefulsets", objects.workload, {"observedGeneration": 1}),
        ("secrets", objects.config, {}),
        ("persistentvolumeclaims", objects.claim, bound),
    ):
        if body is not None:
            # Claims have no owner where volumes are kept.
            owners = [owner] if "ownerReferences" in body["metadata"] else []
            meta: Json = {**body["metadata"], **stored, "ownerReferences": owners}
            if plural == "persistentvolumeclaims":
                # As of members that have joined the cluster.
                mark = names.ANNOTATION_STATE if pool == "managers" else names.ANNOTATION_DATA
                marks = {mark: "true", names.ANNOTATION_DATA_VERSION: "2.17.1"}
                meta["annotations"] = {**meta.get("annotations", {}), **marks}
            api.add(plural, {**body, "metadata": meta, "status": status})
    template = objects.workload["spec"]["template"]
    meta = {**template["metadata"], **stored, "name": f"{objects.workload['metadata']['name']}-0"}
    ready = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    api.add("pods", {"metadata": meta, "spec": {**template["spec"], "nodeName": "n1"}, "status": ready})


def test_a_changed_file_is_planned_without_touching_anything(run: Run, running: FakeApi) -> None:
    result = run("plan", "-f", "-", stdin=CHANGED % "2.19.5")
    assert result.exit_code == ExitCode.CHANGES
    assert "2.17.1 → 2.19.5" in result.output
    assert "logs-hot-0       recreate  rolling  70 s   version" in result.output
    assert "min, if all goes well" in result.output
    assert "a member starts in 60 s: assumed, because no pod shows its last start" in result.output
    assert "not in it: the recovery of shards, if there are any: their number is not known" in result.output
    assert "the database could not be reached from here" in result.output
    assert "shards and the elected manager are not known" in result.output
    assert running.patches == []


def test_the_right_to_view_a_namespace_is_enough_for_a_plan(run: Run, running: FakeApi) -> None:
    """The role `view` lists neither Secrets nor what belongs to no namespace; the plan names what it does not know."""
    everything = run("plan", "-f", "-", stdin=CHANGED % "2.19.5").output
    running.denied = {"secrets", "nodes", "storageclasses", "priorityclasses"}
    unchanged = run("plan", "-f", "-", stdin=CHANGED % "2.17.1")
    assert "no member would change" in unchanged.output
    said = run("plan", "-f", "-", stdin=CHANGED % "2.19.5")
    assert said.exit_code == ExitCode.CHANGES
    assert [line for line in said.output.splitlines() if "recreate" in line] == [
        line for line in everything.splitlines() if "recreate" in line
    ]
    assert "you may not list Secrets: the configuration of members is read from their StatefulSets" in said.output
    assert "you may not list Nodes: zones, taints and failed nodes are not known" in said.output


@pytest.mark.parametrize("now", [False, True])
def test_a_database_is_asked_as_it_is_before_security_is_switched(run: Run, running: FakeApi, *, now: bool) -> None:
    """Switching security on hides nothing yet, and switching it off shows nothing yet."""
    (cluster,) = [stored for (plural, _), stored in running.objects.items() if plural == "osclusters"]
    cluster["spec"] = {**cluster["spec"], "security": {"enabled": now}}
    other = (CHANGED % "2.17.1").replace("spec:\n", f"spec:\n  security: {{enabled: {str(not now).lower()}}}\n")
    said = run("plan", "-f", "-", stdin=other).output
    assert ("only the operator has credentials" in said) == now
    assert ("/proxy/_cluster/state" in said) == (not now)


def test_an_unchanged_file_changes_no_member(run: Run, running: FakeApi) -> None:
    result = run("plan", "-f", "-", stdin=CHANGED % "2.17.1")
    assert result.exit_code == 0
    assert "no member would change" in result.output


def test_the_present_spec_is_planned_by_name(run: Run, running: FakeApi) -> None:
    shown = json.loads(run("plan", "logs", "-o", "json").output)
    assert shown["goesThrough"] is True
    assert (shown["seconds"], len(shown["restsOn"])) == (0.0, 3)
    assert {member["effect"] for member in shown["members"]} == {"none"}


def test_a_refused_change_ends_with_code_1(run: Run, running: FakeApi) -> None:
    result = run("plan", "-f", "-", stdin=CHANGED % "2.11.0")
    assert result.exit_code == 1
    assert "REFUSED\n  spec.version: 2.11.0 is older than 2.17.1" in result.output


def test_a_cluster_that_is_not_there_is_planned_as_new(run: Run, api: FakeApi) -> None:
    result = run("plan", "-f", "-", "-n", "elsewhere", stdin=CHANGED % "2.19.5")
    assert result.exit_code == ExitCode.CHANGES
    assert "2.19.5 (a new cluster)" in result.output
    assert "form the cluster on logs-managers-0" in result.output


def test_a_storage_class_that_does_not_exist_is_reported_in_advance(run: Run, api: FakeApi) -> None:
    asked = (CHANGED % "2.17.1").replace("{size: 20Gi}", "{size: 20Gi, storageClass: fsat}")
    result = run("plan", "-f", "-", stdin=asked)
    assert result.exit_code == 1
    assert "it would stall without losing a member: a new pod cannot start" in result.output
    assert "spec.pools[1].storage.storageClass: 'fsat': there is no such storage class" in result.output
    shown = json.loads(run("plan", "-f", "-", "-o", "json", stdin=asked).output)
    assert shown["goesThrough"] is False
    assert [problem["path"] for problem in shown["problems"]] == ["spec.pools[1].storage.storageClass"]


def test_a_cluster_that_changes_nothing_goes_through_though_no_node_takes_a_pod(run: Run, running: FakeApi) -> None:
    running.add("nodes", {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}})
    result = run("plan", "-f", "-", stdin=CHANGED % "2.17.1")
    assert result.exit_code == 0
    assert "node(s) were unschedulable" in result.output


def test_a_file_that_is_no_cluster_says_all_that_is_wrong(run: Run) -> None:
    result = run(
        "plan", "-f", "-", stdin=(CHANGED % "2.19.5").replace("replicas: 3, roles: [data", "replica: 3, roles: [data")
    )
    assert result.exit_code == 1
    assert "spec.pools[1].replica" in result.stderr
    assert "spec.pools[1].replicas" in result.stderr


def test_neither_a_file_nor_a_name_is_a_usage_error(run: Run) -> None:
    assert run("plan").exit_code == ExitCode.USAGE


def test_a_name_that_the_file_does_not_have_is_a_failure(run: Run) -> None:
    result = run("plan", "metrics", "-f", "-", stdin=CHANGED % "2.19.5")
    assert (result.exit_code, result.stderr) == (1, "stateward: -: it contains no cluster with that name\n")


async def test_the_database_is_asked_through_the_api_server(running: FakeApi) -> None:
    found = endpoints(await read_live(running, Key("default", "logs"), OPENSEARCH))
    assert found[0] == "/api/v1/namespaces/default/pods/logs-gateway-0-0%3A9200/proxy"


async def test_only_questions_are_carried() -> None:
    carried = ProxyTransport(FakeApi())
    for method, path in (("PUT", "/_cluster/settings"), ("POST", "/_flush"), ("DELETE", "/documents")):
        with pytest.raises(RefusedError, match="read-only"):
            await carried.send(Call("/api/v1/x", method, path))


async def test_a_missing_right_is_named() -> None:
    api = FakeApi()
    api.refusal = Forbidden("pods is forbidden", status=Status(code=403))
    with pytest.raises(UnreachableError, match="pods/proxy"):
        await ProxyTransport(api).send(Call("/api/v1/x", "GET", "/"))


SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: words}
stringData: {WORD: %s}
"""


@pytest.fixture
def using(running: FakeApi) -> FakeApi:
    """The same cluster, whose data members have a Secret in their variables and whose keystores have another."""
    env = {"containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "words"}}]}]}
    pools = [{**pool, "podTemplate": {"spec": env}} if pool["name"] == "hot" else pool for pool in SPEC["pools"]]
    document = running.objects["osclusters", Key("default", "logs")]
    document["spec"] = {**SPEC, "pools": pools, "secureSettings": [{"secretName": "store"}]}
    document["status"]["dataDigests"] = {
        "Secret/words:": "+",
        "Secret/words:WORD": "mine/1",
        "keystore/Secret/store:word": "mine/2",
    }
    for pool in opensearch.desired(msgspec.convert(document, OpenSearchCluster)).pools:
        for (_, key), stored in running.objects.items():
            if key.name.startswith(f"logs-{pool.name}-") and "annotations" in stored["metadata"]:
                stored["metadata"]["annotations"][names.ANNOTATION_INPUTS] = json.dumps(dict(pool.inputs))
    for name, key in (("words", "WORD"), ("store", "word")):
        running.add("secrets", {"metadata": {"name": name, "namespace": "default"}, "data": {key: "b25l"}})
    return running


def effects(output: str) -> dict[str, tuple[str, str]]:
    return {m["name"]: (m["effect"], m["because"]) for m in json.loads(output)["members"]}


def test_a_secret_in_the_file_shows_whom_it_restarts_because_of_which_key(run: Run, using: FakeApi) -> None:
    shown = effects(run("plan", "logs", "-f", "-", "-o", "json", stdin=SECRET % "two").output)
    assert shown["logs-hot-0"] == ("recreate", "Secret/words:WORD")
    assert shown["logs-managers-0"] == ("none", "")


def test_a_secret_of_the_keystore_in_the_file_is_shown_for_every_member(run: Run, using: FakeApi) -> None:
    offered = (SECRET % "one") + "---\n" + (SECRET % "two").replace("words", "store").replace("WORD", "word")
    shown = effects(run("plan", "logs", "-f", "-", "-o", "json", stdin=offered).output)
    assert {because for _, because in shown.values()} == {"keystore/Secret/store:word"}


def test_the_same_data_in_the_file_restarts_no_member_and_shows_no_value(run: Run, using: FakeApi) -> None:
    result = run("plan", "logs", "-f", "-", stdin=SECRET % "one")
    assert "no member would change" in result.output
    assert "two" not in run("plan", "logs", "-f", "-", stdin=SECRET % "two").output


def test_a_secret_of_another_namespace_restarts_no_member(run: Run, using: FakeApi) -> None:
    """A file of several namespaces has two of the same name: only one of them is what the pods use."""
    elsewhere = (SECRET % "two").replace("{name: words}", "{name: words, namespace: elsewhere}")
    here = (SECRET % "two").replace("{name: words}", "{name: words, namespace: default}")
    for text, effect in ((elsewhere, "none"), (f"{here}---\n{elsewhere}", "recreate")):
        shown = effects(run("plan", "logs", "-f", "-", "-o", "json", stdin=text).output)
        assert shown["logs-hot-0"][0] == effect


SCALE = """\
---
apiVersion: stateward.dev/v1alpha1
kind: PoolScale
metadata: {name: %s}
spec: {cluster: {kind: OpenSearchCluster, name: logs}, pool: hot, replicas: 3}
"""


def test_resources_of_other_kinds_in_the_file_count_as_no_clusters(run: Run, running: FakeApi) -> None:
    changed = CHANGED % "2.19.5"
    assert run("plan", "-f", "-", stdin=changed + SCALE % "logs-hot").exit_code == ExitCode.CHANGES
    assert run("plan", "logs", "-f", "-", stdin=changed + SCALE % "logs").exit_code == ExitCode.CHANGES
    assert "it contains no cluster" in run("plan", "-f", "-", stdin=SCALE % "logs").stderr


def test_the_namespace_chooses_among_clusters_of_one_name(run: Run, running: FakeApi) -> None:
    here, there = (
        (CHANGED % version).replace("{name: logs}", f"{{name: logs, namespace: {namespace}}}")
        for version, namespace in (("2.19.5", "default"), ("2.18.0", "elsewhere"))
    )
    both = f"{here}---\n{there}"
    assert "2.17.1 → 2.19.5" in run("plan", "logs", "-f", "-", "-n", "default", stdin=both).output
    assert "it has 2 clusters called logs; choose one with --namespace" in run("plan", "-f", "-", stdin=both).stderr


@pytest.mark.parametrize(
    "text", ["apiVersion: 3\nkind: [1]\n", "apiVersion: operator.tigera.io/v1\nkind: Installation\n"]
)
def test_a_foreign_resource_in_the_file_is_not_taken_for_an_installation(run: Run, running: FakeApi, text: str) -> None:
    result = run("plan", "-f", "-", stdin=f"{text}---\n{CHANGED % '2.19.5'}")
    assert result.exit_code == ExitCode.CHANGES
    assert "2.17.1 → 2.19.5" in result.output


@pytest.mark.parametrize("command", ["plan", "rehearse"])
def test_a_file_of_another_namespace_than_the_option_is_refused(run: Run, running: FakeApi, command: str) -> None:
    """The plan of the cluster of that name in another namespace says nothing about what `kubectl apply` would do."""
    running.add("osclusters", {**running.objects["osclusters", Key("default", "logs")]})
    there = (CHANGED % "2.19.5").replace("{name: logs}", "{name: logs, namespace: elsewhere}")
    done = run(command, "-f", "-", "-n", "default", stdin=there)
    assert done.exit_code == 1
    assert "namespace elsewhere" in done.stderr
