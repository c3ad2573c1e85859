"""Members of FoundationDB that leave with obstacles, or with a death of the operator in between."""

import asyncio
from math import inf
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.foundationdb import Redundancy
from stateward.engines.foundationdb.database.commands import MARK, Outcome, Printed, judge
from stateward.engines.foundationdb.database.exclusion import SETTLING, missing_data_problem, replication_problem
from stateward.engines.foundationdb.database.status import Status
from stateward.planning.model.observation import Database, Health
from stateward.simulation.foundationdb.commandline import FULL
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.foundationdb.state import State
from tests.unit.engines.foundationdb_model import Model, cluster


@pytest.fixture
async def model() -> Model:
    return await Model(cluster()).made()


async def excluded(model: Model) -> list[str]:
    """Return all that is excluded in the database, by whomever."""
    status = await model.engine._status(model.target())
    configuration = status[1].cluster.configuration
    assert configuration is not None
    return sorted(entry.address or entry.locality or "" for entry in configuration.excluded_servers or ())


async def test_a_member_that_was_never_there_is_not_on_its_way_back_and_keeps_no_member(model: Model) -> None:
    processes = dict.fromkeys([*model.addresses, "ledger-storage-5"], 1)
    leaving = frozenset({"ledger-storage-4"})
    await model.engine.drain(model.target(processes=processes), leaving)
    assert (await model.seen(processes=processes)).draining == frozenset()
    await model.engine.drain(model.target(processes=processes, fresh=frozenset({"ledger-storage-5"})), leaving)
    assert (await model.seen(processes=processes)).draining == leaving


async def test_coordinators_move_away_from_a_member_that_is_not_drained(model: Model) -> None:
    await model.engine.exclude_voters(model.target(), frozenset({"ledger-storage-0"}))
    database = await model.seen()
    assert "ledger-storage-0" not in database.voters
    assert len(database.voters) == 3
    assert database.draining == database.voting_exclusions == frozenset()
    await model.engine.exclude_voters(model.target(), frozenset({"ledger-storage-0"}))
    assert len([c for c in model.commands if c.startswith("coordinators")]) == 1


async def test_coordinators_move_away_where_there_are_more_than_the_redundancy_needs() -> None:
    """Those that a higher redundancy needed stay until one of their members leaves."""
    model = await Model(cluster(redundancy="triple")).made()
    before, leaving = model.target(), "ledger-storage-0"
    assert len((await model.seen()).voters) == 5
    spec = msgspec.structs.replace(before.cluster.spec, redundancy=Redundancy.DOUBLE)
    target = msgspec.structs.replace(before, cluster=msgspec.structs.replace(before.cluster, spec=spec))
    await model.engine.configure(target)
    await model.settle(60.0)
    await model.engine.drain(target, frozenset({leaving}))
    await model.settle(60.0)
    database = await model.engine.observe(target)
    assert isinstance(database, Database)
    assert database.draining == {leaving}
    assert len(database.voters) == 3
    assert leaving not in database.voters


@pytest.mark.parametrize("way", ["drain", "exclude_voters"])
async def test_no_coordinators_are_given_up_with_a_leaving_member_before_the_redundancy_is_lower(way: str) -> None:
    """One edit lowers the redundancy and replaces a member: one coordinator was left of a database with two copies."""
    model, leaving = await Model(cluster(redundancy="double")).made(), "ledger-storage-0"
    model.start("ledger-storage-5", "storage", "z0")
    model.of = msgspec.structs.replace(
        model.of, spec=msgspec.structs.replace(model.of.spec, redundancy=Redundancy.SINGLE)
    )
    assert leaving in (await model.seen()).voters
    await getattr(model.engine, way)(model.target(), frozenset({leaving}))
    database = await model.seen()
    assert leaving not in database.voters
    assert len(database.voters) == 3
    assert database.redundancy == "double"


async def test_a_coordinator_stays_while_no_member_can_take_over_and_keeps_no_other_member() -> None:
    pools = [{"name": "storage", "processClass": "storage", "replicas": 5}]
    pools.append({"name": "stateless", "processClass": "stateless", "replicas": 5})
    model = await Model(cluster(pools)).made()
    for member in ("ledger-storage-3", "ledger-storage-4"):
        model.ensemble.end(model.addresses[member])
    await model.settle(900.0)
    voter, other = "ledger-storage-0", "ledger-stateless-4"
    missing = {"ledger-storage-3": 1.0, "ledger-storage-4": 1.0}
    await model.engine.exclude_voters(model.target(missing=missing), frozenset({voter}))
    await model.engine.drain(model.target(missing=missing), frozenset({voter, other}))
    database = await model.seen(missing=missing)
    assert voter in database.voters
    assert "coordinators cannot move away from ledger-storage-0" in database.unmovable[voter]
    assert database.draining == {other}


