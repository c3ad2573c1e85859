"""The exporter of a FoundationDB cluster: two containers with the least rights, which no member knows of."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import MemberStatus
from stateward.api.pod_policy import Level, violations
from stateward.api.validation import validate, validate_access
from stateward.engines.exporter import objects as common
from stateward.engines.exporter.preview import exporter_notes
from stateward.engines.exporter.settings import SETTINGS
from stateward.engines.foundationdb.exporter import objects
from stateward.engines.foundationdb.exporter.settings import MARK, FoundationSettings
from stateward.engines.foundationdb.objects.member import member_objects
from stateward.engines.foundationdb.objects.shared import cluster_objects
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.desired import desired
from stateward.engines.foundationdb.spec.identity import description
from stateward.engines.foundationdb.spec.security import client_name, member_name
from stateward.operator.network.policy import network_policy
from tests.unit.engines.foundationdb_model import cluster

ENGINE = "foundationdb"


def running(version: str = "7.1.67", *, tls: bool = False, **spec: Any) -> FoundationDBCluster:
    """Return a cluster that runs a version."""
    wanted: dict[str, Any] = {"metrics": {}, **spec}
    found = cluster(**wanted)
    status = replace(found.status, version=version, security=SecurityStatus(enabled=tls))
    return replace(found, status=status)


def template(found: FoundationDBCluster) -> dict[str, Any]:
    asked = common.asked_of(found)
    assert asked is not None
    more = objects.additions(found)
    body = common.deployment(found, asked, ENGINE, image="stateward:1", config="ledger-metrics-x", additions=more)
    return body["spec"]["template"]


def container(found: FoundationDBCluster, name: str) -> dict[str, Any]:
    return next(each for each in template(found)["spec"]["containers"] if each["name"] == name)


@pytest.mark.parametrize("tls", [False, True])
def test_the_pod_meets_the_restricted_standard_and_has_no_token_of_kubernetes(*, tls: bool) -> None:
    found = template(running(tls=tls))
    assert list(violations(Level.RESTRICTED, found)) == []
    assert [each["name"] for each in found["spec"]["containers"]] == ["exporter", "fdbcli"]
    assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in found["spec"]["containers"])
    assert found["spec"]["automountServiceAccountToken"] is False
    limits = {each["name"]: each["emptyDir"]["sizeLimit"] for each in found["spec"]["volumes"] if "emptyDir" in each}
    assert limits.keys() == {"own", "answers"}


def test_the_container_that_serves_sees_neither_the_cluster_file_nor_certificates() -> None:
    mounts = {each["name"]: each for each in container(running(tls=True), "exporter")["volumeMounts"]}
    assert mounts.keys() == {"config", "answers"}
    assert all(each["readOnly"] for each in mounts.values())
    assert container(running(), "exporter")["image"] == "stateward:1"
    asker = {each["name"]: each for each in container(running(tls=True), "fdbcli")["volumeMounts"]}
    assert {name for name, each in asker.items() if not each.get("readOnly")} == {"own", "answers"}


@pytest.mark.parametrize(
    ("runs", "image", "wanted"),
    [
        ("7.1.67", None, "docker.io/foundationdb/foundationdb:7.1.67"),
        ("7.1.57", None, "docker.io/foundationdb/foundationdb:7.1.57"),
        ("7.1.67", "registry.io/fdb:7.1.67-ours", "registry.io/fdb:7.1.67-ours"),
        ("7.1.57", "registry.io/fdb:7.1.67-ours", "registry.io/fdb:7.1.57-ours"),
    ],
)
def test_the_program_has_the_version_that_runs(runs: str, image: str | None, wanted: str) -> None:
    found = running(runs) if image is None else running(runs, image=image)
    assert container(found, "fdbcli")["image"] == wanted


@pytest.mark.parametrize(
    ("deployed", "joined", "wanted"),
    [
        ("7.1.67", [], "7.1.67"),
        ("7.1.67", ["7.1.67", "", "7.1.67"], "7.1.67"),
        ("7.1.57", ["7.1.57", "7.1.67"], "7.1.57"),  # Both reach the database.
        ("7.1.67", ["7.1.67", "7.3.63"], "7.3.63"),
        ("7.3.63", ["7.1.67", "7.3.63"], "7.3.63"),
        ("7.3.63", ["nonsense"], "7.3.63"),
        ("", ["7.1.67"], ""),
    ],
)
def test_the_first_member_of_an_incompatible_version_tells_what_runs(
    deployed: str, joined: list[str], wanted: str
) -> None:
    found = running(deployed)
    states = [MemberStatus(name=f"m{number}", version=version) for number, version in enumerate(joined)]
    assert objects.running(replace(found, status=replace(found.status, member_states=states))) == wanted


def test_a_cluster_with_tls_is_asked_with_the_certificate_of_clients_and_trusts_members_alone() -> None:
    found = running(tls=True)
    variables = {each["name"]: each["value"] for each in container(found, "fdbcli")["env"]}
    assert variables["FDB_TLS_VERIFY_PEERS"] == f"S.CN={member_name(found)}"
    assert client_name(found) not in str(variables)
    volumes = {each["name"]: each for each in template(found)["spec"]["volumes"]}
    assert volumes["tls"]["secret"]["secretName"] == "ledger-client-tls"
    folder = next(each for each in container(found, "fdbcli")["volumeMounts"] if each["name"] == "tls")["mountPath"]
    assert variables["FDB_TLS_KEY_FILE"] == f"{folder}/tls.key"
    assert "ledger-tls" not in {each.get("secret", {}).get("secretName") for each in volumes.values()}
    assert container(running(), "fdbcli")["env"] == []


def test_the_configuration_names_the_database_and_has_the_script() -> None:
    found = objects.files(running(), ENGINE)
    settings = msgspec.json.decode(found[SETTINGS], type=FoundationSettings)
    assert settings.description == description(running())
    assert (settings.engine, settings.namespace, settings.name) == (ENGINE, "bank", "ledger")
    assert found.keys() == {SETTINGS, "ask.sh"}
    command = container(running(), "fdbcli")["command"]
    assert command[:2] == ["/bin/bash", "/stateward/exporter/ask.sh"]
    assert command[-1] == MARK
    mounts = [each["mountPath"] for each in container(running(), "exporter")["volumeMounts"]]
    assert settings.answer.rpartition("/")[0] in mounts


def test_no_object_of_a_member_changes_when_metrics_are_switched_on() -> None:
    without, with_metrics = running(metrics=None), running(metrics={"resources": {"limits": {"memory": "1Gi"}}})
    for pool in without.spec.pools:
        made = [
            member_objects(each, pool.name, 0, Build("7.1.67"), agent_image="a:1") for each in (without, with_metrics)
        ]
        assert made[0] == made[1]
    assert desired(without) == desired(with_metrics)
    assert cluster_objects(without) == cluster_objects(with_metrics)


def test_the_exporter_may_connect_to_members_that_are_closed_to_all_clients() -> None:
    closed = network_policy(running(networkPolicy={"clients": []}), ENGINE, "stateward-system")
    rule = next(
        rule
        for rule in closed["spec"]["ingress"]
        if {"podSelector": {"matchLabels": common.selector(running(), ENGINE)}} in rule["from"]
    )
    assert rule["ports"] == [{"protocol": "TCP", "port": 4500, "endPort": 4515}]
    without = network_policy(running(metrics=None), ENGINE, "stateward-system")
    assert "metrics-of" not in str(without)


@pytest.mark.parametrize("name", ["exporter", "fdbcli"])
@pytest.mark.parametrize(("field", "value"), [("image", "other:1"), ("command", ["sh"]), ("args", ["-c"])])
def test_what_the_operator_starts_cannot_be_replaced(name: str, field: str, value: Any) -> None:
    wrong = {"spec": {"containers": [{"name": name, field: value}]}}
    found = running(metrics={"podTemplate": wrong})
    assert validate(found) == validate(running())
    assert [each.path for each in validate_access(found)] == [
        f"spec.metrics.podTemplate.spec.containers[{name}].{field}"
    ]


def test_both_containers_get_resources() -> None:
    more = {"spec": {"containers": [{"name": "fdbcli", "resources": {"limits": {"memory": "1Gi"}}}]}}
    found = running(metrics={"resources": {"limits": {"memory": "2Gi"}}, "podTemplate": more})
    assert container(found, "exporter")["resources"] == {"limits": {"memory": "2Gi"}}
    assert container(found, "fdbcli")["resources"]["limits"] == {"memory": "1Gi"}


def test_a_plan_says_what_happens_to_the_exporter() -> None:
    assert list(exporter_notes(running())) == ["an exporter of metrics starts; no member changes"]
    assert list(exporter_notes(running(metrics=None))) == []
