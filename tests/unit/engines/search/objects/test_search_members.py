"""Members of a search cluster: StatefulSets, claims, configuration, pods and their placement."""

import base64
from typing import Any

import pytest
import yaml

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines import opensearch
from tests.unit.engines.search_clusters import SPEC, cluster, with_pool
from tests.unit.engines.search_objects import OWNER, pod, shared, workload


def container(made: OpenSearchCluster, pool: str = "hot", ordinal: int = 0, version: str = "2.19.5") -> Json:
    return pod(made, pool, ordinal, version)["spec"]["containers"][0]


def environment(made: OpenSearchCluster, pool: str = "hot", ordinal: int = 0, version: str = "2.19.5") -> Json:
    return {item["name"]: item.get("value") for item in container(made, pool, ordinal, version)["env"]}


def config(made: OpenSearchCluster, pool: str = "hot", version: str = "2.19.5") -> Json:
    secret = opensearch.member_objects(made, pool, 0, version).config
    return yaml.safe_load(base64.b64decode(secret["data"]["opensearch.yml"]))


def test_a_member_is_a_stateful_set_of_one_that_only_the_operator_restarts() -> None:
    made = workload(cluster(), "hot", 2)
    assert made["metadata"]["name"] == "logs-hot-2"
    assert made["metadata"]["ownerReferences"] == [OWNER]
    spec = made["spec"]
    assert (spec["replicas"], spec["updateStrategy"], spec["podManagementPolicy"]) == (
        1,
        {"type": "OnDelete"},
        "Parallel",
    )
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert "volumeClaimTemplates" not in spec
    assert spec["serviceName"] == "logs-members"


def test_the_claim_is_kept_unless_it_is_to_go_with_the_cluster() -> None:
    kept = opensearch.member_objects(cluster(), "hot", 0, "2.19.5").claim
    assert kept is not None
    assert (kept["metadata"]["name"], kept["spec"]["resources"]) == (
        "data-logs-hot-0",
        {"requests": {"storage": "20Gi"}},
    )
    assert "ownerReferences" not in kept["metadata"]
    assert "storageClassName" not in kept["spec"]
    gone = opensearch.member_objects(cluster(volumes={"whenDeleted": "Delete"}), "hot", 0, "2.19.5").claim
    assert gone is not None
    assert gone["metadata"]["ownerReferences"] == [OWNER]
    fast = opensearch.member_objects(
        cluster(with_pool("hot", storage={"storageClass": "fast"})), "hot", 0, "2.19.5"
    ).claim
    assert fast is not None
    assert fast["spec"]["storageClassName"] == "fast"


def volume(made: OpenSearchCluster, pool: str) -> Json:
    return next(item for item in pod(made, pool)["spec"]["volumes"] if item["name"] == "data")


def test_data_is_on_the_claim_or_goes_with_the_pod() -> None:
    assert volume(cluster(), "hot")["persistentVolumeClaim"] == {"claimName": "data-logs-hot-0"}
    assert volume(cluster(), "gateway")["emptyDir"] == {}
    assert opensearch.member_objects(cluster(), "gateway", 0, "2.19.5").claim is None