async def test_a_coordinator_is_not_excluded_while_no_other_member_can_be_it(model: Model) -> None:
    voter = "ledger-storage-0"
    voters = (await model.seen()).voters
    target = msgspec.structs.replace(model.target(), lasting=voters)
    await model.engine.drain(target, frozenset({voter, "ledger-stateless-1"}))
    await model.settle(60.0)
    database = await model.engine.observe(target)
    assert isinstance(database, Database)
    assert database.draining == {"ledger-stateless-1"}
    assert "coordinators cannot move away" in database.undrainable[voter]


async def test_a_member_that_holds_nothing_and_may_not_be_excluded_yet_has_a_reason(model: Model) -> None:
    assert (await model.seen()).undrainable == {}
    await model.engine.drain(model.target(), frozenset({"ledger-stateless-0", "ledger-stateless-1"}))
    database = await model.seen()
    assert database.draining == {"ledger-stateless-0"}
    assert database.undrainable["ledger-stateless-1"] == "the remaining members could not replace one more"


async def test_a_proof_that_a_crash_has_cut_short_is_reverted_by_the_next_check(model: Model) -> None:
    member = "ledger-storage-4"
    gone = model.addresses[member]
    model.ensemble.end(gone)
    await model.settle(900.0)
    await model.engine.drain(model.target(missing={member: 1.0}), frozenset({member}))
    await model.settle(900.0)
    run = model.run

    async def dies(pod: str, command: str, seconds: int) -> Printed:
        if command.startswith("include"):
            raise asyncio.CancelledError
        return await run(pod, command, seconds)

    model.run = dies
    with pytest.raises(asyncio.CancelledError):
        await model.engine.observe(model.target())
    model.run = run
    assert {gone, f"{MARK}{gone}"} <= set(await excluded(model))
    model.start(member, "storage", "z4")
    await run("bank/ledger-log-0-0", "exclude no_wait 10.9.9.9:4500", 10)
    await model.seen()
    await model.engine.drain(model.target(), frozenset())
    assert await excluded(model) == ["10.9.9.9:4500"], "a user's exclusion stays"


async def test_a_users_exclusion_by_address_stays_when_the_member_need_not_leave_any_more(model: Model) -> None:
    address = model.addresses[GONE]
    await model.run("bank/ledger-log-0-0", f"exclude no_wait {address}", 10)
    await model.engine.drain(model.target(), frozenset({GONE}))
    await model.settle(60.0)
    await model.engine.drain(model.target(), frozenset())
    assert await excluded(model) == [address]


async def test_a_users_exclusion_by_address_stays_after_a_proof_at_that_address(model: Model) -> None:
    address = model.addresses[GONE]
    await model.run("bank/ledger-log-0-0", f"exclude no_wait {address}", 10)
    model.ensemble.end(address)
    await model.settle(900.0)
    await model.engine.drain(model.target(missing={GONE: 1.0}), frozenset({GONE}))
    await model.settle(900.0)
    assert why(await model.seen()) is None
    assert await excluded(model) == [address, f"locality_instance_id:{GONE}"]


@pytest.mark.parametrize("name", ["ledger-errors-4", "error-storage-4", "error-error-0"])
def test_a_name_is_no_error(name: str) -> None:
    text = f"  locality_instance_id:{name}  ---- WARNING: Currently no servers found with this locality match!"
    assert judge(Printed(0, text))[0] is Outcome.MATCHES_NOBODY


@pytest.mark.parametrize("text", [FULL, "ERROR: 'x' is no address", "Fatal Error: internal", "Error: io_error (1510)"])
def test_what_the_command_line_calls_an_error_is_one_whatever_its_code(text: str) -> None:
    assert judge(Printed(0, f">>> exclude x\n{text}\n"))[0] is Outcome.REFUSED


GONE = "ledger-storage-4"


