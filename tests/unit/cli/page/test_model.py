"""What the page shows of a cluster follows from its resource, and from the database if that could be read."""

import copy

import msgspec
import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.api.values.base import Condition
from stateward.cli.page.model import NO_OPERATOR, detail_of, row_of
from stateward.cli.page.shards import DRAWN, Shard, copies_by_member, summary
from stateward.cli.page.tone import Tone
from stateward.planning.model.observation import Copy, CopyState, Database, Health, Node, Unit
from tests.unit.cli.samples import CLUSTER

SINCE = "2026-11-21T11:50:00Z"


def sample() -> Cluster:
    document = copy.deepcopy(CLUSTER)
    document["metadata"] = {key: document["metadata"][key] for key in ("name", "namespace", "uid", "generation")}
    return convert_cluster(document)


def changed(**parts: object) -> Cluster:
    cluster = sample()
    return msgspec.structs.replace(cluster, status=msgspec.structs.replace(cluster.status, **parts))


def test_a_row_has_what_the_list_command_shows() -> None:
    row = row_of(sample())
    assert (row.ref, row.version, row.health, row.tone) == (
        "default/opensearch/logs",
        "2.17.1 → 2.19.5",
        "yellow",
        Tone.WAIT,
    )
    assert (row.ready, row.desired, row.waits) == (2, 3, 1)
    assert row.activity == "logs-hot-1 restarts to apply version"


def test_a_row_tells_that_manual_intervention_is_required() -> None:
    assert not row_of(sample()).stalled
    assert row_of(changed(conditions=[Condition(type="Stalled", status="True")])).stalled


def test_what_needs_attention_comes_first() -> None:
    ready, stuck = Condition(type="Ready", status="True"), Condition(type="Stalled", status="True")
    lost = msgspec.structs.replace(
        sample().status.member_states[0], state="Down", missing_since_time=SINCE, missing_reason="NodeNotReady"
    )
    calm = {"conditions": [ready], "waiting": [], "health": "green"}
    found = [
        row_of(changed(**parts)).urgency
        for parts in (
            {**calm, "conditions": [ready, stuck]},
            {**calm, "health": "red"},
            {**calm, "health": ""},
            {**calm, "member_states": [lost]},
            {"conditions": []},
            {**calm, "health": "yellow"},
            calm,
        )
    ]
    assert found == [0, 0, 1, 1, 2, 2, 3]


def test_nothing_is_pending_only_in_a_settled_cluster() -> None:
    assert detail_of(changed(conditions=[Condition(type="Ready", status="True")])).idle == "Nothing is pending."
    assert "goes on" in detail_of(changed(conditions=[Condition(type="Ready", status="False")])).idle
    assert "No operator" in detail_of(changed(conditions=[])).idle


def test_a_member_that_a_step_has_stopped_is_not_missing() -> None:
    first, *rest = sample().status.member_states
    gone = msgspec.structs.replace(first, state="Starting", missing_since_time=SINCE, missing_reason="NotInCluster")
    assert detail_of(changed(member_states=[gone, *rest])).members[0].next
    planned = msgspec.structs.replace(gone, absence="Planned")
    assert not detail_of(changed(member_states=[planned, *rest])).members[0].next


def test_a_cluster_that_no_operator_has_observed_is_unknown_and_not_green() -> None:
    cluster = sample()
    fresh = msgspec.structs.replace(cluster, status=type(cluster.status)())
    row = row_of(fresh)
    assert (row.health, row.tone, row.activity) == ("unknown", Tone.UNKNOWN, NO_OPERATOR)
    assert detail_of(fresh).standing == NO_OPERATOR


def test_members_have_their_zone_state_and_version() -> None:
    detail = detail_of(sample())
    assert detail.zones == ("a", "b", "c")
    found = {card.short: (card.zone, card.state, card.tone, card.current) for card in detail.members}
    assert found["hot-0"] == ("a", "Waiting", Tone.WAIT, False)
    assert found["hot-1"] == ("b", "Restarting", Tone.BUSY, False)
    assert found["managers-0"] == ("c", "Ready", Tone.GOOD, False)


def test_a_missing_member_is_bad_and_says_what_happens_next() -> None:
    cluster = sample()
    states = [
        msgspec.structs.replace(m, state="Down", missing_since_time=SINCE, missing_reason="NodeNotReady")
        if m.name == "logs-hot-0"
        else m
        for m in cluster.status.member_states
    ]
    card = detail_of(changed(member_states=states)).members[0]
    assert (card.state, card.tone) == ("Missing", Tone.BAD)
    assert "replace logs-hot-0" in card.next


def test_a_member_that_stops_in_a_restart_is_not_missing() -> None:
    cluster = sample()
    stopping = msgspec.structs.replace(
        cluster.status.member_states[1],
        state="Down",
        missing_since_time=SINCE,
        missing_reason="PodTerminating",
        absence="Planned",
    )
    card = detail_of(changed(member_states=[stopping])).members[0]
    assert (card.state, card.tone) == ("Stopping", Tone.BUSY)


