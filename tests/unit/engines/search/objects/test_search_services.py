"""Shared objects of a search cluster: Services, seeds and disruption budgets."""

import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.planning.safety.disruption_budget import Budget
from tests.unit.engines.search_clusters import cluster, with_pool
from tests.unit.engines.search_objects import OWNER, pod, shared


def selected(service: Json, made: OpenSearchCluster) -> set[str]:
    selector: dict[str, str] = service["spec"]["selector"]
    return {p.name for p in made.spec.pools if selector.items() <= pod(made, p.name)["metadata"]["labels"].items()}


def test_services_reach_the_pods_they_are_for() -> None:
    made = cluster()
    found = shared(made)
    assert selected(found["Service", "logs"], made) == {"hot", "gateway"}
    assert selected(found["Service", "logs-discovery"], made) == {"managers"}
    assert selected(found["Service", "logs-members"], made) == {"managers", "hot", "gateway"}
    assert found["Service", "logs-discovery"]["spec"]["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in found["Service", "logs"]["spec"]


def test_a_manager_that_also_holds_data_serves_clients() -> None:
    made = cluster({"version": "2.19.5", "pools": [{"name": "all", "replicas": 3}]})
    assert selected(shared(made)["Service", "logs"], made) == {"all"}
    remote = ["cluster_manager", "remote_cluster_client"]
    made = cluster(with_pool("managers", roles=remote))
    assert "managers" not in selected(shared(made)["Service", "logs"], made)


def test_the_client_service_is_as_users_want_it_but_keeps_its_pods() -> None:
    service = {
        "type": "LoadBalancer",
        "labels": {"team": "a", names.LABEL_CLUSTER: "stolen"},
        "annotations": {"lb": "internal"},
        "spec": {
            "externalTrafficPolicy": "Local",
            "selector": {"other": "pods"},
            "externalIPs": ["192.0.2.1"],
            "externalName": "payments.bank.svc",
            "type": "ExternalName",
        },
    }
    found = shared(cluster(service=service))["Service", "logs"]
    assert found["metadata"]["annotations"] == {"lb": "internal"}
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["labels"][names.LABEL_CLUSTER] == "logs"
    assert (found["spec"]["type"], found["spec"]["externalTrafficPolicy"]) == ("LoadBalancer", "Local")
    assert "other" not in found["spec"]["selector"]
    assert "externalIPs" not in found["spec"]
    assert "externalName" not in found["spec"]


def test_ports_of_the_client_service_are_added_to_the_databases_own() -> None:
    ports = [{"name": "https", "port": 443, "targetPort": 9200}, {"port": 9200, "nodePort": 30920, "targetPort": 1}]
    found = shared(cluster(service={"spec": {"ports": ports}}))["Service", "logs"]["spec"]["ports"]
    assert found == [
        {"name": "http", "port": 9200, "targetPort": 9200, "protocol": "TCP", "nodePort": 30920},
        {"name": "https", "port": 443, "targetPort": 9200},
    ]


def test_seeds_are_sorted_unique_addresses_of_the_voters() -> None:
    voters = ("10.0.0.2", "", "fd00::1", "10.0.0.1", "10.0.0.2")
    data = shared(cluster(), voters=voters)["ConfigMap", "logs-seeds"]["data"]
    assert data == {"unicast_hosts.txt": "10.0.0.1:9300\n10.0.0.2:9300\n[fd00::1]:9300\n"}


@pytest.mark.parametrize(("allowed", "kept"), [(0, 3), (1, 2)])
def test_a_budget_selects_its_kind_of_members(allowed: int, kept: int) -> None:
    found = shared(cluster(), Budget("data", ("data", "data-voting", "voting"), 3, allowed))[
        "PodDisruptionBudget", "logs-data"
    ]
    assert found["spec"] == {
        "minAvailable": kept,
        "selector": {
            "matchLabels": {names.LABEL_CLUSTER: "logs"},
            "matchExpressions": [
                {"key": names.LABEL_ROLES, "operator": "In", "values": ["data", "data-voting", "voting"]}
            ],
        },
    }


def test_all_shared_objects_belong_to_the_cluster() -> None:
    for item in shared(cluster(), Budget("data", ("data",), 3, 1)).values():
        assert item["metadata"]["ownerReferences"] == [OWNER]
        assert item["metadata"]["namespace"] == "prod"
