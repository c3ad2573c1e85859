"""The driver of FoundationDB, before the model of the database."""

import json

import msgspec
import pytest

from stateward.api.kinds.foundationdb import Redundancy
from stateward.engines.connection.base import RefusedError
from stateward.engines.foundationdb.database.driver import FoundationEngine
from stateward.planning.model.observation import Allocation, CopyState, Database, Health, Unformed, Unknown
from tests.unit.engines.foundationdb_model import Model, SilentShell, cluster


@pytest.fixture(params=[None, {"enabled": True}], ids=["plain", "TLS"])
def model(request: pytest.FixtureRequest) -> Model:
    return Model(cluster(security=request.param))


async def test_only_a_database_that_says_that_it_is_not_there_is_made(model: Model) -> None:
    assert isinstance(await model.engine.observe(model.target()), Unformed)
    await model.made()
    database = await model.seen()
    assert database.health is Health.GREEN
    assert database.identity == "bank_ledger_01234567"
    assert len(database.nodes) == 11
    assert database.voters == {f"ledger-storage-{i}" for i in range(3)}
    with pytest.raises(RefusedError, match="does not report"):
        await model.engine.create_database(model.target())
    assert not [c for c in model.commands if c.startswith("configure")]


@pytest.fixture
def silent() -> Model:
    """A cluster of a version that reports nothing of a database that is not available."""
    return Model(cluster(version="7.3.63"), version="7.3.63")


async def test_a_database_that_reports_nothing_was_perhaps_never_made_and_can_be_made(silent: Model) -> None:
    before = silent.now
    found = await silent.engine.observe(silent.target())
    assert isinstance(found, Unformed)
    assert not found.certain
    assert silent.now - before >= 30, "the status waits for the database"
    await silent.made()
    assert (await silent.seen()).health is Health.GREEN
    with pytest.raises(RefusedError, match="does not report"):
        await silent.engine.create_database(silent.target())


async def test_a_database_that_is_down_reports_the_same_and_refuses_to_be_made_again(silent: Model) -> None:
    await silent.made()
    for log in range(3):
        silent.ensemble.end(silent.addresses[f"ledger-log-{log}"])
    await silent.settle(20.0)
    found = await silent.engine.observe(silent.target())
    assert isinstance(found, Unformed)
    assert not found.certain
    with pytest.raises(RefusedError, match="timed out"):
        await silent.engine.create_database(silent.target())
    for log in range(3):
        silent.start(f"ledger-log-{log}", "log", f"z{log}", silent.addresses[f"ledger-log-{log}"])
    assert (await silent.seen()).health is Health.GREEN
    assert "already exists" in (await silent.run("bank/any", "configure new double ssd-2", 10)).output


async def test_without_a_majority_of_coordinators_nothing_is_made(silent: Model) -> None:
    for number in range(2):
        silent.ensemble.end(silent.addresses[f"ledger-storage-{number}"])
    found = await silent.engine.observe(silent.target())
    assert type(found) is Unknown
    with pytest.raises(RefusedError, match="does not report"):
        await silent.engine.create_database(silent.target())
    assert not [c for c in silent.commands if c.startswith("configure")]


async def test_what_cannot_be_asked_is_unknown_and_is_never_made() -> None:
    model, engine = Model(cluster()), FoundationEngine(SilentShell())
    found = await engine.observe(model.target())
    assert type(found) is Unknown
    with pytest.raises(Exception, match="no route"):
        await engine.create_database(model.target())


async def test_another_database_at_the_same_place_is_not_this_one(model: Model) -> None:
    await model.made()
    other = model.of
    model.of = type(other)(
        metadata=type(other.metadata)(name="ledger", namespace="bank", uid="another"), spec=other.spec
    )
    found = await model.engine.observe(model.target())
    assert isinstance(found, Unknown)
    assert "another database answers" in found.why


async def test_a_member_that_leaves_is_empty_only_when_a_blocking_exclude_reports_it(
    model: Model,
) -> None:
    await model.made()
    await model.engine.drain(model.target(), frozenset({"ledger-storage-4"}))
    assert "exclude no_wait locality_instance_id:ledger-storage-4" in model.commands
    database = await model.engine.observe(model.target())
    assert isinstance(database, Database)
    assert database.draining == {"ledger-storage-4"}
    unit = next(u for u in database.units if u.name == "data(ledger-storage-4)")
    assert unit.copies[0].state is CopyState.RELOCATING
    await model.settle(600.0)
    model.commands.clear()
    database = await model.seen()
    assert "data(ledger-storage-4)" not in {u.name for u in database.units}
    assert "exclude locality_instance_id:ledger-storage-4" in model.commands


