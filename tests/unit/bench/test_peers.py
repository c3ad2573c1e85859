"""What is counted of an operator, what is asked of each, and what the stand-ins for Elasticsearch answer."""

from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.clusters import fleet
from bench.peers import calls
from bench.peers.account import with_token
from bench.peers.elasticsearch import LABELS, Elasticsearch
from bench.peers.scenario import Extent, Figures, Used, is_up, memory_of, rows_of
from bench.peers.sides import MEMORY, PEER_FOLDER, Eck, Side, Stateward, Whole, host_names, peer
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.validation import validate
from stateward.kube.objects.pods import Pod


def line(verb: str, stage: str = "ResponseComplete", resource: str = "pods") -> bytes:
    return msgspec.json.encode({"stage": stage, "verb": verb, "auditID": "x", "objectRef": {"resource": resource}})


def test_a_request_counts_once_and_a_watch_when_it_begins() -> None:
    log = [line("get"), line("watch", "ResponseStarted"), line("watch"), line("get", "ResponseStarted")]
    assert calls.count(log) == {"get": 1, "watch": 1}


def test_the_lease_of_a_leader_does_not_count_and_paths_without_an_object_do() -> None:
    version = msgspec.json.encode({"stage": "ResponseComplete", "verb": "get", "requestURI": "/version"})
    assert calls.count([line("update", resource="leases"), version, b""]) == {"get": 1}


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    assert calls.read(log) == {}
    log.write_bytes(line("patch") + b"\n" + line("get")[:-9])
    assert calls.read(log) == {"patch": 1}


def test_the_most_frequent_verbs_come_first() -> None:
    assert calls.words({"get": 2, "create": 2, "watch": 0, "patch": 7}) == "7 patch, 2 create, 2 get"


def test_the_account_replaces_the_administrator_and_nothing_else() -> None:
    admin = {"users": [{"name": "me", "user": {"client-key-data": "k"}}], "clusters": [{"name": "c"}]}
    assert with_token(admin, "t") == {"users": [{"name": "me", "user": {"token": "t"}}], "clusters": [{"name": "c"}]}


def test_each_part_is_a_row_with_time_work_and_calls() -> None:
    used = Used(seconds=16.04, cpu=4.9, calls=Counter(get=5, patch=7), resident=92_000_000, load=8.2)
    made, idle, changed = rows_of("X", Extent(clusters=20), Figures(used, used, used))
    assert made.what == "X: 20 clusters of 9 members, apply to all Ready"
    assert made.value == "16.0 s, 4.9 s CPU, 12 API calls, 92 MB"
    assert made.note == "7 patch, 5 get; load 8"
    assert idle.what == "X: settled for 180 s"
    assert changed.what.endswith("until all are Ready again")


def test_stateward_is_asked_for_nothing_that_validation_minds() -> None:
    assert validate(msgspec.convert(Stateward().body(1, MEMORY[1]), OpenSearchCluster)) == []


@pytest.mark.parametrize("side", [Stateward(), Eck(Path())])
def test_a_change_of_memory_changes_one_pool_of_six(side: Side) -> None:
    before, after = (side.body(1, memory) for memory in MEMORY)
    assert before != after
    assert str(after).count(MEMORY[1]) == str(before).count(MEMORY[0]) - str(after).count(MEMORY[0]) == 2


def test_both_operators_make_as_many_members() -> None:
    pools = Eck(Path()).body(1, MEMORY[0])["spec"]["nodeSets"]
    assert sum(pool["count"] for pool in pools) == fleet.MEMBERS
    assert [pool["config"]["node.roles"] for pool in pools] == [["master"], ["data", "ingest"]]


def test_ready_speaks_of_the_newest_generation() -> None:
    eck = {"phase": "Ready", "health": "green", "availableNodes": 9, "observedGeneration": 2}
    own = {"conditions": [{"type": "Ready", "status": "True"}], "observedGeneration": 2}
    for side, status in ((Eck(Path()), eck), (Stateward(), own)):
        assert side.is_ready(whole(status, generation=2))
        assert not side.is_ready(whole(status, generation=3))
    assert not Eck(Path()).is_ready(whole({**eck, "availableNodes": 8}, generation=2))
    assert not Stateward().is_ready(whole({"observedGeneration": 2}, generation=2))


def whole(status: dict[str, Any], **metadata: Any) -> Whole:
    return msgspec.convert({"metadata": {"name": "c-0001", **metadata}, "status": status}, Whole)


