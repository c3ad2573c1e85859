"""The driver of FoundationDB, before the model of the database."""

import msgspec
import pytest

from stateward.engines.connection.base import RefusedError
from stateward.engines.foundationdb.database.driver import FoundationEngine
from stateward.planning.model.observation import Allocation, CopyState, Database, Health, Unformed, Unknown
from tests.unit.engines.foundationdb_town import Nobody, Town, cluster


@pytest.fixture(params=[None, {"enabled": True}], ids=["plain", "TLS"])
def town(request: pytest.FixtureRequest) -> Town:
    return Town(cluster(security=request.param))


async def test_only_a_database_that_says_that_it_is_not_there_is_made(town: Town) -> None:
    assert isinstance(await town.engine.observe(town.target()), Unformed)
    await town.made()
    database = await town.seen()
    assert database.health is Health.GREEN
    assert database.identity == "bank_ledger_01234567"
    assert len(database.nodes) == 11
    assert database.voters == {f"ledger-storage-{i}" for i in range(3)}
    with pytest.raises(RefusedError, match="does not report"):
        await town.engine.create_database(town.target())
    assert not [c for c in town.commands if c.startswith("configure")]


async def test_what_cannot_be_asked_is_unknown_and_is_never_made() -> None:
    town, engine = Town(cluster()), FoundationEngine(Nobody())
    found = await engine.observe(town.target())
    assert type(found) is Unknown
    with pytest.raises(Exception, match="no route"):
        await engine.create_database(town.target())


async def test_another_database_at_the_same_place_is_not_this_one(town: Town) -> None:
    await town.made()
    other = town.of
    town.of = type(other)(
        metadata=type(other.metadata)(name="ledger", namespace="bank", uid="another"), spec=other.spec
    )
    found = await town.engine.observe(town.target())
    assert isinstance(found, Unknown)
    assert "another database answers" in found.why


async def test_a_member_that_leaves_is_empty_only_when_a_blocking_exclude_says_so(town: Town) -> None:
    await town.made()
    await town.engine.drain(town.target(), frozenset({"ledger-storage-4"}))
    assert "exclude no_wait locality_instance_id:ledger-storage-4" in town.commands
    database = await town.engine.observe(town.target())
    assert isinstance(database, Database)
    assert database.draining == {"ledger-storage-4"}
    unit = next(u for u in database.units if u.name == "data(ledger-storage-4)")
    assert unit.copies[0].state is CopyState.RELOCATING
    await town.settle(600.0)
    town.commands.clear()
    database = await town.seen()
    assert "data(ledger-storage-4)" not in {u.name for u in database.units}
    assert "exclude locality_instance_id:ledger-storage-4" in town.commands


async def test_those_who_only_look_prove_nothing_and_are_answered_all_the_same(town: Town) -> None:
    await town.made()
    await town.engine.drain(town.target(), frozenset({"ledger-storage-4"}))
    town.ensemble.end(town.addresses["ledger-log-3"])
    await town.settle(900.0)
    await town.engine.drain(town.target(missing={"ledger-log-3": 1.0}), frozenset({"ledger-storage-4", "ledger-log-3"}))
    await town.settle(900.0)
    town.commands.clear()
    database = await town.seen(proves=False)
    assert set(town.commands) == {"status json"}
    assert {"data(ledger-storage-4)", "data(ledger-log-3)"} <= {u.name for u in database.units}


async def test_what_does_not_leave_any_more_is_included_again(town: Town) -> None:
    await town.made()
    await town.engine.drain(town.target(), frozenset({"ledger-log-0"}))
    assert (await town.seen()).draining == {"ledger-log-0"}
    await town.engine.drain(town.target(), frozenset())
    assert (await town.seen()).draining == frozenset()
    assert "include locality_instance_id:ledger-log-0" in town.commands


async def test_coordinators_move_away_before_their_member_is_excluded(town: Town) -> None:
    await town.made()
    await town.engine.drain(town.target(), frozenset({"ledger-storage-0"}))
    told = [c.split()[0] for c in town.commands if not c.startswith("status")]
    assert told == ["coordinators", "exclude"]
    database = await town.seen()
    assert "ledger-storage-0" not in database.voters
    assert len(database.voters) == 3
    assert "ledger-storage-0-0.ledger-members.bank.svc" not in database.connection


async def test_nobody_is_excluded_while_another_member_may_be_on_its_way_back(town: Town) -> None:
    await town.made()
    town.ensemble.end(town.addresses["ledger-log-3"])
    await town.settle(30.0)
    missing = {"ledger-log-3": town.now - 30.0}
    await town.engine.drain(town.target(missing=missing), frozenset({"ledger-storage-4"}))
    database = await town.seen(missing=missing)
    assert database.draining == frozenset()
    (held,) = (c for u in database.units for c in u.copies if c.member == "ledger-storage-4")
    assert "ledger-log-3 has been missing" in held.why
    await town.settle(600.0)
    await town.engine.drain(town.target(missing={"ledger-log-3": town.now - 630.0}), frozenset({"ledger-storage-4"}))
    assert (await town.seen()).draining == {"ledger-storage-4"}


async def test_no_more_are_excluded_than_the_others_can_take_over_from(town: Town) -> None:
    await town.made()
    leaving = frozenset({"ledger-storage-2", "ledger-storage-3", "ledger-storage-4"})
    await town.engine.drain(town.target(), leaving)
    assert len((await town.seen()).draining) == 1


