"""A zone in maintenance: its members are missing by intent, and no other member is stopped."""

from typing import Any

import msgspec

from stateward.planning.facts.protocol import PROGRAM
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.facts.test_crossing import NOW, POOL, made, member, seen

NEXT = "7.1.68"
BEFORE = {"version": "7.1.67", PROGRAM: "7.1"}
CHANGED = msgspec.structs.replace(POOL, inputs={"version": NEXT, PROGRAM: "7.1"}, held_inputs=BEFORE, crossings={})


def upgrading(*, limited: bool, maintained: frozenset[str], **more: Any) -> o.Observation:
    """Return a cluster of three that a compatible upgrade has to take down, with a zone in maintenance."""
    obs = seen(*(member(i, BEFORE) for i in range(3)), desired=o.Desired(NEXT, (CHANGED,), formed_by_word=True), **more)
    assert isinstance(obs.database, o.Database)
    database = msgspec.structs.replace(obs.database, maintenance="z1", maintained=maintained, limited=limited)
    return msgspec.structs.replace(obs, database=database)


def staged(obs: o.Observation) -> list[str]:
    return [x.member for x in made(obs).actions if isinstance(x, a.Stage)]


def test_while_a_user_has_a_zone_in_maintenance_only_its_own_members_change() -> None:
    obs = upgrading(limited=False, maintained=frozenset({"c-s-1"}))
    assert staged(obs) == ["c-s-1"]
    assert {w.subject for w in made(obs).waits if w.reason == "InMaintenance"} == {"c-s-0", "c-s-2"}
    assert staged(upgrading(limited=False, maintained=frozenset())) == []


def test_what_stateward_has_begun_holds_no_member_and_is_lifted_when_no_member_is_on_the_way_back() -> None:
    obs = upgrading(limited=True, maintained=frozenset({"c-s-1"}))
    assert staged(obs) != []
    assert a.RestoreAllocation in {type(x) for x in made(obs).actions}


def test_a_member_of_the_zone_is_not_replaced_meanwhile_and_the_reason_is_reported() -> None:
    wishes = o.Replacement(enabled=True, after=60.0)
    for maintained, reason in ((frozenset({"c-s-1"}), "is in maintenance"), (frozenset({"c-s-0"}), "")):
        obs = upgrading(
            limited=False,
            maintained=maintained,
            missing={"c-s-1": NOW - 1000.0},
            causes={"c-s-1": "NodeNotReady"},
            since={"c-s-1": NOW - 1000.0},
            states={"c-s-1": "Down"},
        )
        desired = msgspec.structs.replace(obs.desired, replacement=wishes)
        pod = obs.members[1].pod
        assert pod is not None
        away = msgspec.structs.replace(pod, node_ready=False, ready=False, node="n1")
        gone = msgspec.structs.replace(obs.members[1], pod=away)
        members = (obs.members[0], gone, obs.members[2])
        found = made(msgspec.structs.replace(obs, desired=desired, members=members))
        said = " ".join(w.message for w in found.waits if w.reason == "ReplacementHeld")
        chosen = [x.member for x in found.actions if isinstance(x, a.RecordRemoval)]
        assert (reason in said, chosen) == (True, [] if reason else ["c-s-1"])