def test_a_member_that_stops_without_a_step_of_the_operator_is_missing() -> None:
    cluster = sample()
    evicted = msgspec.structs.replace(
        cluster.status.member_states[1],
        state="Down",
        missing_since_time=SINCE,
        missing_reason="PodTerminating",
        reason="logs-hot-1 is stopping",
        absence="Unplanned",
    )
    card = detail_of(changed(member_states=[evicted])).members[0]
    assert (card.state, card.tone) == ("Missing", Tone.BAD)


def test_waits_for_one_reason_are_together_with_the_advice_of_explain() -> None:
    cluster = sample()
    wait = cluster.status.waiting[0]
    other = msgspec.structs.replace(wait, subject="logs-hot-1")
    (found,) = detail_of(changed(waiting=[wait, other])).waits
    assert [held.subject for held in found.held] == ["logs-hot-0", "logs-hot-1"]
    assert found.reason == "DatabaseNotReady"
    assert found.ends.startswith("every shard is recovered")


def test_shards_and_disks_come_from_the_database() -> None:
    unit = Unit("docs[0]", 2, (Copy(CopyState.STARTED, primary=True, member="logs-hot-0"),))
    moving = Unit("docs[1]", 1, (Copy(CopyState.RELOCATING, primary=True, member="logs-hot-0", target="logs-hot-1"),))
    node = Node("logs-hot-0", "2.17.1", data=True, voting=False, disk_total=100, disk_free=40)
    database = Database("u", Health.YELLOW, {"logs-hot-0": node}, (moving, unit), leader="logs-managers-0")
    detail = detail_of(sample(), summary(database), ("a note",))
    card = detail.members[0]
    assert card.shards == (Shard("docs[0]", primary=True, moving=False), Shard("docs[1]", primary=True, moving=False))
    assert (card.disk_used, card.disk_total, card.shards_known) == (60, 100, True)
    assert (card.shard_count, card.primaries, card.moving) == (2, 2, 0)
    assert [found.moving for found in detail.members] == [0, 1, 0, 0, 0][: len(detail.members)]
    assert (detail.data_known, detail.shards, detail.unassigned) == (True, 2, 0)
    assert copies_by_member(database)["logs-hot-1"] == [Shard("docs[1]", primary=False, moving=True)]
    assert [card.name for card in detail.members if card.leader] == ["logs-managers-0"]
    assert detail.notes == ("a note",)


def test_without_the_database_shards_are_not_known_and_not_zero() -> None:
    detail = detail_of(sample())
    assert not detail.data_known
    assert not any(card.shards_known for card in detail.members)


def test_a_database_without_an_index_has_no_shards_which_is_known() -> None:
    detail = detail_of(sample(), summary(Database("u", Health.GREEN, {})))
    assert detail.data_known
    assert all((card.shards_known, card.shard_count) == (True, 0) for card in detail.members)


def test_of_many_shards_of_a_member_those_are_sent_that_are_drawn_and_all_are_counted() -> None:
    own = Copy(CopyState.STARTED, primary=True, member="logs-hot-0")
    lost = Copy(CopyState.UNASSIGNED)
    units = tuple(Unit(f"docs[{number:03}]", 1, (own, lost)) for number in range(DRAWN + 5))
    detail = detail_of(sample(), summary(Database("u", Health.YELLOW, {}, units)))
    assert len(detail.members[0].shards) == DRAWN
    assert (detail.members[0].shard_count, detail.members[0].primaries) == (DRAWN + 5, DRAWN + 5)
    assert (detail.shards, detail.unassigned) == (DRAWN + 5, DRAWN + 5)


@pytest.mark.parametrize(("paused", "offered"), [(False, "pause"), (True, "resume")])
def test_a_paused_cluster_can_be_resumed_and_another_one_paused(*, paused: bool, offered: str) -> None:
    document = copy.deepcopy(CLUSTER)
    document["metadata"] = {"name": "logs", "namespace": "default"}
    document["spec"]["update"] = {"paused": paused}
    names = {verb.name for verb in detail_of(convert_cluster(document)).verbs}
    assert names == {offered, "restart"}


def test_a_stopped_member_can_be_started_and_a_replaced_one_kept() -> None:
    document = copy.deepcopy(CLUSTER)
    document["metadata"] = {
        "name": "logs",
        "namespace": "default",
        "annotations": {"stateward.dev/stopped": "logs-hot-0"},
    }
    document["spec"]["members"] = {"replace": ["logs-hot-1"]}
    verbs = {card.name: [verb.name for verb in card.verbs] for card in detail_of(convert_cluster(document)).members}
    assert verbs["logs-hot-0"] == ["restart", "replace", "start"]
    assert verbs["logs-hot-1"] == ["restart", "keep", "stop"]
