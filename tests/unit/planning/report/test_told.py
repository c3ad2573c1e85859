"""Databases with an explicit bootstrap command: it is sent once, late, and only after their own confirmation."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import Plan, plan
from stateward.planning.steps.membership.create_database import create_database
from tests.unit.planning.chaos import observations

NOW = 10_000.0
POOL = o.Pool("s", 1, voting=False, data=True, ephemeral=False, inputs={}, held_inputs={}, effects={})
DESIRED = o.Desired("7.1.67", (POOL,), formed_by_word=True)


def member(*, ready: bool = True) -> o.Member:
    ref = o.Ref("c-s-0", "u", "1")
    return o.Member(
        "c-s-0",
        "s",
        0,
        workload=o.Workload(ref, {}, "7.1.67", 1, observed=True),
        pod=o.Pod(ref, {}, "7.1.67", 0.0, ready=ready, running=True, claims=True),
        claim=o.Claim(o.Ref("data-c-s-0", "claim", "1"), 0, 1, ""),
        config={},
    )


def seen(database: o.Database | o.Unknown, *, ready: bool = True, **more: object) -> Plan:
    base = o.Observation("c", "n", "u", 1, DESIRED, (member(ready=ready),), database, live=True)
    return plan(msgspec.structs.replace(base, **more), NOW)


def kinds(made: Plan) -> list[type[a.Action]]:
    return [type(action) for action in made.actions]


NOT_THERE = o.Unformed("the database was never created")
SILENT = o.Unformed("it reports nothing", certain=False)
RECORD = o.Record("7.1.67", "claim")
RECORDED = o.Bootstrap("c-s-0", "claim", formed=False)


def test_it_is_recorded_and_then_told_and_only_when_all_members_run() -> None:
    assert a.RecordBootstrap not in kinds(seen(NOT_THERE, ready=False))
    assert a.RecordBootstrap in kinds(seen(NOT_THERE))
    assert a.CreateDatabase not in kinds(seen(NOT_THERE))
    assert a.CreateDatabase in kinds(seen(NOT_THERE, bootstrap=RECORDED))


def test_a_member_that_is_not_ready_is_named_with_the_reason() -> None:
    (wait,) = [w for w in seen(NOT_THERE, ready=False).waits if w.reason == "MembersFirst"]
    assert "c-s-0 starts" in wait.message
    bare = msgspec.structs.replace(member(), pod=None)
    (wait,) = [w for w in seen(NOT_THERE, members=(bare,)).waits if w.reason == "MembersFirst"]
    assert "c-s-0 has no pod yet" in wait.message
    (wait,) = [w for w in seen(NOT_THERE, members=()).waits if w.reason == "MembersFirst"]
    assert "0 of 1 members exist" in wait.message
    many = tuple(msgspec.structs.replace(bare, name=f"c-s-{i}", ordinal=i) for i in range(5))
    five = msgspec.structs.replace(DESIRED, pools=(msgspec.structs.replace(DESIRED.pools[0], replicas=5),))
    (wait,) = [w for w in seen(NOT_THERE, members=many, desired=five).waits if w.reason == "MembersFirst"]
    assert "2 more are not ready" in wait.message


def test_a_database_that_reports_nothing_is_made_if_nothing_records_it() -> None:
    assert a.RecordBootstrap in kinds(seen(SILENT))
    assert a.CreateDatabase in kinds(seen(SILENT, bootstrap=RECORDED))


@pytest.mark.parametrize(
    "record",
    [
        {"bootstrap": msgspec.structs.replace(RECORDED, formed=True)},
        {"records": {"c-s-0": o.Record("7.3.63", "claim")}},
        {"deployed_version": "7.3.63", "bootstrap": RECORDED},
    ],
    ids=["it answered before", "a member has joined", "a version was deployed"],
)
def test_a_database_that_reports_nothing_and_was_there_is_down(record: dict[str, Any]) -> None:
    made = seen(SILENT, **record)
    assert {a.CreateDatabase, a.RecordBootstrap}.isdisjoint(kinds(made))
    reasons = {wait.reason for wait in made.waits}
    assert "DatabaseUnknown" in reasons
    assert "DatabaseGone" not in reasons


@pytest.mark.parametrize(
    "asking", [o.Replacement(replace=frozenset({"c-s-0"})), o.Replacement(undrained=frozenset({"c-s-0"}))]
)
def test_members_get_their_first_names_before_the_database_is_made_whatever_is_to_be_replaced(
    asking: o.Replacement,
) -> None:
    """The cluster file names the first members: with other ones it would have no coordinators, and never a database."""
    desired = msgspec.structs.replace(DESIRED, replacement=asking)
    none = seen(o.Unknown("no pod of the cluster runs"), members=(), desired=desired)
    assert [action.member for action in none.actions if isinstance(action, a.Create)] == ["c-s-0"]
    made = seen(NOT_THERE, desired=desired)
    assert a.RecordBootstrap in kinds(made)
    assert a.RecordRemoval not in kinds(made)
    (wait,) = [w for w in made.waits if w.reason == "DatabaseFirst"]
    assert wait.message == (
        "c-s-0 is replaced once the database was created: its first coordinators are members with these names"
    )


def test_a_member_is_replaced_as_soon_as_the_database_is_there() -> None:
    desired = msgspec.structs.replace(DESIRED, replacement=o.Replacement(replace=frozenset({"c-s-0"})))
    records: list[dict[str, Any]] = [
        {"bootstrap": msgspec.structs.replace(RECORDED, formed=True)},
        {"records": {"c-s-0": RECORD}},
    ]
    for record in records:
        made = seen(o.Unknown("no answer"), desired=desired, **record)
        assert a.RecordRemoval in kinds(made)
        assert "DatabaseFirst" not in {wait.reason for wait in made.waits}


def test_silence_is_no_word() -> None:
    silent = seen(o.Unknown("no answer"), bootstrap=RECORDED)
    assert {a.CreateDatabase, a.RecordBootstrap}.isdisjoint(kinds(silent))


def test_what_was_formed_is_never_formed_again() -> None:
    made = seen(NOT_THERE, bootstrap=msgspec.structs.replace(RECORDED, formed=True))
    assert a.CreateDatabase not in kinds(made)
    assert "DatabaseGone" in {wait.reason for wait in made.waits}


def test_what_it_should_be_told_waits_for_members_that_come_back() -> None:
    nodes = {"c-s-0": o.Node("c-s-0", "7.1.67", data=True, voting=True)}
    database = o.Database("x", o.Health.GREEN, nodes, voters=frozenset(nodes), pending_settings="it should be told")
    assert a.ConfigureDatabase not in kinds(seen(database))
    assert a.ConfigureDatabase in kinds(seen(database, waits={"c DatabaseChangePending": NOW - 61.0}))
    assert seen(msgspec.structs.replace(database, pending_settings="")).waits == ()


asked = observations.map(
    lambda obs: msgspec.structs.replace(obs, desired=msgspec.structs.replace(obs.desired, formed_by_word=True))
)
answers = st.sampled_from([NOT_THERE, SILENT, o.Unknown("no answer"), None])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(asked, answers)
def test_whatever_is_seen_a_database_is_made_on_its_own_word_only_and_never_twice(
    obs: o.Observation, answer: o.Unknown | None
) -> None:
    if answer is not None:
        obs = msgspec.structs.replace(obs, database=answer)
    made = plan(obs, NOW)
    if a.CreateDatabase in kinds(made):
        assert isinstance(obs.database, o.Unformed)
        assert obs.bootstrap is not None
        assert not obs.bootstrap.formed
        assert obs.database.certain or not (obs.records or obs.deployed_version)
        assert made.needs_live
    if a.GrantBootstrap in kinds(made):
        raise AssertionError("a database that is told needs no grant")
    if isinstance(obs.database, o.Unknown):
        assert a.ConfigureDatabase not in kinds(made)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(asked)
def test_making_it_never_waits_without_a_reason(obs: o.Observation) -> None:
    obs = msgspec.structs.replace(obs, database=NOT_THERE)
    part = create_database(derive(obs, NOW), ())
    assert part.actions or part.waits
