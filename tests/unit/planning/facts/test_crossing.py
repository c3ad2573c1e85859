"""Versions that do not talk to each other: how far a cluster is on its way follows from what is there alone."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from stateward.forecast.forecast import run_forecast
from stateward.planning.facts.change import has_config_of_other_version
from stateward.planning.facts.facts import derive
from stateward.planning.facts.protocol import PROGRAM, PROGRAMS
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.database import UNANSWERED
from stateward.planning.model.phase import Phase
from stateward.planning.plan import Plan, plan

NOW = 10_000.0
OLD, NEW = "7.1.67", "7.3.63"
PLAIN = {"version": OLD, PROGRAM: "7.1"}
BESIDE = {**PLAIN, PROGRAMS: NEW}
SWITCHED = {**BESIDE, PROGRAM: "7.3"}
AFTER = {"version": NEW, PROGRAM: "7.3"}
POOL = o.Pool(
    "s",
    3,
    voting=False,
    data=True,
    ephemeral=False,
    inputs=AFTER,
    held_inputs=PLAIN,
    effects={
        "version": o.Effect.RECREATE,
        PROGRAMS: o.Effect.RECREATE,
        PROGRAM: o.Effect.RESTART,
        "storage": o.Effect.REPLACE,
    },
    volume_size=1,
    coordinated=frozenset({PROGRAM}),
    crossings={o.ProtocolSwitch.BESIDE: BESIDE, o.ProtocolSwitch.SWITCHED: SWITCHED},
)
DESIRED = o.Desired(NEW, (POOL,), formed_by_word=True)


def member(
    ordinal: int, pod: Mapping[str, str] | None = BESIDE, config: Mapping[str, str] | None = None, **more: Any
) -> o.Member:
    """Return a member whose pod was made from some inputs, and whose configuration says the same or something else."""
    name, config = f"c-s-{ordinal}", config or pod or BESIDE
    beside = NEW if pod is not None and PROGRAMS in pod else ""
    body = None
    if pod is not None:
        ref = o.Ref(name, f"pod-{ordinal}", "1")
        body = o.Pod(
            ref,
            pod,
            pod["version"],
            0.0,
            ready=True,
            running=True,
            claims=True,
            agent=True,
            beside=beside,
            ip="10.0.0.1",
        )
    return o.Member(
        name,
        "s",
        ordinal,
        workload=o.Workload(o.Ref(name, f"set-{ordinal}", "1"), config, config["version"], 1, observed=True),
        pod=body if body is None else msgspec.structs.replace(body, **more),
        claim=o.Claim(o.Ref(f"data-{name}", f"claim-{ordinal}", "1"), 1, 1, ""),
        config=config,
        config_checksum="sum",
        process=o.Process(o.ProcessState.RUNNING, "sum", "sum"),
    )


def seen(
    *members: o.Member, runs: str = OLD, joined: str = "", desired: o.Desired = DESIRED, **more: Any
) -> o.Observation:
    nodes = {m.name: o.Node(m.name, runs, data=True, voting=True) for m in members if m.pod is not None}
    database = o.Database("x", o.Health.GREEN, nodes, voters=frozenset(nodes))
    base = o.Observation("c", "n", "u", 1, desired, members, database, live=True, deployed_version=OLD)
    records = {m.name: o.Record(joined or runs, f"claim-{m.ordinal}") for m in members}
    return msgspec.structs.replace(base, **{"records": records, **more})


def step(obs: o.Observation) -> o.ProtocolSwitch:
    return derive(obs, NOW).crossing


def made(obs: o.Observation) -> Plan:
    return plan(obs, NOW)


def reasons(made: Plan) -> set[str]:
    return {wait.reason for wait in made.waits}


def three(pod: Mapping[str, str], config: Mapping[str, str] | None = None) -> tuple[o.Member, ...]:
    return tuple(member(i, pod, config) for i in range(3))


def test_programs_are_brought_one_pod_at_a_time_and_nothing_is_switched_before_all_have_them() -> None:
    obs = seen(member(0, PLAIN), member(1, PLAIN), member(2))
    assert step(obs) is o.ProtocolSwitch.BESIDE
    (stage,) = [x for x in made(obs).actions if isinstance(x, a.Stage)]
    assert (stage.version, stage.crossing) == (OLD, o.ProtocolSwitch.BESIDE)
    assert "BinariesNotStaged" in reasons(made(obs))


def test_when_all_serve_with_both_each_member_is_written_to_before_any_member_stops() -> None:
    obs = seen(*three(BESIDE))
    assert step(obs) is o.ProtocolSwitch.SWITCHED
    staged = [x for x in made(obs).actions if isinstance(x, a.Stage)]
    assert [x.crossing for x in staged] == [o.ProtocolSwitch.SWITCHED] * 3
    assert not [x for x in made(obs).actions if isinstance(x, a.SetPhase | a.StopProcess)]
    half = seen(member(0), member(1, BESIDE, SWITCHED), member(2, BESIDE, SWITCHED))
    assert [x.member for x in made(half).actions if isinstance(x, a.Stage)] == ["c-s-0"]
    assert not [x for x in made(half).actions if isinstance(x, a.SetPhase)]


def test_a_member_that_is_away_is_written_to_as_well() -> None:
    obs = seen(member(0, None, BESIDE), member(1, BESIDE, SWITCHED), member(2, BESIDE, SWITCHED))
    assert [x.member for x in made(obs).actions if isinstance(x, a.Stage)] == ["c-s-0"]


def test_all_stop_at_one_moment_once_each_agent_has_the_configuration() -> None:
    told = three(BESIDE, SWITCHED)
    assert {x.phase for x in made(seen(*told)).actions if isinstance(x, a.SetPhase)} == {Phase.SCHEDULE_COORDINATED}
    late = msgspec.structs.replace(told[0], process=o.Process(o.ProcessState.RUNNING, "other", "other"))
    waiting = made(seen(late, *told[1:]))
    assert "ConfigurationNotMounted" in reasons(waiting)
    assert not [x for x in waiting.actions if isinstance(x, a.SetPhase)]


def test_the_switch_waits_for_a_healthy_database() -> None:
    obs = seen(*three(BESIDE, SWITCHED))
    assert isinstance(obs.database, o.Database)
    copies = (
        o.Copy(o.CopyState.STARTED, primary=True, member="c-s-0"),
        o.Copy(o.CopyState.INITIALIZING, member="c-s-1"),
    )
    sick = msgspec.structs.replace(obs.database, units=(o.Unit("data", 2, copies),))
    found = made(msgspec.structs.replace(obs, database=sick))
    assert "DatabaseNotReady" in reasons(found)
    assert not [x for x in found.actions if isinstance(x, a.SetPhase | a.StopProcess)]


@pytest.mark.parametrize(
    ("first", "silent", "running", "goes"),
    [
        (SWITCHED, 60.0, True, True),
        (SWITCHED, 59.0, True, False),
        (BESIDE, 60.0, True, False),
        (SWITCHED, 60.0, False, False),
    ],
)
def test_the_switch_goes_on_without_a_database_only_if_a_member_runs_the_new_programs_already(
    first: Mapping[str, str], silent: float, *, running: bool, goes: bool
) -> None:
    """The only coordinator got another pod: no other process talked to it, and the switch waited for the database."""
    parted = member(0, first, SWITCHED, running=running)
    obs = seen(parted, member(1, BESIDE, SWITCHED), member(2, BESIDE, SWITCHED))
    found = made(msgspec.structs.replace(obs, database=o.Unknown("silent"), waits={f"c {UNANSWERED}": NOW - silent}))
    phases = [x.phase for x in found.actions if isinstance(x, a.SetPhase)]
    assert set(phases) == ({Phase.SCHEDULE_COORDINATED} if goes else set())
    assert ("DatabaseNotReady" in reasons(found)) is not goes


def test_a_sent_command_is_not_reverted_because_a_member_is_missing_for_a_moment() -> None:
    obs = seen(member(0, None, SWITCHED), member(1, BESIDE, SWITCHED), member(2, BESIDE, SWITCHED))
    assert step(obs) is o.ProtocolSwitch.SWITCHED


def test_after_the_switch_images_change_one_after_the_other() -> None:
    obs = seen(*three(SWITCHED), runs=NEW)
    assert step(obs) is o.ProtocolSwitch.NONE
    staged = [x for x in made(obs).actions if isinstance(x, a.Stage)]
    assert [(x.version, x.crossing) for x in staged] == [(NEW, o.ProtocolSwitch.NONE)]


def test_one_that_has_joined_with_the_new_version_decides_for_all() -> None:
    """An unreachable member changes to the new version, too: with the old one it could not join."""
    records = {f"c-s-{i}": o.Record(joined, f"claim-{i}") for i, joined in enumerate((NEW, OLD, OLD))}
    obs = seen(*three(BESIDE, SWITCHED), records=records)
    assert step(obs) is o.ProtocolSwitch.NONE
    assert set(derive(obs, NOW).versions.values()) == {NEW}


def test_reverted_before_the_switch_the_programs_go_again() -> None:
    pool = msgspec.structs.replace(POOL, inputs=PLAIN, crossings={})
    obs = seen(*three(BESIDE, SWITCHED), desired=o.Desired(OLD, (pool,), formed_by_word=True))
    assert step(obs) is o.ProtocolSwitch.NONE
    staged = [x for x in made(obs).actions if isinstance(x, a.Stage)]
    assert {(x.version, x.crossing) for x in staged} == {(OLD, o.ProtocolSwitch.NONE)}


def test_reverted_after_the_switch_it_is_refused() -> None:
    pool = msgspec.structs.replace(POOL, inputs=PLAIN, crossings={})
    obs = seen(*three(SWITCHED), runs=NEW, desired=o.Desired(OLD, (pool,), formed_by_word=True))
    found = made(obs)
    assert "CannotGoBack" in reasons(found)
    assert not found.actions


def test_no_member_leaves_between_the_command_and_the_switch() -> None:
    removal = o.Removal("a user asked for it", NOW - 100.0)
    replace = o.Replacement(replace=frozenset({"c-s-1"}))
    desired = msgspec.structs.replace(DESIRED, replacement=replace)
    obs = seen(*three(BESIDE, SWITCHED), member(3, BESIDE, SWITCHED), desired=desired, removals={"c-s-1": removal})
    found = made(obs)
    assert "ProtocolSwitchFirst" in reasons(found)
    assert not [x for x in found.actions if isinstance(x, a.Drain | a.Release)]


@pytest.mark.parametrize("draining", [frozenset({"c-s-2"}), frozenset[str]()])
def test_the_switch_waits_for_members_that_leave(draining: frozenset[str]) -> None:
    obs = seen(*three(BESIDE))
    assert isinstance(obs.database, o.Database)
    obs = msgspec.structs.replace(obs, database=msgspec.structs.replace(obs.database, draining=draining))
    assert (step(obs) is o.ProtocolSwitch.BESIDE) == bool(draining)


def test_what_the_database_does_not_say_is_no_reason_to_switch() -> None:
    obs = msgspec.structs.replace(seen(*three(BESIDE)), database=o.Unknown("no answer"))
    assert step(obs) is o.ProtocolSwitch.BESIDE
    assert not made(obs).actions


def test_the_wait_names_the_missing_members_and_why() -> None:
    obs = seen(member(0, PLAIN), member(1), member(2, BESIDE, ready=False))
    (wait,) = [w for w in made(obs).waits if w.reason == "BinariesNotStaged"]
    assert "c-s-0 does not have them yet" in wait.message
    assert "c-s-2 does not serve" in wait.message


def test_the_preview_goes_the_whole_way() -> None:
    assert run_forecast(seen(*three(PLAIN)), NOW).ended_at


def test_the_switch_is_over_when_all_run_the_new_programs_though_no_member_is_recorded_with_them() -> None:
    assert step(seen(*three(AFTER), runs=NEW, joined=OLD)) is o.ProtocolSwitch.NONE


def test_a_process_that_cannot_go_back_is_started_with_what_was_written_for_it() -> None:
    pool = msgspec.structs.replace(POOL, inputs=PLAIN, crossings={})
    member = msgspec.structs.replace(three(PLAIN)[0], config=AFTER)
    for joined, expected in ((OLD, True), (NEW, False)):
        facts = derive(seen(member, joined=joined, desired=o.Desired(OLD, (pool,), formed_by_word=True)), NOW)
        assert has_config_of_other_version(facts, facts.members[member.name]) is expected