async def unaddressed(model: Model, *, after: float = 900.0) -> Database:
    """End an excluded storage server permanently, with an unknown address; return the observation."""
    began = model.now
    model.ensemble.end(model.addresses[GONE])
    await model.settle(30.0)
    await model.engine.drain(model.target(missing={GONE: 1.0}), frozenset({GONE}))
    await model.settle(after)
    return await model.seen(**forgotten(model, began))


def forgotten(model: Model, since: float) -> dict[str, Any]:
    known = {name: frozenset({address}) for name, address in model.addresses.items() if name != GONE}
    return {"known": known, "missing": {GONE: since}, "silent": {GONE: since}}


def why(database: Database) -> str | None:
    """Return why the member may not go, or None where it may."""
    return next((u.copies[0].why for u in database.units if u.name == f"data({GONE})"), None)


async def test_a_member_with_an_unknown_address_may_go_when_the_database_has_long_been_healthy_without_it(
    model: Model,
) -> None:
    assert why(await unaddressed(model)) is None
    assert not [c for c in model.commands if "stateward_proves" in c]


async def test_one_whose_address_another_member_has_by_now_may_go_in_the_same_way(
    model: Model,
) -> None:
    await unaddressed(model)
    model.addresses[GONE] = model.addresses["ledger-log-1"]
    assert why(await model.seen(missing={GONE: 1.0}, silent={GONE: 1.0})) is None


async def test_a_member_with_an_unknown_address_stays_while_it_may_be_on_its_way_back(
    model: Model,
) -> None:
    found = why(await unaddressed(model, after=200.0))
    assert found is not None
    assert "the address of ledger-storage-4 is not known" in found
    assert "healthy without it for 300 s" in found
    assert ", and neither is the time since which it has been unavailable" in (
        why(await model.seen(**{**forgotten(model, 1.0), "silent": {}})) or ""
    )


async def test_a_member_with_an_unknown_address_stays_while_the_database_misses_a_storage_server(
    model: Model,
) -> None:
    await unaddressed(model)
    model.ensemble.end(model.addresses["ledger-storage-3"])
    assert model.ensemble.cluster is not None
    model.ensemble.cluster.timing = Timing(moving=2.0**18)
    await model.settle(model.ensemble.timing.patience + 1)
    found = why(await model.seen(**forgotten(model, 1.0)))
    assert found is not None
    assert "replicated" in found or "1 of its storage servers" in found


async def test_a_member_with_an_unknown_address_stays_while_its_zone_is_in_maintenance(model: Model) -> None:
    """It has data, which the database does not miss before the maintenance ends."""
    await model.run("bank/any", "maintenance on z4 3600", 10)
    found = await unaddressed(model)
    held = {store for shard in state(model).shards for store in shard.holders}
    assert any(state(model).servers[store].address == model.addresses[GONE] for store in held)
    assert "zone z4 is in maintenance, and the database does not report what is missing there" in (why(found) or "")


@pytest.mark.parametrize("after", [5.0, 400.0])
async def test_a_member_with_an_unknown_address_stays_until_losses_count_again_after_a_maintenance(
    model: Model, after: float
) -> None:
    """It has data, which the database misses only a minute after the end of the maintenance."""
    assert model.ensemble.cluster is not None
    model.ensemble.cluster.timing = Timing(patience=60.0)
    await model.run("bank/any", "maintenance on z4 3600", 10)
    await unaddressed(model)
    await model.run("bank/any", "maintenance off", 10)
    end = model.now
    await model.settle(after)
    found = why(await model.seen(**forgotten(model, 1.0), maintenance_end=end))
    assert found is None if after > SETTLING else f"healthy without it for {SETTLING:.0f} s" in (found or "")
    on_record = why(await model.seen(**forgotten(model, 1.0), maintenance_end=inf))
    assert "the address of ledger-storage-4 is not known" in (on_record or "")


def state(model: Model) -> State:
    assert model.ensemble.cluster is not None
    return model.ensemble.cluster.state


@pytest.mark.parametrize("earlier", ["10.9.9.9:4500", ""])
async def test_a_member_in_a_new_pod_is_not_proved_empty_by_the_address_of_that_pod_alone(
    model: Model, earlier: str
) -> None:
    """Its process has not joined from there, so all of its data is where it was last in the database."""
    await unaddressed(model)
    known = {**forgotten(model, 1.0)["known"], GONE: frozenset({"10.9.9.10:4500"})}
    places = {GONE: frozenset({earlier} if earlier else ())}
    model.commands.clear()
    found = why(await model.seen(known=known, earlier=places))
    proofs = [c for c in model.commands if c.startswith("exclude") and "stateward_proves" not in c]
    assert proofs == (["exclude 10.9.9.10:4500 10.9.9.9:4500"] if earlier else [])
    assert (found or "").startswith("" if earlier else f"the address of {GONE} is not known")
    if not earlier:
        assert found


