"""Which members the cluster depends on: those that have joined, and those that may hold data."""

import pytest
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.facts.facts import derive
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.report.status import status
from tests.unit.planning.world import gateway, hot, managers, settled

NAME = "c-hot-1"
NOW = 2e6


def changed(obs: o.Observation, **fields: object) -> o.Observation:
    members = tuple(replace(m, **fields) if m.name == NAME else m for m in obs.members)
    return replace(obs, members=members)


def not_ready(obs: o.Observation) -> o.Observation:
    pod = next(m.pod for m in obs.members if m.name == NAME)
    assert pod is not None
    return changed(obs, pod=replace(pod, ready=False))


def test_a_member_in_the_database_counts_as_down_before_its_record_is_written() -> None:
    obs = not_ready(settled(managers(), hot(3), indices=((2,), (2,))).observe())
    new = replace(obs, records={name: record for name, record in obs.records.items() if name != NAME})
    assert derive(new, NOW).down == {NAME}


def unrecorded(obs: o.Observation, **pod: bool) -> o.Observation:
    """Return the state in which a member is neither recorded nor in the database, and its pod is as given."""
    assert isinstance(obs.database, o.Database)
    nodes = {name: node for name, node in obs.database.nodes.items() if name != NAME}
    records = {name: record for name, record in obs.records.items() if name != NAME}
    found = replace(obs, records=records, database=replace(obs.database, nodes=nodes, units=()))
    before = next(m.pod for m in obs.members if m.name == NAME)
    assert before is not None
    return changed(found, pod=replace(before, ready=False, **pod))


@pytest.mark.parametrize(
    ("served", "node_ready", "counts"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_an_unrecorded_member_that_was_ready_when_its_node_was_lost_counts_as_down(
    *, served: bool, node_ready: bool, counts: bool
) -> None:
    obs = unrecorded(settled(managers(), hot(3)).observe(), served=served, node_ready=node_ready)
    assert (NAME in derive(obs, NOW).down) is counts
    told = status(obs, plan(obs, NOW), ClusterStatus(), NOW)
    assert [m.version for m in told.member_states if m.name == NAME] == [obs.deployed_version if counts else ""]


@pytest.mark.parametrize("formed", [True, False])
def test_before_a_cluster_is_formed_a_lost_member_proves_no_cluster(*, formed: bool) -> None:
    """A process of FoundationDB is ready as soon as it listens; a cluster with a record is never formed again."""
    obs = unrecorded(settled(managers(), hot(3)).observe(), served=True, node_ready=False)
    grant = o.Bootstrap(member="c-managers-0", volume="", formed=formed)
    silent = replace(obs, database=o.Unknown("no answer"), bootstrap=grant, records={})
    assert (NAME in derive(silent, NOW).down) is formed
    told = status(silent, plan(silent, NOW), ClusterStatus(), NOW)
    assert any(m.version for m in told.member_states) is formed


def test_a_member_made_for_data_may_hold_data_after_its_pool_has_lost_the_role() -> None:
    world = settled(managers(), hot(3), indices=((2,), (2,)))
    obs = world.edit(pools=[managers(), gateway(3, "hot")]).observe()
    assert isinstance(obs.database, o.Database)
    nodes = {name: node for name, node in obs.database.nodes.items() if name != NAME}
    left = changed(replace(obs, database=replace(obs.database, nodes=nodes)), made_for=frozenset({"data"}))
    facts = derive(left, NOW)
    assert facts.holds_data(facts.members[NAME])
    unmade = derive(changed(left, made_for=frozenset[str]()), NOW)
    assert not unmade.holds_data(unmade.members[NAME])


def test_a_member_made_to_vote_counts_as_a_voter_only_until_the_database_answers() -> None:
    answered = changed(settled(managers(), hot(3)).observe(), made_for=frozenset({"data", "voting"}))
    silent = replace(answered, database=o.Unknown("no answer"))
    votes = [facts.votes(facts.members[NAME]) for facts in (derive(answered, NOW), derive(silent, NOW))]
    assert votes == [False, True]
