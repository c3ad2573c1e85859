"""Plug-ins in pods: the containers that install them, where the files come from, and what a change does."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.elasticsearch import ELASTICSEARCH
from stateward.engines.search.objects.desired import desired
from stateward.engines.search.objects.member import member_objects
from stateward.planning.model.observation import Effect
from tests.unit.engines.search_clusters import SPEC, cluster
from tests.unit.engines.search_objects import pod

INSTALL, COPY, SOURCE = "stateward-plugin-install", "stateward-plugins", "stateward-plugin-source"
ICU: Json = {"name": "analysis-icu"}


def init(made: OpenSearchCluster, version: str = "2.19.5") -> dict[str, Json]:
    return {c["name"]: c for c in pod(made, version=version)["spec"]["initContainers"]}


def places(made: OpenSearchCluster, version: str = "2.19.5") -> list[str]:
    return init(made, version)[INSTALL]["command"][4:]


def test_without_plugins_a_pod_is_as_it_was() -> None:
    made = pod(cluster(), "hot")
    assert "plugin" not in str(made)


def test_plugins_come_from_the_site_of_the_engine_in_the_version_of_the_member() -> None:
    made = cluster(plugins=[ICU, {"name": "opensearch-knn", "file": "{name}-{version}.0.zip"}])
    site = "https://artifacts.opensearch.org/releases/plugins"
    for version in ("2.19.5", "3.4.0"):
        assert places(made, version) == [
            "analysis-icu",
            f"{site}/analysis-icu/{version}/analysis-icu-{version}.zip",
            "opensearch-knn",
            f"{site}/opensearch-knn/{version}/opensearch-knn-{version}.0.zip",
        ]


@pytest.mark.parametrize("url", ["https://mirror.example/search", "https://mirror.example/search/"])
def test_a_mirror_has_all_files_in_one_folder(url: str) -> None:
    made = cluster(plugins=[ICU], pluginSource={"url": url})
    assert places(made) == ["analysis-icu", "https://mirror.example/search/analysis-icu-2.19.5.zip"]


def test_the_files_of_an_image_are_copied_by_a_container_of_that_image_in_the_version_of_the_member() -> None:
    made = cluster(plugins=[ICU], pluginSource={"image": "registry.example/plugins:{version}"})
    assert list(init(made)) == ["stateward-config", COPY, SOURCE, INSTALL, *list(init(made))[4:]]
    assert init(made)[SOURCE]["image"] == "registry.example/plugins:2.19.5"
    assert places(made) == ["analysis-icu", "/stateward/plugin-source/analysis-icu-2.19.5.zip"]
    (mounted,) = [m for m in init(made)[INSTALL]["volumeMounts"] if m["name"] == SOURCE]
    assert mounted["readOnly"]


def test_a_claim_is_mounted_read_only_and_not_in_the_database() -> None:
    made = cluster(plugins=[ICU], pluginSource={"claimName": "plugins"})
    spec = pod(made)["spec"]
    (volume,) = [v for v in spec["volumes"] if v["name"] == SOURCE]
    assert volume["persistentVolumeClaim"] == {"claimName": "plugins", "readOnly": True}
    assert SOURCE not in [m["name"] for m in spec["containers"][0]["volumeMounts"]]


def test_the_database_runs_with_the_directory_that_begins_as_that_of_the_image() -> None:
    made = cluster(plugins=[ICU])
    spec = pod(made)["spec"]
    (mounted,) = [m for m in spec["containers"][0]["volumeMounts"] if m["name"] == COPY]
    assert mounted["mountPath"] == "/usr/share/opensearch/plugins"
    assert init(made)[COPY]["command"][4:] == ["/usr/share/opensearch/plugins", "/stateward/writable"]
    assert {"name": COPY, "emptyDir": {}} in spec["volumes"]


def test_every_container_that_installs_is_restricted() -> None:
    made = cluster(plugins=[ICU], pluginSource={"image": "registry.example/plugins:1"})
    for container in init(made).values():
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        ({"plugins": [ICU, {"name": "mapper-size"}]}, "plugins/mapper-size"),
        ({"plugins": [{**ICU, "file": "icu.zip"}]}, "plugins/analysis-icu"),
        ({"plugins": [ICU], "pluginSource": {"url": "https://mirror.example"}}, "pluginSource"),
    ],
)
def test_a_change_of_plugins_recreates_pods(spec: dict[str, Any], changed: str) -> None:
    before = opensearch.desired(cluster(plugins=[ICU])).pools[0]
    after = opensearch.desired(cluster(**spec)).pools[0]
    assert {name for name, value in after.inputs.items() if before.inputs.get(name) != value} == {changed}
    assert after.effects[changed.partition("/")[0]] is Effect.RECREATE


def elasticsearch(version: str, *plugins: Json, **spec: Any) -> ElasticsearchCluster:
    pools = [{"name": "all", "replicas": 3}]
    document = {
        "metadata": {"name": "logs", "namespace": "prod", "uid": "u-1"},
        "spec": {**SPEC, "version": version, "pools": pools, "plugins": list(plugins), **spec},
    }
    return msgspec.convert(document, ElasticsearchCluster)


def test_to_remove_a_plugin_that_the_version_includes_restarts_nothing() -> None:
    s3, source = {"name": "repository-s3"}, {"url": "https://mirror.example"}
    both, one, none = (
        desired(ELASTICSEARCH, elasticsearch("8.19.4", *plugins, pluginSource=source)).pools[0].inputs
        for plugins in ((s3, ICU), (ICU,), (s3,))
    )
    assert both == one
    assert not [name for name in none if name.startswith("plugin")]


def test_elasticsearch_gets_no_plugin_that_its_version_includes() -> None:
    made = elasticsearch("7.17.28", {"name": "repository-s3"}, {"name": "ingest-attachment"}, ICU)
    installed = {}
    for version in ("7.17.28", "8.3.0", "8.19.4"):
        spec = member_objects(ELASTICSEARCH, made, "all", 0, version).workload["spec"]["template"]["spec"]
        (container,) = [c for c in spec["initContainers"] if c["name"] == INSTALL]
        installed[version] = container["command"][4::2]
    assert installed == {
        "7.17.28": ["repository-s3", "ingest-attachment", "analysis-icu"],
        "8.3.0": ["ingest-attachment", "analysis-icu"],
        "8.19.4": ["analysis-icu"],
    }
