"""Databases that make and keep themselves when they are told to: told once, late, and on their own word only."""

import msgspec

from stateward.planning import actions as a
from stateward.planning import observation as o
from stateward.planning.plan import Plan, plan

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


NOT_THERE = o.Unformed("nothing was ever made in it")
RECORDED = o.Bootstrap("c-s-0", "claim", formed=False)


def test_it_is_recorded_and_then_told_and_only_when_all_members_run() -> None:
    assert a.RecordBootstrap not in kinds(seen(NOT_THERE, ready=False))
    assert a.RecordBootstrap in kinds(seen(NOT_THERE))
    assert a.Form not in kinds(seen(NOT_THERE))
    assert a.Form in kinds(seen(NOT_THERE, bootstrap=RECORDED))


def test_silence_is_no_word() -> None:
    silent = seen(o.Unknown("no answer"), bootstrap=RECORDED)
    assert {a.Form, a.RecordBootstrap}.isdisjoint(kinds(silent))


def test_what_was_formed_is_never_formed_again() -> None:
    made = seen(NOT_THERE, bootstrap=msgspec.structs.replace(RECORDED, formed=True))
    assert a.Form not in kinds(made)
    assert "DatabaseGone" in {wait.reason for wait in made.waits}


def test_what_it_should_be_told_waits_for_members_that_come_back() -> None:
    nodes = {"c-s-0": o.Node("c-s-0", "7.1.67", data=True, voting=True)}
    database = o.Database("x", o.Health.GREEN, nodes, voters=frozenset(nodes), untended="it should be told")
    assert a.Tend not in kinds(seen(database))
    assert a.Tend in kinds(seen(database, waits={"c Tending": NOW - 61.0}))
    assert seen(msgspec.structs.replace(database, untended="")).waits == ()
