"""The objects of an exporter: its pod has the least rights, trusts the cluster's CA, and is no member."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster, SearchCluster
from stateward.api.pod_policy import Level, violations
from stateward.api.validation import validate, validate_access
from stateward.engines.connection.access import Access
from stateward.engines.exporter import objects
from stateward.engines.exporter.preview import exporter_notes
from stateward.engines.exporter.settings import SETTINGS
from stateward.engines.pods.beside import config_secret
from stateward.engines.search.exporter.credentials import next_user, requests_of
from stateward.engines.search.exporter.objects import files
from stateward.engines.search.exporter.settings import PASSWORD, TRUSTED, SearchSettings
from stateward.operator.network.policy import network_policy

ACCESS = Access("logs.prod.svc", "authority", user="stateward-metrics-1", password="very secret")


def cluster(kind: type[SearchCluster] = OpenSearchCluster, **spec: Any) -> SearchCluster:
    version = "8.19.4" if kind is ElasticsearchCluster else "2.19.3"
    pools = [{"name": "all", "replicas": 3, "storage": {"size": "1Gi"}}]
    body = {
        "metadata": {"name": "logs", "namespace": "prod", "uid": "u-1"},
        "spec": {"version": version, "pools": pools, "metrics": {}, **spec},
    }
    return msgspec.convert(body, kind, strict=False)


def template(found: SearchCluster) -> dict[str, Any]:
    assert found.spec.metrics is not None
    body = objects.deployment(found, found.spec.metrics, "opensearch", image="stateward:1", config="logs-metrics-x")
    return body["spec"]["template"]


def test_the_pod_meets_the_restricted_standard_and_has_no_token_of_kubernetes() -> None:
    found = template(cluster())
    assert list(violations(Level.RESTRICTED, found)) == []
    (container,) = found["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert found["spec"]["automountServiceAccountToken"] is False
    assert container["image"] == "stateward:1"
    assert [volume["secret"]["secretName"] for volume in found["spec"]["volumes"]] == ["logs-metrics-x"]


def test_the_pod_is_no_member_and_no_service_of_the_cluster_selects_it() -> None:
    assert "stateward.dev/cluster" not in template(cluster())["metadata"]["labels"]
    selected = objects.service(cluster(), "opensearch")["spec"]["selector"]
    assert selected.items() <= template(cluster())["metadata"]["labels"].items()


def test_the_configuration_of_a_secured_cluster_verifies_the_database_and_logs_in() -> None:
    found = files(cluster(), "opensearch", ACCESS)
    settings = msgspec.json.decode(found[SETTINGS], type=SearchSettings)
    assert settings == SearchSettings(
        "opensearch", "prod", "logs", "https://logs.prod.svc:9200", "logs.prod.svc", "stateward-metrics-1"
    )
    assert (found[PASSWORD], found[TRUSTED]) == ("very secret", "authority")
    assert "very secret" not in found[SETTINGS]
    assert config_secret(objects.metadata(cluster(), "opensearch"), found)["immutable"] is True


def test_without_security_there_is_no_password() -> None:
    found = files(cluster(), "opensearch", None)
    assert found.keys() == {SETTINGS}
    assert msgspec.json.decode(found[SETTINGS], type=SearchSettings).endpoint == "http://logs.prod.svc:9200"


def test_overrides_of_the_pod_are_merged_and_labels_of_the_operator_stay() -> None:
    more = {"metadata": {"labels": {"team": "a"}}, "spec": {"imagePullSecrets": [{"name": "registry"}]}}
    found = template(cluster(metrics={"podTemplate": more, "resources": {"limits": {"memory": "1Gi"}}}))
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["labels"]["stateward.dev/metrics-of"] == "logs"
    assert found["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert found["spec"]["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}


def test_a_wrong_block_is_a_problem_of_its_own_and_none_of_the_cluster() -> None:
    wrong = {"spec": {"containers": [{"name": "exporter", "image": "other:1"}]}}
    found = cluster(metrics={"podTemplate": wrong})
    assert validate(found) == []
    assert [each.path for each in validate_access(found)] == [
        "spec.metrics.podTemplate.spec.containers[exporter].image"
    ]


def test_the_exporter_may_connect_to_members_that_are_closed_to_all_clients() -> None:
    closed = network_policy(cluster(networkPolicy={"clients": []}), "opensearch", "stateward-system")
    peers = [peer["podSelector"]["matchLabels"] for rule in closed["spec"]["ingress"] for peer in rule["from"]]
    assert objects.selector(cluster(), "opensearch") in peers
    without = network_policy(cluster(metrics=None), "opensearch", "stateward-system")
    assert "metrics-of" not in str(without)


def test_the_port_for_prometheus_is_open_and_no_other() -> None:
    found = objects.network_policy(cluster(), "opensearch")["spec"]
    assert found["ingress"] == [{"ports": [{"protocol": "TCP", "port": 9114}]}]


def test_a_plan_says_what_happens_to_the_exporter() -> None:
    assert list(exporter_notes(cluster())) == ["an exporter of metrics starts; no member changes"]
    there = msgspec.structs.replace(cluster(), status=status_with_metrics())
    assert list(exporter_notes(there)) == []
    left = msgspec.structs.replace(cluster(metrics=None), status=status_with_metrics())
    assert list(exporter_notes(left)) == ["the exporter of metrics is removed"]


def status_with_metrics() -> Any:
    return msgspec.convert({"metrics": {"available": True}}, type(cluster().status), strict=False)


@pytest.mark.parametrize("kind", [OpenSearchCluster, ElasticsearchCluster])
def test_more_or_other_rights_than_the_role_gives_are_noticed(kind: type[SearchCluster]) -> None:
    requests = requests_of(cluster(kind))
    role = requests.role("u-1")
    shown = {**role, "reserved": False, "index_permissions": [], "indices": [], "applications": []}
    assert requests.allows(shown, "u-1")
    assert requests.is_our_role(shown, "u-1")
    assert not requests.is_our_role(shown, "u-2")
    for more in ({"index_permissions": [{}], "indices": [{}]}, {"cluster_permissions": ["*"], "cluster": ["all"]}):
        assert not requests.allows({**shown, **more}, "u-1")
    user = requests.user("x", "u-1")
    assert requests.is_our_user(user, "u-1")
    assert requests.has_role(user)
    assert not requests.has_role({**user, "roles": ["superuser"], "opendistro_security_roles": ["all_access"]})


def test_names_of_users_go_by_turns() -> None:
    assert next_user({}) == "stateward-metrics-1"
    assert next_user({"username": "stateward-metrics-1"}) == "stateward-metrics-2"
    assert next_user({"username": "stateward-metrics-2"}) == "stateward-metrics-1"
