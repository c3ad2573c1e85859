"""The driver's information about members, from their objects alone."""

import base64
from math import inf
from typing import Any

import msgspec
import pytest

from stateward.api.values import names
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.connection import ConnectionString
from stateward.engines.foundationdb.spec.coordinators import Prospect
from stateward.engines.foundationdb.spec.identity import coordinator
from stateward.engines.foundationdb.spec.inputs import inputs
from stateward.engines.foundationdb.spec.pools import resolve
from stateward.engines.pods import pods
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.storage import PersistentVolumeClaim
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.databases.foundationdb import FoundationDBFamily, addresses, all_restart, domains
from stateward.operator.objects.cluster_objects import ClusterObjects
from tests.unit.engines.foundationdb_model import SilentShell, cluster


def pod(member: str, node: str) -> Pod:
    body: dict[str, Any] = {
        "metadata": {"name": f"{member}-0", "labels": {names.LABEL_MEMBER: member}},
        "spec": {"nodeName": node},
    }
    return msgspec.convert(body, Pod)


def test_what_fails_together_is_known_of_members_without_pods_too() -> None:
    states = [{"name": "ledger-log-0", "state": "Down", "node": "n1"}, {"name": "ledger-log-1", "state": "Ready"}]
    of = cluster()
    status = msgspec.convert({**msgspec.to_builtins(of.status), "memberStates": states}, type(of.status))
    of = msgspec.structs.replace(of, status=status)
    found = domains(of, (pod("ledger-log-1", "n2"), pod("ledger-log-2", "")))
    assert found == {"ledger-log-0": "n1", "ledger-log-1": "n2"}
    each = msgspec.structs.replace(cluster(faultDomain="Member"), status=status)
    assert domains(each, ()) == {"ledger-log-0": "ledger-log-0"}


def test_an_address_is_remembered_after_its_pod_and_a_pods_own_counts_first() -> None:
    states = [{"name": f"ledger-log-{i}", "state": "Down", "address": f"10.0.0.{i}"} for i in range(2)]
    states.append({"name": "ledger-log-3", "state": "Down", "address": "10.0.0.9"})
    removals = [{"name": "ledger-log-2", "reason": "gone", "origin": "User", "address": "10.0.0.2"}]
    of = cluster()
    more = {"memberStates": states, "pendingRemovals": removals}
    status = msgspec.convert({**msgspec.to_builtins(of.status), **more}, type(of.status))
    running = msgspec.convert({**msgspec.to_builtins(pod("ledger-log-1", "n1")), "status": {"podIP": "10.0.0.9"}}, Pod)
    found = addresses(msgspec.structs.replace(of, status=status), (running, pod("ledger-log-0", "n1")), {"log": 1})
    assert found == {
        "ledger-log-0": {"10.0.0.0:4500"},
        "ledger-log-1": {"10.0.0.9:4500"},
        "ledger-log-2": {"10.0.0.2:4500"},
    }


def test_where_a_process_was_last_in_the_database_is_known_beside_the_address_of_a_new_pod_until_it_has_joined() -> (
    None
):
    """A draining member got a new pod: its new address, which held no data, counted as a proof that it was empty."""
    states = [
        {"name": f"ledger-log-{i}", "state": "Down", "address": address, "version": "7.1.67"}
        for i, address in enumerate(("10.0.0.1", "10.0.1.1", "10.0.1.3", "", "10.0.0.5"))
    ]
    of = cluster()
    status = msgspec.convert({**msgspec.to_builtins(of.status), "memberStates": states}, type(of.status))
    running = [
        {**msgspec.to_builtins(pod(f"ledger-log-{i}", "n")), "status": {"podIP": f"10.0.1.{i}"}} for i in range(4)
    ]
    existing = ClusterObjects(
        msgspec.structs.replace(of, status=status), (), tuple(msgspec.convert(p, Pod) for p in running), (), (), {}, {}
    )
    found = FoundationDBFamily(SilentShell()).target(existing)
    assert isinstance(found, FoundationTarget)
    assert found.earlier == {"ledger-log-0": {"10.0.0.1:4500"}, "ledger-log-2": set(), "ledger-log-3": set()}
    assert found.known["ledger-log-0"] == {"10.0.1.0:4500"}


@pytest.mark.parametrize(
    ("recorded", "end"), [(None, None), ({"zone": "z"}, inf), ({"zone": "z", "endTime": "1970-01-01T00:01:00Z"}, 60.0)]
)
def test_a_maintenance_on_record_lasts_until_its_end_is(recorded: dict[str, str] | None, end: float | None) -> None:
    of = cluster()
    status = msgspec.convert({**msgspec.to_builtins(of.status), "maintenance": recorded}, type(of.status))
    of = msgspec.structs.replace(of, status=status)
    found = FoundationDBFamily(SilentShell()).target(ClusterObjects(of, (), (), (), (), {}, {}))
    assert isinstance(found, FoundationTarget)
    assert found.maintenance_end == end


