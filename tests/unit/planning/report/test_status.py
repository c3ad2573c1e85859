"""The status: states, reasons, times and conditions."""

import pytest
from msgspec.structs import replace

from stateward.api.kinds.access.dashboards import DashboardsStatus
from stateward.api.kinds.access.metrics import MetricsStatus
from stateward.api.kinds.access.remote import RemoteAccessStatus, RemoteClusterStatus
from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.conditions import stalled
from stateward.operator.objects.recorded_status import maintenance_end
from stateward.planning.facts.facts import derive
from stateward.planning.model.observation import Database, Desired, Observation, Refusal, Replacement, Unknown
from stateward.planning.plan import plan
from stateward.planning.report.status import parse_time, rfc3339, status
from tests.unit.planning.world import World, hot, managers, settled

BAD = {"config/a": "bad"}


def condition(world: World, kind: str) -> tuple[str, str]:
    found = next(c for c in world.status.conditions if c.type == kind)
    return found.status, found.reason


def test_a_settled_cluster_is_ready_and_writing_its_status_again_changes_nothing() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.tick()
    assert condition(world, "Ready") == ("True", "Settled")
    assert condition(world, "Reconciling")[0] == condition(world, "Stalled")[0] == "False"
    assert world.status.ready == "6/6"
    observed = world.observe()
    assert status(observed, world.plan(), world.status, world.now + 500) == world.status


def test_what_is_known_of_things_beside_the_database_stays() -> None:
    """The address of a remote cluster is the record of what the operator has set in the database, and must undo."""
    world = settled(managers(), hot(), indices=((2,),))
    known = replace(
        world.status,
        dashboards=DashboardsStatus(replicas=1),
        metrics=MetricsStatus(available=True),
        routes=RoutesStatus(urls=["https://logs.example.com"]),
        remote_clusters=[RemoteClusterStatus(name="east", address="events-remote.b.svc:9300")],
        remote_access=RemoteAccessStatus(),
    )
    after = status(world.observe(), world.plan(), known, world.now)
    for part in ("dashboards", "metrics", "routes", "remote_clusters", "remote_access"):
        assert getattr(after, part) == getattr(known, part)


def test_conditions_of_a_cluster_that_changes() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(version="2.19.5").ticks(2)
    assert condition(world, "Reconciling") == ("True", "InProgress")
    assert condition(world, "Upgrading")[0] == "True"
    assert condition(world, "Available") == ("True", "Serving")
    assert condition(world, "Ready")[0] == "False"


def test_the_status_that_names_a_version_as_deployed_is_not_upgrading_to_it() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(version="2.19.5")
    world.until(lambda w: w.status.version == "2.19.5")
    assert condition(world, "Upgrading")[0] == "False"
    assert [pool.upgrade for pool in world.status.pools] == ["", ""]


def test_a_member_that_does_not_start_stalls_the_cluster_and_starting_does_not() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config={"config/a": "1"})])
    for _ in range(12):
        world.tick()
        assert condition(world, "Stalled")[0] == "False"
    world.run().edit(crash={("config/a", "bad")}, pools=[managers(), hot(config=BAD)]).ticks(8)
    assert condition(world, "Stalled") == ("True", "MemberDoesNotStart")
    assert condition(world, "Reconciling") == ("False", "Stalled")
    stuck = stalled(world.status.conditions)
    assert stuck is not None
    assert [m.name for m in world.status.member_states if m.reason == stuck.message] == ["c-hot-2"]


def test_a_pod_that_only_waits_for_its_volume_to_be_released_does_not_stall_the_cluster() -> None:
    world = settled(managers(), hot()).kill("c-hot-1").edit(unschedulable={"c-hot-1"})
    world.until(lambda w: "does not start: Unschedulable" in w.plan().intents["c-hot-1"].sentence).tick()
    assert condition(world, "Stalled")[0] == "False"
    world.ticks(3)
    assert condition(world, "Stalled")[0] == "True"


def test_an_unknown_database_is_neither_available_nor_unavailable() -> None:
    world = settled(managers(), hot()).edit(answers=False).ticks(1)
    assert condition(world, "Available") == ("Unknown", "DatabaseUnknown")
    assert world.status.health == "unknown"


def test_a_wait_keeps_the_time_since_which_it_is_there() -> None:
    world = settled(managers(), hot(), indices=((3,),)).edit(pools=[managers(), hot(2)]).ticks(1)
    first = world.status.waiting[0].since_time
    world.ticks(20)
    assert world.status.waiting[0].since_time == first
    assert world.status.waiting[0].reason == "ShrinkRefused"


def test_progress_is_what_moves_and_not_what_is_reported() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(crash={("config/a", "bad")})
    world.edit(pools=[managers(), hot(config=BAD)]).ticks(30)
    before = world.status.last_progress_time
    world.ticks(20)
    assert world.status.last_progress_time == before
    world.edit(pools=[managers(), hot()]).run()
    assert (parse_time(world.status.last_progress_time) or 0) > (parse_time(before) or 0)


