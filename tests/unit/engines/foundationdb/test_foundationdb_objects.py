"""The Kubernetes objects of a FoundationDB cluster, and what each change of the spec does to its members."""

import base64
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.security import SecurityStatus
from stateward.api.values import names
from stateward.engines.foundationdb.objects.configuration import config_files
from stateward.engines.foundationdb.objects.member import member_objects
from stateward.engines.foundationdb.objects.shared import cluster_objects
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.connection import parse_connection_string
from stateward.engines.foundationdb.spec.desired import desired
from stateward.engines.foundationdb.spec.identity import coordinator, first_connection, member_of
from stateward.engines.foundationdb.spec.pools import resolve
from stateward.engines.foundationdb.spec.security import client_name, member_name, secured
from stateward.engines.pods.objects import MemberObjects
from stateward.operator.objects.translate import inputs
from stateward.planning.facts.change import differing, effect_of, with_immutable_inputs
from stateward.planning.model.observation import Effect, Growth, Inputs, Pool, ProtocolSwitch
from tests.unit.engines.foundationdb_model import POOLS, cluster

AT = Build("7.1.67")


def pod(pool: str = "storage", **spec: Any) -> dict[str, Any]:
    return member_objects(cluster(**spec), pool, 0, AT, agent_image="stateward:1").workload["spec"]["template"]


def container(pool: str = "storage", **spec: Any) -> dict[str, Any]:
    return pod(pool, **spec)["spec"]["containers"][0]


def changed(**spec: Any) -> dict[str, Effect]:
    """Return the inputs of the storage pool that a change of the spec touches, with what each needs."""
    before, after = desired(cluster()).pools[0], desired(cluster(**spec)).pools[0]
    names = {n for n in {*before.inputs, *after.inputs} if before.inputs.get(n) != after.inputs.get(n)}
    return {name: after.effects[name.split("/")[0]] for name in names}


def test_volumes_grow_by_themselves_where_a_pool_asks_for_it() -> None:
    first, *others = POOLS
    pools = [{**first, "storage": {"size": "20Gi", "grow": {"max": "1Ti"}}}, *others]
    assert [pool.growth for pool in desired(cluster(pools)).pools[:2]] == [Growth(when=80, by=25, limit=1 << 40), None]


def test_the_first_cluster_file_is_the_same_each_time_and_names_members_on_volumes() -> None:
    first = first_connection(cluster())
    assert first == first_connection(cluster()) == parse_connection_string(str(first))
    assert [member_of(cluster(), a) for a in first.coordinators] == [f"ledger-storage-{i}" for i in range(3)]
    assert str(first.coordinators[0]) == "ledger-storage-0-0.ledger-members.bank.svc:4500"
    one = cluster(redundancy="single")
    assert len(first_connection(one).coordinators) == 1


def test_a_coordinator_that_is_no_member_stays_what_it_is() -> None:
    assert member_of(cluster(), coordinator(cluster(), "ledger-log-1")) == "ledger-log-1"
    foreign = parse_connection_string("a:b@db-0.other.bank.svc:4500").coordinators[0]
    assert member_of(cluster(), foreign) == "db-0.other.bank.svc:4500"


def files(*args: Any, **more: Any) -> dict[str, dict[str, str]]:
    """Return what objects of a cluster say of the cluster file, by their kinds."""
    found = [o for o in cluster_objects(*args, **more) if o["metadata"]["name"] == "ledger-cluster-file"]
    return {o["kind"]: o["data"] for o in found}


def test_the_cluster_file_is_in_a_secret_and_follows_what_the_database_reported_last() -> None:
    data = files(cluster(), (), "x:y@z.a:4500")
    assert data == {"Secret": {"fdb.cluster": base64.b64encode(b"x:y@z.a:4500\n").decode()}}
    first = files(cluster())["Secret"]["fdb.cluster"]
    assert base64.b64decode(first).decode() == f"{first_connection(cluster())}\n"
    assert files(cluster(), (), None) == {}


def test_pods_of_an_earlier_version_get_the_data_where_they_read_it() -> None:
    data = files(cluster(), (), "x:y@z.a:4500", mapped=True)
    assert data["ConfigMap"] == {"fdb.cluster": "x:y@z.a:4500\n"}
    assert data.keys() == {"ConfigMap", "Secret"}


def test_pods_mount_the_cluster_file_from_the_secret() -> None:
    volumes = {v["name"]: v for v in pod("storage")["spec"]["volumes"]}
    assert volumes["cluster"]["secret"] == {"secretName": "ledger-cluster-file"}
    assert desired(cluster()).connection_secret == "ledger-cluster-file"


def test_members_with_data_have_volumes_and_others_have_none() -> None:
    assert member_objects(cluster(), "log", 0, AT).claim is not None
    assert member_objects(cluster(), "stateless", 0, AT).claim is None