async def test_readers_without_a_proof_of_identity_are_answered(model: Model) -> None:
    await model.made()
    await model.engine.drain(model.target(), frozenset({"ledger-storage-4"}))
    model.ensemble.end(model.addresses["ledger-log-3"])
    await model.settle(900.0)
    await model.engine.drain(
        model.target(missing={"ledger-log-3": 1.0}), frozenset({"ledger-storage-4", "ledger-log-3"})
    )
    await model.settle(900.0)
    model.commands.clear()
    database = await model.seen(proves=False)
    assert set(model.commands) == {"status json"}
    assert {"data(ledger-storage-4)", "data(ledger-log-3)"} <= {u.name for u in database.units}


async def test_what_does_not_leave_any_more_is_included_again(model: Model) -> None:
    await model.made()
    await model.engine.drain(model.target(), frozenset({"ledger-log-0"}))
    assert (await model.seen()).draining == {"ledger-log-0"}
    await model.engine.drain(model.target(), frozenset())
    assert (await model.seen()).draining == frozenset()
    assert "include locality_instance_id:ledger-log-0" in model.commands


async def test_coordinators_move_away_before_their_member_is_excluded(model: Model) -> None:
    await model.made()
    await model.engine.drain(model.target(), frozenset({"ledger-storage-0"}))
    told = [c.split()[0] for c in model.commands if not c.startswith("status")]
    assert told == ["coordinators", "exclude"]
    database = await model.seen()
    assert "ledger-storage-0" not in database.voters
    assert len(database.voters) == 3
    assert "ledger-storage-0-0.ledger-members.bank.svc" not in database.connection


async def test_no_member_is_excluded_while_another_member_may_be_on_its_way_back(model: Model) -> None:
    await model.made()
    model.ensemble.end(model.addresses["ledger-log-3"])
    await model.settle(30.0)
    missing = {"ledger-log-3": model.now - 30.0}
    await model.engine.drain(model.target(missing=missing), frozenset({"ledger-storage-4"}))
    database = await model.seen(missing=missing)
    assert database.draining == frozenset()
    (held,) = (c for u in database.units for c in u.copies if c.member == "ledger-storage-4")
    assert "ledger-log-3 has been missing" in held.why
    await model.settle(600.0)
    await model.engine.drain(model.target(missing={"ledger-log-3": model.now - 630.0}), frozenset({"ledger-storage-4"}))
    assert (await model.seen()).draining == {"ledger-storage-4"}


async def test_no_more_are_excluded_than_the_others_can_take_over_from(model: Model) -> None:
    await model.made()
    leaving = frozenset({"ledger-storage-2", "ledger-storage-3", "ledger-storage-4"})
    await model.engine.drain(model.target(), leaving)
    assert len((await model.seen()).draining) == 1


async def test_a_member_without_a_process_is_proved_by_its_last_known_address(model: Model) -> None:
    await model.made()
    gone = model.addresses["ledger-storage-4"].removesuffix(":tls")
    model.ensemble.end(model.addresses["ledger-storage-4"])
    await model.settle(900.0)
    await model.engine.drain(model.target(missing={"ledger-storage-4": 1.0}), frozenset({"ledger-storage-4"}))
    await model.settle(900.0)
    assert "data(ledger-storage-4)" not in {u.name for u in (await model.seen()).units}
    proof = model.commands.index(f"exclude {gone}")
    assert model.commands[proof - 1] == f"exclude no_wait locality_stateward_proves:{gone}"
    assert model.commands[proof + 1] == f"include {gone}", "the address may be another pod's next"
    assert model.commands[proof + 2] == f"include locality_stateward_proves:{gone}"
    known = {name: frozenset({address}) for name, address in model.addresses.items() if name != "ledger-storage-4"}
    assert "data(ledger-storage-4)" in {u.name for u in (await model.seen(known=known)).units}


async def test_an_address_that_another_member_has_by_now_proves_nothing_and_is_not_excluded(
    model: Model,
) -> None:
    await model.made()
    model.ensemble.end(model.addresses["ledger-storage-4"])
    await model.settle(900.0)
    model.addresses["ledger-storage-4"] = model.addresses["ledger-log-1"]
    target = model.target(missing={"ledger-storage-4": 1.0})
    await model.engine.drain(target, frozenset({"ledger-storage-4"}))
    await model.settle(900.0)
    model.commands.clear()
    assert "data(ledger-storage-4)" in {u.name for u in (await model.seen()).units}
    assert all(command.startswith("status") for command in model.commands)


