"""The sandbox is a real Kubernetes: three nodes, names, Services, volumes; nodes stop, start, are cut and join."""

import http.server
import json
import subprocess
import threading
from collections.abc import Callable

import pytest

from sandbox import Sandbox
from sandbox.images import pins
from sandbox.kubernetes.kubeapi import wait_for
from sandbox.volumes.names import STORAGE_CLASS
from tests.e2e.sandbox import world

pytestmark = pytest.mark.e2e


def test_it_has_three_nodes_in_three_zones(sandbox: Sandbox) -> None:
    nodes = sandbox.api.items("/api/v1/nodes")
    zones = {node["metadata"]["name"]: node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes}
    assert zones == {"n1": "zone-a", "n2": "zone-b", "n3": "zone-c"}


def test_three_databases_form_one_cluster_across_the_nodes(sandbox: Sandbox, namespace: str) -> None:
    sandbox.load_image("opensearch:2.19.5")
    world.apply(sandbox, "opensearch.yaml", namespace)
    world.rolled_out(sandbox, namespace, "search", seconds=180)
    health = f"http://search-http.{namespace}:9200/_cluster/health"
    world.awaited(sandbox, health, '"number_of_nodes":3', seconds=60)
    world.awaited(sandbox, health, '"status":"green"', seconds=60)

    pods = sandbox.api.items(f"/api/v1/namespaces/{namespace}/pods")
    assert {pod["spec"]["nodeName"] for pod in pods} == {"n1", "n2", "n3"}

    # From a pod, by the Service's name, whichever node answers: DNS, kube-proxy and the routes between nodes.
    inside = ["exec", "-n", namespace, "search-1", "--", "curl", "-s", "--max-time", "10"]
    for url in (f"http://search-http.{namespace}.svc.cluster.local:9200", "http://search-0.search:9200"):
        assert json.loads(sandbox.kubectl(*inside, url))["cluster_name"] == "search"
    assert '"major": "1"' in sandbox.kubectl(*inside, "-k", "https://kubernetes.default/version")

    # From this machine, by a relay and no other way.
    with sandbox.relay(f"search-http.{namespace}", 9200) as port:
        outside = subprocess.run(
            ["curl", "-s", "--max-time", "10", f"http://127.0.0.1:{port}"], check=True, capture_output=True
        )
        assert json.loads(outside.stdout)["cluster_name"] == "search"

    _claim_grows(sandbox, namespace, "data-search-0")


def _claim_grows(sandbox: Sandbox, namespace: str, claim: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}"
    sandbox.api.patch(path, {"spec": {"resources": {"requests": {"storage": "3Gi"}}}})

    def grown() -> bool:
        found = sandbox.api.get(path)
        volume = sandbox.api.get(f"/api/v1/persistentvolumes/{found['spec']['volumeName']}")
        capacities = (found["status"]["capacity"]["storage"], volume["spec"]["capacity"]["storage"])
        return capacities == ("3Gi", "3Gi")

    wait_for(f"claim {claim} to grow", grown, seconds=30)


def test_what_a_test_serves_outside_is_reached_from_inside(sandbox: Sandbox) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            with sandbox.expose(server.server_port) as address:
                curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10", f"http://{address}"]
                assert sandbox.exec(curl).stdout == "501"  # it answers, though not much
        finally:
            server.shutdown()
            serving.join()


def test_a_stopped_kubelet_makes_its_node_not_ready_and_comes_back(sandbox: Sandbox) -> None:
    sandbox.node_stop("n1")
    sandbox.wait_node("n1", ready=False, seconds=120)
    sandbox.node_start("n1")
    sandbox.wait_node("n1", ready=True, seconds=60)


@pytest.mark.parametrize("cut", [Sandbox.node_cut, pytest.param(Sandbox.node_mute, marks=pytest.mark.full)])
def test_a_cut_node_is_lost_and_found(sandbox: Sandbox, cut: Callable[[Sandbox, str], None]) -> None:
    assert world.reaches(sandbox, "n2")
    cut(sandbox, "n2")
    assert not world.reaches(sandbox, "n2")
    assert world.reaches(sandbox, "n3")
    sandbox.wait_node("n2", ready=False, seconds=120)
    sandbox.node_join("n2")
    sandbox.wait_node("n2", ready=True, seconds=60)
    assert world.reaches(sandbox, "n2")


