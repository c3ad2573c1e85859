"""The model begins as the driver reads a database: it answers the driver with the same."""

from msgspec.structs import replace

from stateward.planning.model.observation import Database, Observation
from stateward.simulation.rehearsal.foundationdb.rules import FoundationRules
from stateward.simulation.rehearsal.rehearsal import Rehearsal, one_run
from tests.unit.engines import foundationdb_model
from tests.unit.simulation.rehearsal.foundationdb.samples import START, USUAL, cluster, running


async def observed(redundancy: str) -> Observation:
    """Return the sample with the database as the driver reads it from the stand-in's model."""
    database = await (await foundationdb_model.Model(foundationdb_model.cluster(redundancy=redundancy)).made()).seen()
    start = running(redundancy)
    here = tuple(m for m in start.members if m.name in database.nodes)
    versions = {
        name: replace(record, version="7.1.67") for name, record in start.records.items() if name in database.nodes
    }
    members = tuple(replace(m, pod=replace(m.pod, version="7.1.67") if m.pod else None) for m in here)
    return replace(start, members=members, records=versions, database=database)


async def test_the_model_reports_what_the_database_reported() -> None:
    for redundancy in ("double", "triple"):
        start = await observed(redundancy)
        before = start.database
        assert isinstance(before, Database)
        rules = FoundationRules(cluster(version="7.1.67", redundancy=redundancy))
        assert rules.known(start)
        after = rules.world(start, START, USUAL).observation().database
        assert isinstance(after, Database)
        assert after.nodes.keys() == before.nodes.keys()
        for name, node in before.nodes.items():
            assert (after.nodes[name].version, after.nodes[name].voting) == (node.version, node.voting)
            assert node.duties is not None
            duties = after.nodes[name].duties
            assert duties is not None
            assert (duties.kind, duties.domain) == (node.duties.kind, node.duties.domain)
            assert duties.roles == node.duties.roles
        assert (after.redundancy, after.voters, after.health) == (before.redundancy, before.voters, before.health)
        assert (after.tolerance, after.draining) == (before.tolerance, before.draining)
        assert {unit.name for unit in after.units} == {unit.name for unit in before.units}
        stored = [
            sum((n.duties.stored or 0) if n.duties else 0 for n in each.nodes.values()) for each in (before, after)
        ]
        assert abs(stored[1] - stored[0]) < stored[0] * 0.2


async def test_a_database_as_the_driver_reads_it_is_played() -> None:
    start = await observed("double")
    rules = FoundationRules(cluster(version="7.1.67"))
    run = one_run(Rehearsal(start, START, USUAL, rules=rules), 1)
    assert (run.outcome.red.times, run.outcome.lost) == (0, 0)