@pytest.mark.parametrize("image", ["", "stateward:1"])
def test_the_copy_of_the_configuration_with_its_keystore_is_in_memory_and_restarts_no_member(
    image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Existing pods follow with their next start, because the spec has not changed."""
    template = opensearch.member_objects(cluster(), "hot", 0, "2.19.5", agent_image=image).workload["spec"]["template"]
    (run,) = [each for each in template["spec"]["volumes"] if each["name"] == "run"]
    assert run["emptyDir"] == {"medium": "Memory", "sizeLimit": "32Mi"}
    (mount,) = [each for each in template["spec"]["containers"][0]["volumeMounts"] if each["name"] == "run"]
    assert mount["mountPath"] == "/stateward/run"
    monkeypatch.setattr("stateward.engines.search.objects.mounts.RUN", "1Mi")
    other = opensearch.member_objects(cluster(), "hot", 0, "2.19.5", agent_image=image).workload["spec"]["template"]
    assert other["spec"] != template["spec"]
    assert other["metadata"]["annotations"] == template["metadata"]["annotations"]


@pytest.mark.parametrize("image", ["", "stateward:1"])
def test_only_the_named_directories_are_writable_and_the_configuration_begins_as_in_the_image(image: str) -> None:
    """Pods of before follow with their next start: the read-only file system is in no input of a member."""
    objects = opensearch.member_objects(cluster(), "hot", 0, "2.19.5", agent_image=image)
    spec = objects.workload["spec"]["template"]["spec"]
    database = spec["containers"][0]
    home = "/usr/share/opensearch"
    writable = {each["mountPath"]: each["name"] for each in database["volumeMounts"] if not each.get("readOnly")}
    assert writable == {
        f"{home}/data": "data",
        "/stateward/run": "run",
        f"{home}/config": "stateward-config",
        f"{home}/logs": "stateward-logs",
        "/tmp": "stateward-tmp",  # noqa: S108 - a path in the pod
    }
    copy = spec["initContainers"][0]
    assert copy["image"] == database["image"]
    assert copy["volumeMounts"] == [{"name": "stateward-config", "mountPath": "/stateward/writable"}]
    assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in (database, *spec["initContainers"]))


def test_a_user_may_let_the_image_be_written_to_and_mount_a_volume_of_their_own() -> None:
    """For images with plug-ins that write elsewhere."""
    mine = {
        "name": "opensearch",
        "securityContext": {"readOnlyRootFilesystem": False},
        "volumeMounts": [{"name": "dumps", "mountPath": "/tmp"}],  # noqa: S108 - a path in the pod
    }
    template = {"spec": {"containers": [mine], "volumes": [{"name": "dumps", "emptyDir": {}}]}}
    given = container(cluster(podTemplate=template))
    assert given["securityContext"]["readOnlyRootFilesystem"] is False
    assert given["securityContext"]["allowPrivilegeEscalation"] is False
    (tmp,) = [each["name"] for each in given["volumeMounts"] if each["mountPath"] == "/tmp"]  # noqa: S108
    assert tmp == "dumps"


def test_objects_say_what_they_were_made_from() -> None:
    objects = opensearch.member_objects(cluster(), "hot", 0, "2.17.1")
    template = objects.workload["spec"]["template"]
    for item in (objects.config, objects.workload, template):
        assert item["metadata"]["annotations"][names.ANNOTATION_VERSION] == "2.17.1"
    inputs = {
        item["metadata"]["annotations"][names.ANNOTATION_INPUTS]
        for item in (objects.config, objects.workload, template)
    }
    assert len(inputs) == 1


def test_the_same_spec_makes_the_same_objects() -> None:
    reordered = {**SPEC, "config": {"b": 1, "a": {"y": 2, "x": 3}}}
    other = {**SPEC, "config": {"a.x": 3, "b": 1, "a.y": 2}}
    assert opensearch.member_objects(cluster(reordered), "hot", 0, "2.19.5") == opensearch.member_objects(
        cluster(other), "hot", 0, "2.19.5"
    )


def test_the_configuration_holds_what_users_chose_and_what_stateward_owns() -> None:
    chosen = {"config": {"action.auto_create_index": False, "node": {"attr": {"a": "cluster"}}}}
    made = cluster({**with_pool("hot", config={"node.attr.a": "pool", "cluster.name": "stolen"}), **chosen})
    assert config(made) == {
        "action.auto_create_index": False,
        "cluster.name": "prod.logs",
        "discovery.seed_hosts": ["logs-discovery.prod.svc"],
        "discovery.seed_providers": "file",
        "http.port": 9200,
        "network.host": "0.0.0.0",  # noqa: S104
        "network.publish_host": "${POD_IP}",
        "node.attr.a": "pool",
        "node.name": "logs-hot-0",
        "node.roles": ["data", "ingest"],
        "node.store.allow_mmap": "false",
        "path.data": "/usr/share/opensearch/data",
        "transport.port": 9300,
    }


def test_a_pool_takes_back_what_the_cluster_set_and_defaults_give_way() -> None:
    spec = {**with_pool("hot", config={"a.b": None, "node.store.allow_mmap": True}), "config": {"a": {"b": 1, "c": 2}}}
    found = config(cluster(spec))
    assert "a.b" not in found
    assert found["a.c"] == 2
    assert found["node.store.allow_mmap"] is True


def test_roles_are_written_as_the_version_knows_them_and_left_out_where_none_were_named() -> None:
    assert config(cluster(), "managers", "1.3.20")["node.roles"] == ["master"]
    assert config(cluster(), "gateway")["node.roles"] == []
    assert "node.roles" not in config(cluster({"version": "2.19.5", "pools": [{"name": "hot", "replicas": 1}]}))


@pytest.mark.parametrize(
    ("image", "version", "expected"),
    [
        (None, "2.19.5", "docker.io/opensearchproject/opensearch:2.19.5"),
        (None, "2.17.1", "docker.io/opensearchproject/opensearch:2.17.1"),
        ("own:5000/os:2.19.5", "2.17.1", "own:5000/os:2.17.1"),
        ("own/os:v2.19.5-ours", "2.17.1", "own/os:v2.17.1-ours"),
        ("own/os:2.19.5@sha256:" + "a" * 64, "2.17.1", "own/os:2.17.1"),
        ("own/os:2.19.5@sha256:" + "a" * 64, "2.19.5", "own/os:2.19.5@sha256:" + "a" * 64),
        ("own:5000/os@sha256:" + "a" * 64, "2.19.5", "own:5000/os@sha256:" + "a" * 64),
        ("own/2.19.5/os:12.19.55", "2.17.1", "own/2.19.5/os:12.19.55"),
    ],
)
def test_each_version_has_its_image(image: str | None, version: str, expected: str) -> None:
    assert container(cluster(image=image), version=version)["image"] == expected


@pytest.mark.parametrize(
    ("resources", "options"),
    [
        (None, "-Xms1024m -Xmx1024m"),
        ({"limits": {"memory": "4Gi"}}, "-Xms2048m -Xmx2048m"),
        ({"limits": {"memory": "4Gi"}, "requests": {"memory": "1Gi"}}, "-Xms2048m -Xmx2048m"),
        ({"requests": {"memory": "3000M"}}, "-Xms1430m -Xmx1430m"),
        ({"requests": {"cpu": "2"}}, "-Xms1024m -Xmx1024m"),
        ({"limits": {"memory": "256Gi"}}, "-Xms31744m -Xmx31744m"),
        ({"limits": {"memory": "not a size"}}, "-Xms1024m -Xmx1024m"),
    ],
)
def test_the_heap_is_half_of_the_memory(resources: Json | None, options: str) -> None:
    assert environment(cluster(with_pool("hot", resources=resources)))["OPENSEARCH_JAVA_OPTS"] == options


def test_the_heap_follows_the_container_as_it_is_in_the_end_and_a_choice_is_kept() -> None:
    limits: Json = {"name": "opensearch", "resources": {"limits": {"memory": "8Gi"}}}
    template = {"spec": {"containers": [limits]}}
    assert environment(cluster(podTemplate=template))["OPENSEARCH_JAVA_OPTS"] == "-Xms4096m -Xmx4096m"
    limits["env"] = [{"name": "OPENSEARCH_JAVA_OPTS", "value": "-Xmx3g"}]
    assert environment(cluster(podTemplate=template))["OPENSEARCH_JAVA_OPTS"] == "-Xmx3g"


def candidates(made: OpenSearchCluster) -> list[str]:
    members = [(pool.name, n) for pool in made.spec.pools for n in range(pool.replicas)]
    return [
        f"{pool}-{n}"
        for pool, n in members
        if environment(made, pool, n).get("STATEWARD_BOOTSTRAP_CANDIDATE") == "true"
        and pod(made, pool, n)["metadata"]["annotations"].get(names.ANNOTATION_BOOTSTRAP_CANDIDATE) == "true"
    ]


def test_exactly_one_member_may_ask_to_form_the_cluster() -> None:
    assert candidates(cluster()) == ["managers-0"]
    recorded = {"bootstrap": {"member": "logs-managers-2", "volume": "v"}}
    assert candidates(cluster(status=recorded)) == ["managers-2"]


@pytest.mark.parametrize(
    "status", [{"clusterUUID": "abc"}, {"bootstrap": {"member": "logs-managers-0", "volume": "v", "formed": True}}]
)
def test_no_process_asks_for_permission_once_the_cluster_is_formed(status: Json) -> None:
    made = cluster(status=status)
    assert candidates(made) == []
    assert shared(made)["ConfigMap", "logs-seeds"]["data"]["formed"]


def test_the_candidate_says_nothing_about_its_inputs() -> None:
    before, after = pod(cluster(), "managers"), pod(cluster(status={"clusterUUID": "abc"}), "managers")
    inputs = names.ANNOTATION_INPUTS
    assert before["metadata"]["annotations"][inputs] == after["metadata"]["annotations"][inputs]


def test_pods_are_restricted() -> None:
    spec = pod(cluster())["spec"]
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(cluster())["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
    assert spec["terminationGracePeriodSeconds"] == 120
    assert [each["name"] for each in spec["initContainers"]] == ["stateward-config"]


def test_no_file_is_mounted_alone() -> None:
    assert not any("subPath" in mount for mount in container(cluster())["volumeMounts"])


def test_probes_tell_alive_from_able_to_serve() -> None:
    found = container(cluster())
    paths = {name: found[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert paths["startup"] == paths["liveness"] == "/"
    assert paths["readiness"].startswith("/stateward-readiness-*/_count")
    seconds = {
        name: found[f"{name}Probe"]["periodSeconds"] * found[f"{name}Probe"]["failureThreshold"] for name in paths
    }
    assert seconds["startup"] > 300 + 60, "the wait for leave to form the cluster must fit in"
    assert seconds["liveness"] >= 180


def test_overrides_win_but_for_what_the_operator_finds_its_pods_by() -> None:
    template = {
        "metadata": {
            "labels": {"team": "a", names.LABEL_MEMBER: "stolen"},
            "annotations": {names.ANNOTATION_VERSION: "9"},
        },
        "spec": {
            "terminationGracePeriodSeconds": 600,
            "affinity": None,
            "containers": [
                {"name": "exporter", "image": "e:1"},
                {"name": "opensearch", "env": [{"name": "A", "value": "1"}]},
            ],
        },
    }
    made = pod(
        cluster(
            {**with_pool("hot", podTemplate={"spec": {"terminationGracePeriodSeconds": 900}}), "podTemplate": template}
        )
    )
    labels = made["metadata"]["labels"]
    assert (labels["team"], labels[names.LABEL_MEMBER]) == ("a", "logs-hot-0")
    assert made["metadata"]["annotations"][names.ANNOTATION_VERSION] == "2.19.5"
    assert made["spec"]["terminationGracePeriodSeconds"] == 900
    assert "affinity" not in made["spec"]
    assert [item["name"] for item in made["spec"]["containers"]] == ["opensearch", "exporter"]
    assert {"name": "A", "value": "1"} in made["spec"]["containers"][0]["env"]


def test_a_pool_that_the_spec_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError, match="no pool 'cold'"):
        workload(cluster(), "cold")


def test_voters_avoid_each_other_above_all_and_members_spread_over_zones() -> None:
    def weights(pool: str) -> list[Any]:
        terms = pod(cluster(), pool)["spec"]["affinity"]["podAntiAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"
        ]
        return [term["weight"] for term in terms]

    assert weights("managers") == [50, 100]
    assert weights("hot") == [50]
    (spread,) = pod(cluster())["spec"]["topologySpreadConstraints"]
    assert (spread["whenUnsatisfiable"], spread["topologyKey"]) == ("ScheduleAnyway", "topology.kubernetes.io/zone")