async def test_a_member_without_a_process_is_proved_by_its_last_known_address(town: Town) -> None:
    await town.made()
    gone = town.addresses["ledger-storage-4"].removesuffix(":tls")
    town.ensemble.end(town.addresses["ledger-storage-4"])
    await town.settle(900.0)
    await town.engine.drain(town.target(missing={"ledger-storage-4": 1.0}), frozenset({"ledger-storage-4"}))
    await town.settle(900.0)
    assert "data(ledger-storage-4)" not in {u.name for u in (await town.seen()).units}
    proof = town.commands.index(f"exclude {gone}")
    assert town.commands[proof - 1] == f"exclude no_wait locality_stateward_proves:{gone}"
    assert town.commands[proof + 1] == f"include {gone}", "the address may be another pod's next"
    assert town.commands[proof + 2] == f"include locality_stateward_proves:{gone}"
    known = {name: frozenset({address}) for name, address in town.addresses.items() if name != "ledger-storage-4"}
    assert "data(ledger-storage-4)" in {u.name for u in (await town.seen(known=known)).units}


async def test_an_address_that_another_member_has_by_now_proves_nothing_and_is_not_excluded(town: Town) -> None:
    await town.made()
    town.ensemble.end(town.addresses["ledger-storage-4"])
    await town.settle(900.0)
    town.addresses["ledger-storage-4"] = town.addresses["ledger-log-1"]
    target = town.target(missing={"ledger-storage-4": 1.0})
    await town.engine.drain(target, frozenset({"ledger-storage-4"}))
    await town.settle(900.0)
    town.commands.clear()
    assert "data(ledger-storage-4)" in {u.name for u in (await town.seen()).units}
    assert all(command.startswith("status") for command in town.commands)


async def test_the_redundancy_that_is_wanted_is_told(town: Town) -> None:
    await town.made()
    assert (await town.seen()).pending_settings == ""
    security = town.of.spec.security
    town.of = cluster(redundancy="triple", pools=[{"name": "storage", "processClass": "storage", "replicas": 5}])
    town.of = msgspec.structs.replace(town.of, spec=msgspec.structs.replace(town.of.spec, security=security))
    assert "triple is desired" in (await town.seen()).pending_settings
    await town.engine.configure(town.target())
    assert "configure triple" in town.commands


async def test_a_coordinator_that_stays_away_is_replaced_and_never_by_fewer(town: Town) -> None:
    await town.made()
    town.ensemble.end(town.addresses["ledger-storage-0"])
    await town.settle(60.0)
    assert "coordinators" in (await town.seen()).pending_settings
    await town.engine.configure(town.target())
    assert (await town.seen()).pending_settings == ""
    assert len((await town.seen()).voters) == 3


async def test_members_with_too_few_processes_do_not_serve(town: Town) -> None:
    await town.made()
    database = await town.seen(processes={"ledger-log-0": 2})
    assert "ledger-log-0" not in database.nodes
    assert "ledger-log-1" in database.nodes


async def test_the_zone_of_a_member_that_goes_down_for_a_moment_is_in_maintenance_until_it_is_lifted(
    town: Town,
) -> None:
    await town.made()
    await town.engine.limit_allocation(town.target(), Allocation.PRIMARIES, frozenset({"ledger-storage-4"}))
    assert "maintenance on z4 300" in town.commands
    database = await town.seen(domains={"ledger-log-9": "z4"})
    assert database.limited
    assert (database.maintenance, database.maintained) == ("z4", {"ledger-storage-4", "ledger-log-9"})
    await town.engine.restore_allocation(town.target())
    assert not (await town.seen()).maintenance
    town.commands.clear()
    await town.engine.restore_allocation(town.target())
    assert set(town.commands) == {"status json"}


async def test_members_of_several_zones_and_of_none_put_nothing_into_maintenance(town: Town) -> None:
    await town.made()
    for members in (frozenset[str](), frozenset({"ledger-storage-1", "ledger-storage-2"}), frozenset({"nobody"})):
        await town.engine.limit_allocation(town.target(), Allocation.PRIMARIES, members)
    assert not (await town.seen()).maintenance


async def test_the_maintenance_that_a_person_has_begun_is_left_alone(town: Town) -> None:
    await town.made()
    await town.run("bank/any", "maintenance on z1 3600", 10)
    assert not (await town.seen()).limited
    await town.engine.restore_allocation(town.target())
    with pytest.raises(RefusedError, match="z1 is in maintenance"):
        await town.engine.limit_allocation(town.target(), Allocation.PRIMARIES, frozenset({"ledger-storage-4"}))
    await town.engine.limit_allocation(town.target(), Allocation.PRIMARIES, frozenset({"ledger-storage-1"}))
    assert (await town.seen()).maintenance == "z1"
    assert [c for c in town.commands if c.startswith("maintenance")] == ["maintenance on z1 3600"]


async def test_a_pod_whose_programs_the_database_does_not_talk_to_is_not_believed(town: Town) -> None:
    await town.made()
    pods = ("bank/ledger-storage-0-0", "bank/ledger-storage-1-0")
    town.strange = {pods[0]}
    found = await town.engine.observe(msgspec.structs.replace(town.target(), endpoints=pods))
    assert isinstance(found, Database)
    town.strange = set(pods)
    assert isinstance(await town.engine.observe(msgspec.structs.replace(town.target(), endpoints=pods)), Unknown)