def test_the_container_runs_under_the_agent_without_http_probes() -> None:
    words = container()["args"]
    assert words[-2:] == ["/bin/bash", "/stateward/scripts/start.sh"]
    assert not [word for word in words if word.endswith("-url")]
    plain = member_objects(cluster(), "storage", 0, AT).workload["spec"]["template"]["spec"]["containers"][0]
    assert plain["command"] == ["/bin/bash", "/stateward/scripts/start.sh"]
    assert "tcpSocket" in plain["readinessProbe"]


def test_the_agent_gives_the_processes_the_time_that_the_pod_has() -> None:
    words = container(podTemplate={"spec": {"terminationGracePeriodSeconds": 1800}})["args"]
    assert words[words.index("--grace") + 1] == "1795"


def test_what_fails_together_is_a_node_or_the_member() -> None:
    def domain(**spec: Any) -> dict[str, Any]:
        return next(v for v in container(**spec)["env"] if v["name"] == "STATEWARD_DOMAIN")

    assert domain()["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    assert domain(faultDomain="Member")["value"] == "ledger-storage-0"


def test_several_processes_have_a_port_each() -> None:
    pools = [{**POOLS[0], "processesPerMember": 3}, *POOLS[1:]]
    ports = [p["containerPort"] for p in container(pools=pools)["ports"] if p["name"].startswith("fdb")]
    assert ports == [4500, 4501, 4502]


def test_the_image_is_that_of_the_version() -> None:
    assert container()["image"] == "docker.io/foundationdb/foundationdb:7.1.67"
    assert container(image="mine/fdb:7.1.67-ours")["image"] == "mine/fdb:7.1.67-ours"


@pytest.mark.parametrize(
    ("spec", "name", "effect"),
    [
        ({"knobs": {"x": "1"}}, "knobs/x", Effect.RESTART),
        ({"version": "7.1.68"}, "version", Effect.RECREATE),
        ({"faultDomain": "Member"}, "domain", Effect.RECREATE),
        ({"pools": [{**POOLS[0], "processesPerMember": 2}]}, "storage/processes", Effect.REPLACE),
        ({"pools": [{**POOLS[0], "processClass": "log"}]}, "storage/class", Effect.REPLACE),
    ],
)
def test_each_change_has_its_effect(spec: dict[str, Any], name: str, effect: Effect) -> None:
    assert changed(**spec) == {name: effect}


@pytest.mark.parametrize(
    "change",
    [
        {"processesPerMember": 2},
        {"processClass": "log"},
        {"processClass": "stateless"},
        {"storage": {"size": "5Gi", "ephemeral": True}},
    ],
)
def test_a_member_that_is_there_keeps_what_its_processes_have_written_by(change: dict[str, Any]) -> None:
    old, new = cluster(), cluster(pools=[{**POOLS[0], **change}, *POOLS[1:]], knobs={"x": "1"})
    for first, second in ((old, new), (new, old)):
        pool, own = desired(first).pools[0], desired(second).pools[0]
        keeps = {name: digest for name, digest in pool.inputs.items() if name in pool.retained}
        kept, whole = (member_objects(second, "storage", 0, AT, keeps=keeps), member_objects(first, "storage", 0, AT))
        assert inputs(kept.workload["metadata"]["annotations"]) == with_immutable_inputs(own, own.inputs, keeps)
        assert kept.config["data"]["processes"] == whole.config["data"]["processes"]
        assert [named(kept), named(whole)] == [named(whole)] * 2
        assert (kept.claim is None) is (whole.claim is None)


def named(objects: MemberObjects) -> str:
    """Return the class on the command lines of a member's processes."""
    return base64.b64decode(objects.config["data"]["arguments"]).decode().split()[1]


def test_knobs_change_everywhere_at_once_and_counts_touch_no_member() -> None:
    assert "knobs" in desired(cluster()).pools[0].coordinated
    assert changed(pools=[{**POOLS[0], "replicas": 9}, *POOLS[1:]]) == {}
    assert changed(redundancy="single") == {}


def at(deployed: str, asked: str, **spec: Any) -> FoundationDBCluster:
    of = cluster(version=asked, **spec)
    return msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, version=deployed))


def test_a_version_that_cannot_talk_to_the_one_before_is_reached_in_steps() -> None:
    assert not desired(cluster(version="7.3.63")).refusals
    assert not desired(at("7.1.57", "7.1.67")).pools[0].crossings
    wanted = desired(at("7.1.67", "7.3.63"))
    assert not wanted.refusals
    pool = wanted.pools[0]
    before, beside = pool.held_inputs, pool.crossings[ProtocolSwitch.BESIDE]
    switched, after = pool.crossings[ProtocolSwitch.SWITCHED], pool.inputs
    assert needs(pool, before, beside) == {"beside": Effect.RECREATE}
    assert needs(pool, beside, switched) == {"program": Effect.RESTART}
    assert needs(pool, switched, after) == {"version": Effect.RECREATE, "beside": Effect.RECREATE}
    assert "program" in pool.coordinated