async def test_the_redundancy_that_is_wanted_is_reported(model: Model) -> None:
    await model.made()
    assert (await model.seen()).pending_settings == ""
    security = model.of.spec.security
    model.of = cluster(redundancy="triple", pools=[{"name": "storage", "processClass": "storage", "replicas": 5}])
    model.of = msgspec.structs.replace(model.of, spec=msgspec.structs.replace(model.of.spec, security=security))
    assert "triple is desired" in (await model.seen()).pending_settings
    await model.engine.configure(model.target())
    assert "configure triple" in model.commands


async def test_a_coordinator_that_stays_away_is_replaced_and_never_by_fewer(model: Model) -> None:
    await model.made()
    model.ensemble.end(model.addresses["ledger-storage-0"])
    await model.settle(60.0)
    assert "coordinators" in (await model.seen()).pending_settings
    await model.engine.configure(model.target())
    assert (await model.seen()).pending_settings == ""
    assert len((await model.seen()).voters) == 3


async def lose_a_coordinator(model: Model, refused: Redundancy) -> None:
    """Ask for a redundancy that the database refuses, and end a process with a coordinator."""
    spec = msgspec.structs.replace(model.of.spec, redundancy=refused)
    model.of, model.refuses = msgspec.structs.replace(model.of, spec=spec), f"configure {refused.value}"
    model.ensemble.end(model.addresses["ledger-storage-0"])
    await model.settle(60.0)


async def test_a_coordinator_that_stays_away_is_replaced_while_the_database_refuses_another_redundancy(
    model: Model,
) -> None:
    """With too few machines for `triple`, one coordinator is lost after the other, until there is no majority."""
    await model.made()
    await lose_a_coordinator(model, Redundancy.TRIPLE)
    assert "triple is desired; its coordinators are" in (await model.seen()).pending_settings
    with pytest.raises(RefusedError, match="does not want to"):
        await model.engine.configure(model.target())
    database = await model.seen()
    assert "ledger-storage-0" not in database.voters
    assert len(database.voters) == 5
    assert database.redundancy == "double"


async def test_no_coordinators_are_given_up_for_a_lower_redundancy_that_the_database_refuses(model: Model) -> None:
    """The disaster this prevents: one coordinator is left of a database with two copies, and its machine is lost."""
    await model.made()
    await lose_a_coordinator(model, Redundancy.SINGLE)
    with pytest.raises(RefusedError, match="does not want to"):
        await model.engine.configure(model.target())
    database = await model.seen()
    assert "ledger-storage-0" not in database.voters
    assert len(database.voters) == 3
    assert database.redundancy == "double"


async def test_members_with_too_few_processes_do_not_serve(model: Model) -> None:
    await model.made()
    database = await model.seen(processes={"ledger-log-0": 2})
    assert "ledger-log-0" not in database.nodes
    assert "ledger-log-1" in database.nodes
    version = database.nodes["ledger-log-1"].version
    assert database.partial == {"ledger-log-0": version}, "it may hold data"


async def test_the_zone_of_a_member_that_goes_down_for_a_moment_is_in_maintenance_until_it_is_lifted(
    model: Model,
) -> None:
    await model.made()
    await model.engine.limit_allocation(model.target(), Allocation.PRIMARIES, frozenset({"ledger-storage-4"}))
    assert "maintenance on z4 300" in model.commands
    database = await model.seen(domains={"ledger-log-9": "z4"})
    assert database.limited
    assert (database.maintenance, database.maintained) == ("z4", {"ledger-storage-4", "ledger-log-9"})
    await model.engine.restore_allocation(model.target())
    assert not (await model.seen()).maintenance
    model.commands.clear()
    await model.engine.restore_allocation(model.target())
    assert set(model.commands) == {"status json"}


async def test_members_of_several_zones_and_of_none_put_nothing_into_maintenance(model: Model) -> None:
    await model.made()
    for members in (frozenset[str](), frozenset({"ledger-storage-1", "ledger-storage-2"}), frozenset({"nobody"})):
        await model.engine.limit_allocation(model.target(), Allocation.PRIMARIES, members)
    assert not (await model.seen()).maintenance