def test_the_zone_of_a_member_is_remembered_while_it_has_no_pod() -> None:
    world = settled(managers(), hot(), zones=3).kill("c-hot-1").edit(unschedulable={"c-hot-1"}).ticks(3)
    member = next(m for m in world.status.member_states if m.name == "c-hot-1")
    assert member.zone == "zone-1"


def test_a_member_that_leaves_does_not_count_as_requested() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,))).edit(pools=[managers(), hot(2)])
    world.until(lambda w: "c-hot-3" in w.draining).tick()
    assert world.status.ready == "5/5"
    assert [(p.ready, p.desired) for p in world.status.pools] == [(3, 3), (2, 2)]
    world.kill("c-hot-0").tick()
    assert world.status.ready == "4/5"


def test_a_member_that_is_replaced_counts_until_the_one_in_its_place_serves() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(storage_class="slow")])
    seen = {world.ticks(1).status.ready for _ in range(200)}
    assert seen == {"6/6"}
    assert {body.claim.storage_class for body in world.bodies.values() if body.claim and body.pool == "hot"} >= {"slow"}


def test_a_spec_that_makes_no_sense_leaves_what_runs_in_the_status() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    refusal = Refusal("spec.pools[0].roles", "InvalidSpec", "no such role")
    observed = world.observe()
    desired = Desired(version=observed.deployed_version, pools=(), refusals=(refusal,))
    observed = replace(observed, desired=desired)
    found = status(observed, plan(observed, world.now), world.status, world.now)
    assert found.ready == "6/6"
    assert [(p.name, p.ready, p.desired, p.version) for p in found.pools] == [
        ("managers", 3, 3, "2.17.1"),
        ("hot", 3, 3, "2.17.1"),
    ]
    assert next(c.status for c in found.conditions if c.type == "Stalled") == "True"


def test_a_spec_that_makes_no_sense_is_not_mistaken_for_a_way_back_to_the_old_version() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(version="2.19.5")
    world.until(lambda w: any(m.version == "2.19.5" for m in w.status.member_states))
    refusal = Refusal("spec.pools[0].roles", "InvalidSpec", "no such role")
    observed = world.observe()
    observed = replace(observed, desired=Desired(observed.deployed_version, (), refusals=(refusal,)))
    assert [w.reason for w in plan(observed, world.now).waits] == ["InvalidSpec"]


def test_a_member_that_left_is_forgotten() -> None:
    world = settled(managers(), hot(3), indices=((2,),)).edit(pools=[managers(), hot(2)]).run()
    assert "c-hot-2" not in {m.name for m in world.status.member_states}


def test_times_are_written_as_kubernetes_does_and_read_back() -> None:
    assert rfc3339(0.0) == "1970-01-01T00:00:00Z"
    assert parse_time(rfc3339(1_700_000_000.0)) == 1_700_000_000.0
    assert parse_time("") is None


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "2026-01-01T00:00:00",
        "2026-01-01",
    ],
)
def test_what_cannot_be_written_again_or_has_no_zone_is_no_time(text: str) -> None:
    assert parse_time(text) is None


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59.999999Z", "2026-01-01T02:00:00+02:00", "0001-01-01T00:00:00Z"])
def test_a_time_that_someone_wrote_can_be_written_again(text: str) -> None:
    found = parse_time(text)
    assert found is not None
    assert rfc3339(found)


def test_a_time_that_is_none_in_a_status_ends_no_round() -> None:
    world = (
        settled(managers(), hot()).edit(policy={"replacement": Replacement(replace=frozenset({"c-hot-1"}))}).ticks(3)
    )
    (entry,) = world.status.pending_removals
    wrong = replace(world.status, pending_removals=[replace(entry, start_time="0001-01-01T00:00:00+23:59")])
    world.edit(status=wrong).ticks(1)
    assert parse_time(world.status.pending_removals[0].start_time) is not None


def test_nothing_is_ready_in_the_first_status() -> None:
    world = World(managers(), hot())
    first = status(world.observe(), world.plan(), ClusterStatus(), world.now)
    assert first.ready == "0/6"
    assert first.bootstrap is None


def test_since_when_a_member_does_not_serve_is_kept_through_its_states_until_it_does() -> None:
    world = settled(managers(), hot(), indices=((2,),))

    def told() -> str:
        return next(m.not_serving_since_time for m in world.status.member_states if m.name == "c-hot-1")

    assert told() == ""
    world.kill("c-hot-1").tick()
    began, seen = told(), set[str]()
    assert began
    for _ in range(100):
        seen |= {m.state for m in world.status.member_states if m.name == "c-hot-1"}
        if not told():
            break
        assert told() == began
        world.tick()
    assert told() == ""
    assert len(seen) > 1