def needs(pool: Pool, before: Inputs, after: Inputs) -> dict[str, Effect]:
    return {name: effect_of(pool, name) for name in differing(before, after)}


def test_nothing_goes_back_to_a_version_that_cannot_read_the_data() -> None:
    (refusal,) = desired(at("7.3.63", "7.1.67")).refusals
    assert "cannot be downgraded" in refusal.message
    assert desired(at("7.3.63", "7.1.67")).version == "7.3.63"


def test_a_pod_on_the_way_has_the_programs_of_both_versions_and_runs_those_that_its_configuration_names() -> None:
    of = at("7.1.67", "7.3.63", image="mine/fdb:7.3.63")
    found = {
        step: member_objects(of, "storage", 0, Build("7.1.67", step), agent_image="stateward:1")
        for step in ProtocolSwitch
    }
    plain = found[ProtocolSwitch.NONE].workload["spec"]["template"]
    assert names.ANNOTATION_STAGED_VERSION not in plain["metadata"]["annotations"]
    assert [c["name"] for c in plain["spec"]["initContainers"]] == ["stateward-agent"]
    for step, program in ((ProtocolSwitch.BESIDE, "7.1.67"), (ProtocolSwitch.SWITCHED, "7.3.63")):
        template = found[step].workload["spec"]["template"]
        assert template["metadata"]["annotations"][names.ANNOTATION_STAGED_VERSION] == "7.3.63"
        assert template["metadata"]["annotations"][names.ANNOTATION_VERSION] == "7.1.67"
        assert [c["image"] for c in template["spec"]["initContainers"]] == ["stateward:1", "mine/fdb:7.3.63"]
        assert template["spec"]["containers"][0]["image"] == "mine/fdb:7.1.67"
        assert base64.b64decode(found[step].config["data"]["program"]).decode() == f"{program}\n"


def test_a_cluster_with_tls_names_its_coordinators_so_and_its_pods_have_certificates() -> None:
    of = cluster(security={"enabled": True})
    assert all(address.tls for address in first_connection(of).coordinators)
    spec = member_objects(of, "storage", 0, AT).workload["spec"]["template"]["spec"]
    values = {v["name"]: v.get("value") for v in spec["containers"][0]["env"]}
    assert values["FDB_TLS_CERTIFICATE_FILE"] == "/stateward/tls/tls.crt"
    assert values["FDB_TLS_KEY_FILE"] == "/stateward/tls/tls.key"
    assert values["FDB_TLS_CA_FILE"] == "/stateward/tls/ca.crt"
    assert values["FDB_TLS_VERIFY_PEERS"] == f"S.CN={member_name(of)}|S.CN={client_name(of)}"
    assert {"name": "tls", "mountPath": "/stateward/tls", "readOnly": True} in spec["containers"][0]["volumeMounts"]
    assert [v["secret"]["secretName"] for v in spec["volumes"] if v["name"] == "tls"] == ["ledger-tls"]
    (pool, *_) = resolve(of)
    assert "--knob_tls_cert_refresh_delay_seconds=10\n" in config_files(pool, AT)["arguments"]


def test_a_cluster_without_tls_has_nothing_of_it() -> None:
    assert not any(address.tls for address in first_connection(cluster()).coordinators)
    spec = pod("storage")["spec"]
    assert not [v for v in spec["containers"][0]["env"] if "TLS" in v["name"]]
    assert "tls" not in {v["name"] for v in spec["volumes"]}
    (pool, *_) = resolve(cluster())
    assert "tls" not in config_files(pool, AT)["arguments"]


def living(of: FoundationDBCluster, *, enabled: bool | None) -> FoundationDBCluster:
    """Return a cluster that runs, with TLS or without; None where the status does not know of any."""
    known = None if enabled is None else SecurityStatus(enabled=enabled)
    status = msgspec.structs.replace(of.status, version="7.1.67", cluster_uuid="id", security=known)
    return msgspec.structs.replace(of, status=status)


@pytest.mark.parametrize("was", [True, False, None])
@pytest.mark.parametrize("wanted", [True, False, None])
def test_tls_of_a_cluster_that_is_there_stays_as_it_is_and_another_request_is_refused(
    was: bool | None, wanted: bool | None
) -> None:
    of = living(cluster(security={"enabled": wanted}), enabled=was)
    assert secured(of) is bool(was)
    reasons = {(r.subject, r.reason, r.everything) for r in desired(of).refusals}
    expected = {("spec.security.enabled", "SecurityFixed", False)}
    assert reasons == (expected if wanted not in (None, bool(was)) else set())
    if reasons:
        (refusal,) = desired(of).refusals
        assert f"Set it to {str(bool(was)).lower()}" in refusal.message


def test_another_request_changes_no_member() -> None:
    before = living(cluster(security={"enabled": True}), enabled=True)
    after = living(cluster(security={"enabled": False}), enabled=True)
    assert desired(before).pools == desired(after).pools
    for name in ("storage", "log"):
        assert member_objects(before, name, 0, AT) == member_objects(after, name, 0, AT)