async def test_the_maintenance_that_a_user_has_begun_is_left_alone(model: Model) -> None:
    await model.made()
    await model.run("bank/any", "maintenance on z1 3600", 10)
    assert not (await model.seen()).limited
    await model.engine.restore_allocation(model.target())
    with pytest.raises(RefusedError, match="z1 is in maintenance"):
        await model.engine.limit_allocation(model.target(), Allocation.PRIMARIES, frozenset({"ledger-storage-4"}))
    await model.engine.limit_allocation(model.target(), Allocation.PRIMARIES, frozenset({"ledger-storage-1"}))
    assert (await model.seen()).maintenance == "z1"
    assert [c for c in model.commands if c.startswith("maintenance")] == ["maintenance on z1 3600"]


async def test_a_pod_whose_programs_the_database_does_not_talk_to_is_not_believed(
    model: Model,
) -> None:
    await model.made()
    pods = ("bank/ledger-storage-0-0", "bank/ledger-storage-1-0")
    model.strange = {pods[0]}
    found = await model.engine.observe(msgspec.structs.replace(model.target(), endpoints=pods))
    assert isinstance(found, Database)
    model.strange = set(pods)
    assert isinstance(await model.engine.observe(msgspec.structs.replace(model.target(), endpoints=pods)), Unknown)


async def lonely(model: Model) -> dict[str, dict[str, float]]:
    """Let a member leave whose process is gone; return the facts of the target."""
    await model.made()
    model.ensemble.end(model.addresses["ledger-storage-4"])
    await model.settle(900.0)
    facts = {"missing": {"ledger-storage-4": 1.0}}
    await model.engine.drain(model.target(**facts), frozenset({"ledger-storage-4"}))
    await model.settle(900.0)
    return facts


@pytest.mark.parametrize("refused", ["exclude no_wait locality_stateward_proves:", "exclude 10.", "include 10."])
async def test_a_refused_proof_hides_nothing_but_what_it_should_have_proved(model: Model, refused: str) -> None:
    facts = await lonely(model)
    model.refuses = refused
    database = await model.seen(**facts)
    assert len(database.nodes) == 10
    assert "does not want to" in database.unproved["ledger-storage-4"]
    assert "data(ledger-storage-4)" in {u.name for u in database.units}
    model.refuses = ""
    database = await model.seen(**facts)
    assert database.unproved == {}
    assert "data(ledger-storage-4)" not in {u.name for u in database.units}
    excluded = json.loads((await model.run("bank/any", "status json", 10)).output)["cluster"]["configuration"]
    assert excluded["excluded_servers"] == [{"locality": "locality_instance_id:ledger-storage-4"}]


async def test_a_refused_proof_of_a_member_that_runs_is_told_too(model: Model) -> None:
    await model.made()
    await model.engine.drain(model.target(), frozenset({"ledger-storage-4"}))
    await model.settle(600.0)
    model.refuses = "exclude locality_"
    database = await model.seen()
    assert "does not want to" in database.unproved["ledger-storage-4"]
    assert "data(ledger-storage-4)" in {u.name for u in database.units}


async def test_no_answer_is_awaited_for_long_while_all_processes_restart_together(silent: Model) -> None:
    await silent.made()
    for log in range(3):
        silent.ensemble.end(silent.addresses[f"ledger-log-{log}"])
    await silent.settle(20.0)
    before = silent.now
    several = tuple(f"bank/ledger-storage-{i}-0" for i in range(3))
    found = await silent.engine.observe(msgspec.structs.replace(silent.target(), endpoints=several, all_down=True))
    assert isinstance(found, Unknown)
    assert silent.now - before <= 6, "the processes are started again after this answer"


GONE = ": 2 of its 3 coordinators do not exist (ledger-storage-1, ledger-storage-2)"
REPAIR = "delete Secret ledger-cluster-file, and then all pods of the cluster: the operator then chooses others"


@pytest.mark.parametrize(
    ("there", "formed", "ending"),
    [
        (2, False, ""),
        (
            1,
            False,
            f"{GONE}; if it was never created, {REPAIR}",
        ),
        (1, True, GONE),
    ],
)
async def test_a_database_whose_coordinators_do_not_exist_is_told_with_what_a_person_can_do(
    there: int, formed: bool, ending: str
) -> None:
    """Their pool was renamed before they had run, for example. They do not come, however long the operator waits."""
    of = cluster()
    if formed:
        status = msgspec.convert({**msgspec.to_builtins(of.status), "clusterUUID": "x"}, type(of.status))
        of = msgspec.structs.replace(of, status=status)
    model = Model(of, members=False)
    for i in range(there):
        model.start(f"ledger-storage-{i}", "storage", f"z{i}")
    found = await model.engine.observe(model.target())
    text = "never created" if there == 2 else f"the database is not available (recovery: not known){ending}"
    assert isinstance(found, Unknown)
    assert text in found.why