def made_of(count: int) -> dict[str, Any]:
    (pool,) = resolve(cluster([{"name": "log", "processClass": "log", "processesPerMember": count}]))
    return pods.input_annotations(inputs(pool, Build("7.1.67")), "7.1.67")


def test_a_member_has_as_many_processes_as_it_was_made_with_whatever_its_pool_asks_for() -> None:
    sets = [
        msgspec.convert(
            {
                "metadata": {"name": f"ledger-log-{i}", "namespace": "bank"},
                "spec": {"replicas": 1, "template": {"metadata": {"annotations": made_of(count)}}},
            },
            StatefulSet,
        )
        for i, count in enumerate((1, 2, 16))
    ]
    running: dict[str, Any] = {**msgspec.to_builtins(pod("ledger-log-2", "n1")), "status": {"podIP": "10.0.0.2"}}
    running["metadata"]["annotations"] = made_of(1)
    of = cluster([{"name": "log", "processClass": "log", "processesPerMember": 3}])
    states = [{"name": "ledger-log-0", "state": "Down", "version": "7.1.67"}]
    status = msgspec.convert({**msgspec.to_builtins(of.status), "memberStates": states}, type(of.status))
    of = msgspec.structs.replace(of, status=status)
    existing = ClusterObjects(of, tuple(sets), (msgspec.convert(running, Pod),), (), (), {}, {})
    found = FoundationDBFamily(SilentShell()).target(existing)
    assert isinstance(found, FoundationTarget)
    assert found.processes == {"ledger-log-0": 1, "ledger-log-1": 2, "ledger-log-2": 1}
    assert found.known == {"ledger-log-2": {"10.0.0.2:4500"}}
    assert found.fresh == {"ledger-log-1", "ledger-log-2"}


def node(name: str, *, ready: bool = True, taint: str = "") -> Node:
    body: dict[str, Any] = {
        "metadata": {"name": name},
        "spec": {"taints": [{"key": "worn", "effect": taint}] if taint else []},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    return msgspec.convert(body, Node)


def volume(member: str, size: str, storage_class: str) -> PersistentVolumeClaim:
    labels = {names.LABEL_MEMBER: member, names.LABEL_POOL: "log"}
    body: dict[str, Any] = {
        "metadata": {"name": f"data-{member}", "labels": labels},
        "spec": {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}},
        "status": {"capacity": {"storage": size}},
    }
    return msgspec.convert(body, PersistentVolumeClaim)


def test_what_is_to_be_expected_of_members_is_read_from_their_objects_and_the_status() -> None:
    members = {"replace": ["ledger-log-0"], "replaceWithoutDraining": ["ledger-log-1"], "keep": ["ledger-log-9"]}
    pool = {"name": "log", "processClass": "log", "storage": {"size": "10Gi", "storageClass": "fast"}}
    of = cluster([pool], members=members)
    states = [
        {"name": "ledger-log-2", "state": "Waiting", "pending": "recreate"},
        {"name": "ledger-log-3", "state": "Waiting", "pending": "replace"},
        {"name": "ledger-log-4", "state": "Waiting", "pending": "restart"},
    ]
    more = {"memberStates": states, "pendingRemovals": [{"name": "ledger-log-2", "origin": "Spec"}]}
    status = msgspec.convert({**msgspec.to_builtins(of.status), **more}, type(of.status))
    of = msgspec.structs.replace(of, status=status)
    nodes = {n.metadata.name: n for n in (node("n1"), node("n2", ready=False), node("n3", taint="NoSchedule"))}
    where = {
        "ledger-log-5": "n1",
        "ledger-log-6": "n2",
        "ledger-log-7": "n3",
        "ledger-log-8": "gone",
        "ledger-log-a": "",
    }
    claims = (
        volume("ledger-log-9", "20Gi", "fast"),
        volume("ledger-log-10", "20Gi", "fast"),
        volume("ledger-log-11", "10Gi", "slow"),
        volume("ledger-log-12", "10Gi", "fast"),
    )
    pods = tuple(pod(member, name) for member, name in where.items())
    existing = ClusterObjects(of, (), pods, claims, (), nodes, {})
    goes, away = Prospect.GOES, Prospect.AWAY_SOON
    target = FoundationDBFamily(SilentShell()).target(existing)
    assert isinstance(target, FoundationTarget)
    assert target.prospects == {
        **{f"ledger-log-{i}": goes for i in (0, 1, 2, 3, 10, 11)},
        **{f"ledger-log-{i}": away for i in (6, 7, 8)},
    }