def test_the_time_of_a_member_that_a_user_keeps_stopped_begins_when_that_is_reverted() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(kept_stopped=frozenset({"c-hot-1"})).kill("c-hot-1")
    facts = derive(world.observe(), world.now)
    assert facts.away(facts.members["c-hot-1"]) is None
    facts = derive(world.edit(kept_stopped=frozenset()).observe(), world.now + 5)
    assert facts.away(facts.members["c-hot-1"]) == world.now + 5


def test_while_the_database_is_silent_no_member_that_was_away_is_taken_to_be_back() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    before = rfc3339(world.now - 60)
    states = [
        replace(m, not_serving_since_time=before if m.name == "c-hot-1" else "") for m in world.status.member_states
    ]
    world.status = replace(world.status, member_states=states)
    for answers, expected in ((False, parse_time(before)), (True, None)):
        facts = derive(world.edit(answers=answers).observe(), world.now)
        pod = facts.members["c-hot-1"].pod
        assert pod is not None
        assert pod.ready
        assert facts.away(facts.members["c-hot-1"]) == expected
        assert facts.away(facts.members["c-hot-2"]) is None


def test_a_member_of_which_only_a_part_is_in_the_database_is_recorded_and_expected() -> None:
    world = settled(managers(), hot(), indices=((2,),), version="2.19.5")
    observed = world.observe()
    assert isinstance(observed.database, Database)
    nodes = {name: node for name, node in observed.database.nodes.items() if name != "c-hot-1"}
    unrecorded = replace(
        observed,
        records={name: record for name, record in observed.records.items() if name != "c-hot-1"},
        database=replace(observed.database, nodes=nodes, units=(), partial={"c-hot-1": "2.19.5"}),
    )
    earlier = [m for m in world.status.member_states if m.name != "c-hot-1"]
    after = status(unrecorded, world.plan(), replace(world.status, member_states=earlier), world.now)
    assert next(m for m in after.member_states if m.name == "c-hot-1").version == "2.19.5"
    assert "c-hot-1" in derive(unrecorded, world.now).down


def test_a_member_that_joins_with_another_volume_is_recorded_with_it_and_with_the_version_it_has() -> None:
    """An empty volume may hold any version: the one of before would keep a lower one from ever being wanted again."""
    world = settled(managers(), hot(), indices=((2,),), version="2.19.5")
    before = next(m for m in world.status.member_states if m.name == "c-hot-1")
    observed = world.observe()
    assert isinstance(observed.database, Database)
    nodes = dict(observed.database.nodes)
    nodes["c-hot-1"] = replace(nodes["c-hot-1"], version="2.17.1")
    lower = replace(observed, database=replace(observed.database, nodes=nodes))

    def recorded(obs: Observation) -> tuple[str, str]:
        after = status(obs, world.plan(), world.status, world.now)
        member = next(m for m in after.member_states if m.name == "c-hot-1")
        return member.version, member.volume

    assert recorded(lower) == ("2.19.5", before.volume), "data never goes back to a lower version"
    claimed = next(m.claim for m in lower.members if m.name == "c-hot-1")
    assert claimed is not None
    other = replace(claimed, ref=replace(claimed.ref, uid="another"))
    members = tuple(replace(m, claim=other) if m.name == "c-hot-1" else m for m in lower.members)
    assert recorded(replace(lower, members=members)) == ("2.17.1", "another")


def test_sentences_with_answers_of_the_database_have_only_printable_characters() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    observed = replace(world.observe(), database=Unknown("it says \x1b[2J\u202e"))
    found = status(observed, plan(observed, world.now), world.status, world.now)
    told = {each.message for each in (*found.conditions, *found.waiting)}
    assert any(r"it says \x1b[2J\u202e" in each for each in told)
    assert all(each.isprintable() for each in told)


def test_the_end_of_a_maintenance_is_recorded_when_it_is_noticed_and_outlives_silence() -> None:
    """FoundationDB counts what was lost in a zone only a while after its maintenance."""
    world = settled(managers(), hot(), indices=((2,),))
    quiet = world.observe()
    assert isinstance(quiet.database, Database)
    silent = replace(quiet, database=Unknown("it does not answer"))
    in_zone = replace(quiet, database=replace(quiet.database, maintenance="z4"))
    known, told = world.status, list[tuple[str, str] | None]()
    for number, seen in enumerate((quiet, in_zone, silent, in_zone, quiet, silent, quiet)):
        now = world.now + 60.0 * number
        known = status(replace(seen, maintenance_end=maintenance_end(known)), world.plan(), known, now)
        told.append(known.maintenance and (known.maintenance.zone, known.maintenance.end_time))
    end = rfc3339(world.now + 240.0)
    assert told == [None, ("z4", ""), ("z4", ""), ("z4", ""), ("z4", end), ("z4", end), ("z4", end)]
    assert maintenance_end(known) == parse_time(end)
