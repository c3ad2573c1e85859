"""What an Elasticsearch cluster may be: its versions, its roles, its names."""

from typing import Any

import pytest

from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import ELASTICSEARCH
from stateward.api.validation import validate
from stateward.api.values.problem import Problem, Severity
from tests.unit.api.documents import elasticsearch_cluster as cluster


def pool(name: str = "all", replicas: int = 3, **fields: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "storage": {"size": "1Gi"}, **fields}


def found(severity: Severity = Severity.ERROR, **spec: Any) -> list[Problem]:
    return [problem for problem in validate(cluster(**spec)) if problem.severity is severity]


def only(**spec: Any) -> Problem:
    (problem,) = found(**spec)
    return problem


def test_the_kind_has_its_names() -> None:
    names = crd(ELASTICSEARCH)["spec"]["names"]
    assert (names["kind"], names["plural"], names["shortNames"]) == (
        "ElasticsearchCluster",
        "esclusters",
        ["swes"],
    )


def test_the_example_of_the_reference_is_right() -> None:
    assert validate(cluster()) == []


@pytest.mark.parametrize("version", ["7.17.0", "7.17.28", "8.0.0", "8.17.0", "8.19.4", "9.0.0", "9.2.0"])
def test_versions_from_7_17_to_9_are_supported(version: str) -> None:
    assert not found(version=version)


@pytest.mark.parametrize("version", ["7.16.3", "6.8.23", "10.0.0", "2.19.5"])
def test_other_versions_are_refused(version: str) -> None:
    problem = only(version=version)
    assert problem.path == "spec.version"
    assert "must be 7.17.0 or later, and earlier than 10.0.0" in problem.message


def test_every_role_is_known() -> None:
    roles = ["master", "data", "data_content", "data_hot", "data_warm", "data_cold", "data_frozen", "ingest", "ml"]
    for version in ("7.17.28", "8.19.4", "9.2.0"):
        assert not found(version=version, pools=[pool(roles=[*roles, "transform", "remote_cluster_client"])])


def test_the_manager_is_called_master() -> None:
    (problem,) = found(pools=[pool(roles=["cluster_manager", "data"])])
    assert problem.message == "Elasticsearch 8.19.4 has no such role; did you mean master?"


def test_an_unknown_role_is_refused_because_the_node_would_not_start() -> None:
    problem = only(pools=[pool(roles=["master", "data", "coffee"])])
    assert problem.path == "spec.pools[0].roles[2]"
    assert "does not start with other roles" in problem.message


def test_a_voting_only_node_is_a_master_too() -> None:
    voters = pool("voters", 1, roles=["voting_only"])
    problem = only(pools=[pool(), voters])
    assert problem.message == "voting_only goes together with master, or the node does not start"


def test_a_cluster_needs_a_member_that_can_be_elected() -> None:
    problem = only(pools=[pool(roles=["master", "voting_only", "data"])])
    assert "and not voting_only" in problem.message


def test_tiers_hold_data() -> None:
    assert not found(Severity.WARNING, pools=[pool("m", roles=["master"]), pool("cold", roles=["data_cold"])])
    (problem,) = found(Severity.WARNING, pools=[pool(roles=["master"])])
    assert "no index can be created" in problem.message


def java(options: str) -> dict[str, Any]:
    env = [{"name": "ES_JAVA_OPTS", "value": options}]
    return {"spec": {"containers": [{"name": "elasticsearch", "env": env}]}}


def test_the_heap_is_that_of_the_database_container() -> None:
    problem = only(podTemplate=java("-Xmx1g"))
    assert problem.path == "spec.podTemplate.spec.containers[elasticsearch].env[ES_JAVA_OPTS]"
    assert "-Xms and -Xmx must be given together" in problem.message


def test_what_runs_the_database_is_not_replaced() -> None:
    template = {"spec": {"containers": [{"name": "elasticsearch", "args": ["x"]}, {"name": "opensearch", "args": []}]}}
    problem = only(podTemplate=template)
    assert problem.path == "spec.podTemplate.spec.containers[elasticsearch].args"
    assert "use config, or env ES_JAVA_OPTS" in problem.message


def test_an_image_is_of_the_version() -> None:
    assert not found(image="registry.example/elasticsearch:8.19.4-ours")
    assert only(image="registry.example/elasticsearch:8.17.0").path == "spec.image"