def test_a_pod_is_up_if_it_is_ready_and_not_being_deleted() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert is_up(whole(ready))
    assert not is_up(whole({}))
    assert not is_up(whole(ready, deletionTimestamp="2026-01-01T00:00:00Z"))


def test_the_memory_of_a_pod_is_its_databases() -> None:
    sidecar, database = {"name": "agent"}, {"resources": {"limits": {"memory": MEMORY[1]}}}
    spec = {"containers": [sidecar, database]}
    assert memory_of(msgspec.convert({"metadata": {"name": "p"}, "spec": spec}, Whole)) == MEMORY[1]
    assert not memory_of(msgspec.convert({"metadata": {"name": "p"}, "spec": {"containers": [sidecar]}}, Whole))


def test_the_names_of_a_cluster_lead_to_its_stand_in() -> None:
    lines = host_names(2).splitlines()
    assert "127.0.0.1 localhost" in lines
    assert f"{fleet.address('c-0001')} c-0001-es-hot-5.c-0001-es-hot.bench" in lines
    assert f"{fleet.address('c-0000')} c-0000-es-internal-http.bench.svc" in lines
    assert len(lines) == 1 + 2 * (fleet.MEMBERS + 2)


def test_the_other_operator_is_measured_only_where_its_parts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PEER_FOLDER, raising=False)
    assert peer() is None
    monkeypatch.setenv(PEER_FOLDER, str(tmp_path))
    with pytest.raises(RuntimeError, match="no file elastic-operator"):
        peer()
    for part in ("elastic-operator", "crds.yaml"):
        (tmp_path / part).touch()
    assert peer() is not None


def database(*, masters: int = 3, holders: int = 6) -> Elasticsearch:
    made = Elasticsearch("c-0001")
    for pool, count, roles in (("managers", masters, ["master"]), ("hot", holders, ["data", "ingest"])):
        for number in range(count):
            name = f"c-0001-es-{pool}-{number}"
            labels = {f"{LABELS}node-{role}": "true" for role in roles} | {LABELS + "version": "9.2.0"}
            status = {"conditions": [{"type": "Ready", "status": "True"}]}
            body = {"metadata": {"name": name, "labels": labels}, "status": status}
            made.pods[name] = msgspec.convert(body, Pod)
    return made


def test_a_stand_in_answers_once_a_master_is_up() -> None:
    assert database(masters=0).answer("GET", "/").status is HTTPStatus.SERVICE_UNAVAILABLE
    greeting = database().answer("GET", "/").body
    assert greeting["version"]["number"] == "9.2.0"
    assert greeting["cluster_uuid"]


def test_its_nodes_are_its_pods_and_one_leads() -> None:
    nodes = database().answer("GET", "/_nodes/_all/no-metrics").body["nodes"]
    assert {node["name"] for node in nodes.values()} == set(database().pods)
    assert [node["roles"] for node in database().answer("GET", "/_nodes/_master").body["nodes"].values()] == [
        ["master"]
    ]


def test_copies_of_a_shard_are_on_two_nodes() -> None:
    copies: dict[str, set[str]] = {}
    for shard in database().answer("GET", "/_cat/shards").body:
        copies.setdefault(shard["index"], set()).add(shard["node"])
    assert copies
    assert all(len(nodes) == 2 for nodes in copies.values())


def test_a_node_is_ready_to_stop_once_asked_until_it_is_taken_back() -> None:
    made = database()
    assert made.answer("GET", "/_nodes/shutdown").body == {"nodes": []}
    made.answer("PUT", "/_nodes/id-of-x/shutdown", b'{"type": "restart"}')
    (node,) = made.answer("GET", "/_nodes/id-of-x/shutdown").body["nodes"]
    assert (node["type"], node["status"]) == ("RESTART", "COMPLETE")
    assert made.answer("GET", "/_nodes/shutdown").body == {"nodes": [node]}
    made.answer("DELETE", "/_nodes/id-of-x/shutdown")
    assert made.answer("GET", "/_nodes/shutdown").body == {"nodes": []}


def test_wanted_nodes_have_the_version_that_was_last_written() -> None:
    made = database()
    assert made.answer("GET", "/_internal/desired_nodes/_latest").status is HTTPStatus.NOT_FOUND
    made.answer("PUT", "/_internal/desired_nodes/history/4", b"{}")
    assert made.answer("GET", "/_internal/desired_nodes/_latest").body["version"] == 4


def test_what_it_does_not_know_it_does_not_answer() -> None:
    assert database().answer("GET", "/_cat/indices").status is HTTPStatus.BAD_REQUEST