async def test_a_member_whose_processes_are_not_all_there_is_proved_empty_with_those_that_are_missing(
    model: Model,
) -> None:
    """One of its two processes had crashed with data, and the other one was empty: the member counted as empty."""
    await model.engine.drain(model.target(), frozenset({GONE}))
    await model.settle(900.0)
    first = model.addresses[GONE]
    known = {name: frozenset({address}) for name, address in model.addresses.items()}
    known[GONE] = frozenset({first, "10.9.9.9:4501"})
    model.commands.clear()
    await model.seen(known=known, processes={**dict.fromkeys(known, 1), GONE: 2})
    assert "exclude 10.9.9.9:4501" in model.commands


TEAM: dict[str, Any] = {
    "primary": True,
    "unhealthy_servers": 0,
    "state": {"healthy": True, "min_replicas_remaining": 2},
}
WHOLE: dict[str, Any] = {
    "client": {"database_status": {"available": True}},
    "cluster": {
        "messages": [],
        "processes": {},
        "recovery_state": {"name": "fully_recovered", "active_generations": 1},
        "full_replication": True,
        "data": {"team_trackers": [TEAM]},
        "logs": [{"current": True, "log_fault_tolerance": 1, "log_replication_factor": 2}],
    },
}


def told(**team: Any) -> str | None:
    state = {**TEAM["state"], **team.pop("state", {})}
    data = {"team_trackers": [{**TEAM, **team, "state": state}]}
    return missing_data_problem(msgspec.convert({**WHOLE, "cluster": {**WHOLE["cluster"], "data": data}}, Status), 2)


def test_what_the_database_misses_in_a_zone_in_maintenance_is_not_known() -> None:
    """It counts no server of that zone as missing: the data on one that was lost was taken for copied elsewhere."""
    cluster = {**WHOLE["cluster"], "maintenance_zone": "z4", "maintenance_seconds_remaining": 7200.0}
    found = missing_data_problem(msgspec.convert({**WHOLE, "cluster": cluster}, Status), 2)
    assert found == "zone z4 is in maintenance, and the database does not report what is missing there"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("data_distribution_disabled", "data distribution is off"),
        ("data_distribution_disabled_for_ss_failures", "the database counts no storage server as failed"),
    ],
)
def test_what_the_database_misses_is_not_known_while_it_does_not_look(field: str, said: str) -> None:
    """It then reports all teams as healthy and no server as missing, whatever has been lost."""
    assert told() is None
    found = msgspec.convert({**WHOLE, "cluster": {**WHOLE["cluster"], field: True}}, Status)
    assert said in (replication_problem(found) or "")
    assert said in (missing_data_problem(found, 2) or "")
    silent = msgspec.convert({**WHOLE, "cluster": {**WHOLE["cluster"], "data": {}, field: True}}, Status)
    assert said in (replication_problem(silent) or "")


async def test_a_member_with_an_unknown_address_stays_while_data_distribution_is_off(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is reported as healthy then, and nothing as missing."""
    assert why(await unaddressed(model)) is None
    run = model.run

    async def off(pod: str, command: str, seconds: int) -> Printed:
        printed = await run(pod, command, seconds)
        if command != "status json":
            return printed
        document = msgspec.json.decode(printed.output)
        document["cluster"]["data_distribution_disabled"] = True
        return Printed(printed.code, msgspec.json.encode(document).decode())

    monkeypatch.setattr(model, "run", off)
    found = await model.seen(**forgotten(model, 1.0))
    assert "data distribution is off" in (why(found) or "")
    assert found.health is Health.YELLOW


def test_what_the_database_does_not_say_is_not_whole() -> None:
    assert told() is None
    assert told(unhealthy_servers=None) == "the database does not report whether a storage server is missing"
    assert (
        told(state={"min_replicas_remaining": None}) == "the database does not report whether a storage"
        " server is missing"
    )
    assert told(unhealthy_servers=2) == "2 of its storage servers are missing or being emptied"
    assert told(state={"min_replicas_remaining": 1}) == "some data has only 1 replicas"
    assert told(state={"healthy": False}) is not None