def test_the_command_line_runs_in_pods_with_an_address_that_do_not_end() -> None:
    def running(member: str, ip: str, **meta: Any) -> Pod:
        body = msgspec.to_builtins(pod(member, "n1"))
        return msgspec.convert({**body, "metadata": {**body["metadata"], **meta}, "status": {"podIP": ip}}, Pod)

    pods_ = (
        running("ledger-log-0", "10.0.0.1"),
        running("ledger-log-1", ""),
        running("ledger-log-2", "10.0.0.3", deletionTimestamp="2026-01-01T00:00:00Z"),
    )
    target = FoundationDBFamily(SilentShell(), "").target(ClusterObjects(cluster(), (), pods_, (), (), {}, {}))
    assert isinstance(target, FoundationTarget)
    assert [endpoint.rpartition("/")[2] for endpoint in target.endpoints] == ["ledger-log-0-0"]


@pytest.mark.parametrize(
    ("phases", "together"),
    [
        (["stop-coordinated", "stop-coordinated"], True),
        (["stop-coordinated", "start-coordinated"], True),
        (["start-coordinated", ""], False),
        (["stop", "stop"], False),
        (["schedule-coordinated", "schedule-coordinated"], False),
        ([], False),
    ],
)
def test_no_answer_is_expected_only_while_all_processes_stop_or_start_together(
    phases: list[str], together: bool
) -> None:
    def with_phase(phase: str) -> Pod:
        annotations = {names.ANNOTATION_PHASE: phase} if phase else {}
        return msgspec.convert({"metadata": {"name": "p", "annotations": annotations}}, Pod)

    assert all_restart([with_phase(phase) for phase in phases]) is together


def test_the_command_line_runs_in_a_pod_that_serves_first_and_in_none_without_an_address() -> None:
    def seen(name: str, address: str, ready: str) -> Pod:
        status = {"podIP": address, "conditions": [{"type": "Ready", "status": ready}]}
        body = {"metadata": {"name": name, "namespace": "bank"}, "spec": {}, "status": status}
        return msgspec.convert(body, Pod)

    pods = (seen("a-0", "10.0.0.1", "False"), seen("b-0", "10.0.0.2", "True"), seen("c-0", "", "True"))
    target = FoundationDBFamily(SilentShell()).target(ClusterObjects(cluster(), (), pods, (), (), {}, {}))
    assert target.endpoints == ("bank/b-0", "bank/a-0")


def test_two_pods_of_coordinators_are_asked_before_others_and_a_third_one_after_them() -> None:
    """The first three by name had the cluster file of coordinators that were gone: the database counted as down."""

    def seen(member: str, ready: str = "True") -> Pod:
        status = {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": ready}]}
        meta = {"name": f"{member}-0", "namespace": "bank", "labels": {names.LABEL_MEMBER: member}}
        return msgspec.convert({"metadata": meta, "spec": {}, "status": status}, Pod)

    pods = (seen("a"), seen("b"), seen("x", "False"), seen("y"), seen("z"), seen("za"))
    found = ConnectionString("bank", "1", tuple(coordinator(cluster(), name) for name in ("za", "x", "y", "z")))
    for connection, order in ((f"{found}\n", "y z a b za x"), ("", "a b y z za x"), (None, "a b y z za x")):
        existing = ClusterObjects(cluster(), (), pods, (), (), {}, {}, connection=connection)
        asked = FoundationDBFamily(SilentShell()).target(existing).endpoints
        assert asked == tuple(f"bank/{member}-0" for member in order.split())


def test_the_first_coordinators_are_not_members_that_have_left_their_volumes() -> None:
    """Their names are not used again, so a database with these coordinators could never be created."""

    def left(member: str) -> PersistentVolumeClaim:
        body = msgspec.to_builtins(volume(member, "1Gi", "fast"))
        body["metadata"]["annotations"] = {names.ANNOTATION_RETIRED: "true"}
        return msgspec.convert(body, PersistentVolumeClaim)

    of = cluster([{"name": "log", "processClass": "log", "replicas": 4}], members={"keep": ["ledger-log-2"]})
    claims = (left("ledger-log-0"), left("ledger-log-2"), volume("ledger-log-3", "1Gi", "fast"))
    bodies = FoundationDBFamily(SilentShell()).cluster_objects(ClusterObjects(of, (), (), claims, (), {}, {}), ())
    (secret,) = (body for body in bodies if body["kind"] == "Secret")
    file = base64.b64decode(secret["data"]["fdb.cluster"]).decode()
    assert [word.partition(".")[0] for word in file.partition("@")[2].split(",")] == [
        "ledger-log-1-0",
        "ledger-log-2-0",
        "ledger-log-3-0",
    ]
