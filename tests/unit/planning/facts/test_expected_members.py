"""Which members the cluster depends on: those that have joined, and those that may hold data."""

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import observation as o
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
    unrecorded = replace(obs, records={name: record for name, record in obs.records.items() if name != NAME})
    assert derive(unrecorded, NOW).down == {NAME}


def test_a_member_that_never_joined_does_not_count_as_down() -> None:
    obs = not_ready(settled(managers(), hot(3), indices=((2,), (2,))).observe())
    assert isinstance(obs.database, o.Database)
    nodes = {name: node for name, node in obs.database.nodes.items() if name != NAME}
    records = {name: record for name, record in obs.records.items() if name != NAME}
    new = replace(obs, records=records, database=replace(obs.database, nodes=nodes, units=()))
    assert derive(new, NOW).down == frozenset()


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