@pytest.mark.full
def test_a_node_that_lost_power_comes_back_with_its_data(sandbox: Sandbox, namespace: str) -> None:
    image = sandbox.load_image("opensearch:2.19.5")
    # Its volume has a file system of its own, which the node mounts again.
    world.apply(sandbox, "single.yaml", namespace, **_opensearch("single", image) | {"CLASS": sandbox.limit_volumes()})
    world.rolled_out(sandbox, namespace, "single", seconds=120)
    pod = sandbox.api.get(f"/api/v1/namespaces/{namespace}/pods/single-0")
    node = pod["spec"]["nodeName"]
    put = ["curl", "-s", "--fail", "-X", "PUT", f"http://single.{namespace}:9200/kept"]
    sandbox.exec(put)

    sandbox.node_stop(node, with_containers=True)
    sandbox.wait_node(node, ready=False, seconds=120)
    sandbox.node_start(node)
    sandbox.wait_node(node, ready=True, seconds=60)
    world.awaited(sandbox, f"http://single.{namespace}:9200/_cat/indices", "kept", seconds=120)
    world.awaited(sandbox, f"http://single.{namespace}:9200/_cat/allocation?h=disk.total", "960mb", seconds=30)


@pytest.mark.full
def test_a_drained_node_is_empty_and_takes_pods_again_when_uncordoned(sandbox: Sandbox, namespace: str) -> None:
    image = sandbox.load_image("opensearch:2.19.5")
    # Process 1 ends at a signal only if it says so.
    idle = ["bash", "-c", "trap 'exit 0' TERM; while sleep 0.5; do :; done"]
    sandbox.kubectl("run", "idle", "-n", namespace, f"--image={image}", "--", *idle)
    sandbox.kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/idle", "--timeout=60s")
    node = sandbox.api.get(f"/api/v1/namespaces/{namespace}/pods/idle")["spec"]["nodeName"]
    sandbox.node_drain(node, seconds=60)
    assert sandbox.api.items(f"/api/v1/namespaces/{namespace}/pods?fieldSelector=spec.nodeName%3D{node}") == []
    assert sandbox.api.get(f"/api/v1/nodes/{node}")["spec"]["unschedulable"] is True
    sandbox.node_uncordon(node)
    assert "unschedulable" not in sandbox.api.get(f"/api/v1/nodes/{node}")["spec"]


_SECURITY_OFF = {
    "opensearch": '- {name: DISABLE_SECURITY_PLUGIN, value: "true"}',
    "elasticsearch": '- {name: xpack.security.enabled, value: "false"}',
}
_IMAGES = [
    *(f"{pins.OPENSEARCH}:{version}" for version in pins.OPENSEARCH_HOMES),
    *(f"{pins.ELASTICSEARCH}:{version}" for version in pins.ELASTICSEARCH_HOMES),
]


def _opensearch(name: str, image: str) -> dict[str, str]:
    return _database(name, image, "opensearch", "OPENSEARCH_JAVA_OPTS")


def _database(name: str, image: str, engine: str, options: str) -> dict[str, str]:
    home = f"/usr/share/{engine}"
    more = {"SETTINGS": _SECURITY_OFF[engine], "CLASS": STORAGE_CLASS}
    return {"NAME": name, "IMAGE": image, "HOME": home, "OPTIONS": options, **more}


@pytest.mark.full
@pytest.mark.parametrize("image", _IMAGES, ids=lambda image: image.rpartition("/")[2])
def test_every_database_image_starts_as_a_plain_stateful_set(sandbox: Sandbox, namespace: str, image: str) -> None:
    sandbox.load_image(image)
    engine = "opensearch" if image.startswith(pins.OPENSEARCH) else "elasticsearch"
    options = "OPENSEARCH_JAVA_OPTS" if engine == "opensearch" else "ES_JAVA_OPTS"
    world.apply(sandbox, "single.yaml", namespace, **_database("single", image, engine, options))
    world.rolled_out(sandbox, namespace, "single", seconds=180)
    nodes = f"http://single.{namespace}:9200/_nodes?filter_path=nodes.*.version"
    world.awaited(sandbox, nodes, image.rpartition(":")[2], seconds=60)


@pytest.mark.full
@pytest.mark.parametrize("version", ["2.19.3", "3.4.0"])
def test_the_security_plugin_answers_with_its_demonstration_certificates(
    sandbox: Sandbox, namespace: str, version: str
) -> None:
    image = sandbox.load_image(f"opensearch:{version}")
    values = _opensearch("single", image)
    password = "Sandbox-only-7z!"
    values["SETTINGS"] = f"- {{name: OPENSEARCH_INITIAL_ADMIN_PASSWORD, value: '{password}'}}"
    world.apply(sandbox, "single.yaml", namespace, **values)
    world.rolled_out(sandbox, namespace, "single", seconds=180)
    curl = ["curl", "-sk", "--fail", "-u", f"admin:{password}", f"https://single.{namespace}:9200"]
    wait_for("the security plugin", lambda: sandbox.exec(curl, check=False).returncode == 0, seconds=90, pause=1)
