"""Pools get other roles before their database has answered: members without a vote are not what it waits for."""

from random import Random

from msgspec.structs import replace

from stateward.api.kinds.status import BootstrapStatus
from stateward.planning.facts.change import inputs_of_volume
from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Member, Unknown
from stateward.planning.steps.membership.earlier_cluster import electors, kept_voters
from tests.unit.planning.search.disks import DiskWorld
from tests.unit.planning.search.faults import create_again, delete_workload, lose
from tests.unit.planning.search.pools import changed, pool

MANAGERS, DATA = pool("m", 3, voting=True), pool("h", 2, data=True)


def made() -> DiskWorld:
    return DiskWorld(MANAGERS, DATA, zones=0, max_unavailable=1)


def without_managers() -> DiskWorld:
    """Return a cluster that has lost all its managers with their volumes."""
    world = made()
    world.run()
    world.edit(lossy=True)
    for n in range(3):
        lose(world, world.bodies[f"c-m-{n}"])
    return world


def test_a_pool_that_gets_the_managers_before_the_cluster_is_formed_forms_it_with_a_member_that_votes() -> None:
    """Its first member was made without a vote; from the record of the grant on it would have stayed so."""
    world = made().edit(may_form=False)
    world.ticks(2)
    assert not world.did(a.RecordBootstrap)
    world.edit(pools=[changed(MANAGERS, name="h", replicas=2), changed(DATA, name="m", replicas=3)], may_form=True)
    world.run()
    assert all(world.joined()[name].voting for name in world.voters)


def test_members_of_pools_that_swapped_their_roles_while_the_cluster_is_created_again_are_what_they_were() -> None:
    """The disaster this prevents: volumes of managers are used without a vote, and no member uses those with data."""
    world = made()
    world.run()
    identity = world.index((2,)).run().identity
    create_again(world, Random(1), world.bodies["c-m-0"])  # noqa: S311 - nothing here is secret
    world.edit(pools=[changed(MANAGERS, voting=False, data=True), changed(DATA, voting=True, data=False)]).run()
    assert world.identity == identity


def test_no_new_cluster_forms_beside_managers_whose_pool_has_lost_their_role() -> None:
    """The disaster this prevents: they come back with their votes, and are enough for an election after all."""
    world = made()
    world.run()
    create_again(world, Random(1), world.bodies["c-m-0"])  # noqa: S311 - nothing here is secret
    swapped = [changed(MANAGERS, voting=False, data=True), changed(DATA, voting=True, data=False)]
    world.edit(pools=swapped, bootstrap_again=True, stumbling={"c-m-0", "c-m-1"}).ticks(30)
    assert not world.available
    assert any("c-m-0, c-m-1, c-m-2 may hold" in w.message for w in world.plan().waits if w.reason == "EarlierVolumes")


def test_pools_that_swapped_their_roles_while_a_cluster_that_never_formed_is_created_again_form_it() -> None:
    """The disaster this prevents: it is to be formed by a member that comes back without a vote."""
    world = made()
    world.edit(may_form=False).ticks(2)
    create_again(world, Random(1), world.bodies["c-m-0"])  # noqa: S311 - nothing here is secret
    swapped = [changed(DATA, voting=True, data=False), changed(MANAGERS, voting=False, data=True)]
    world.edit(pools=swapped, may_form=True).run()


def test_a_manager_whose_stateful_set_was_deleted_votes_again_although_its_name_is_that_of_a_pool_with_data() -> None:
    """The disaster this prevents: its database waits for the vote on its volume, and it comes back without one."""
    world = DiskWorld(changed(MANAGERS, replicas=1), DATA, zones=0, max_unavailable=1)
    world.run()
    identity = world.index((2,)).run().identity
    world.edit(policy={"paused": True})
    delete_workload(world, Random(1), world.bodies["c-m-0"])  # noqa: S311 - nothing here is secret
    world.ticks(3).edit(pools=[changed(MANAGERS, name="h", replicas=1), changed(DATA, name="m")], policy={}).run()
    assert world.identity == identity


def test_a_member_that_stays_without_a_vote_does_not_form_the_new_cluster_after_all_managers_are_lost() -> None:
    """It was added as a member with data while no database answered, and its pool got the role afterwards."""
    world = without_managers()
    world.edit(pools=[MANAGERS, changed(DATA, replicas=3)]).ticks(10)
    world.edit(pools=[changed(DATA, replicas=3, voting=True, data=False), MANAGERS]).ticks(2)
    world.edit(bootstrap_again=True).until(lambda w: w.available)
    assert world.voters <= {"c-m-0", "c-m-1", "c-m-2"}


def test_members_without_a_vote_form_no_new_cluster_while_those_with_one_are_still_to_be_created() -> None:
    """The disaster this prevents: one of them is recorded in the round that creates the others, and never forms it."""
    world = without_managers()
    world.edit(pools=[MANAGERS, changed(DATA, name="g")]).ticks(5)
    given = changed(DATA, name="g", voting=True)
    world.edit(pools=[given, pool("d", 1, data=True)], bootstrap_again=True).run()
    assert world.did(a.RecordBootstrap) == ["c-m-0", "c-g-2"]
    assert all(world.joined()[name].voting for name in world.voters)


def test_a_member_without_a_vote_that_is_on_record_gives_way_to_one_that_votes() -> None:
    """The disaster this prevents: the user agrees once more, and the same member is recorded again, forever."""
    world = without_managers()
    world.edit(pools=[MANAGERS, changed(DATA, name="g")]).ticks(5)
    claim = world.bodies["c-g-0"].claim
    assert claim is not None
    world.status = replace(world.status, bootstrap=BootstrapStatus(member="c-g-0", volume=claim.uid, formed=False))
    given = changed(DATA, name="g", voting=True)
    world.edit(pools=[given, pool("d", 1, data=True)], bootstrap_again=True).run()
    assert world.did(a.RecordBootstrap) == ["c-m-0", "c-g-2"]


def test_the_volume_of_a_member_that_was_made_for_no_role_is_not_taken_for_that_of_an_earlier_manager() -> None:
    """The disaster this prevents: its user is told to give its pool managers, and none of them ever forms a cluster."""
    world = DiskWorld(MANAGERS, pool("x", 2), zones=0, max_unavailable=1)
    world.run()
    assert kept(world, made_for=frozenset()) == {"c-m-0", "c-m-1", "c-m-2"}
    assert kept(world, made_for=None) == {"c-m-0", "c-m-1", "c-m-2", "c-x-0", "c-x-1"}, "they may be of managers"


def kept(world: DiskWorld, made_for: frozenset[str] | None) -> set[str]:
    """Return whose volumes may hold a state if all are older and unmarked, and those of pool x were made so."""
    seen = world.observe()
    found: list[Member] = []
    for member in seen.members:
        assert member.claim is not None
        claim = replace(member.claim, earlier=True, state=False, data=False)
        found.append(replace(member, claim=claim, made_for=made_for if member.pool == "x" else member.made_for))
    obs = replace(seen, members=tuple(found), database=Unknown("no answer"))
    return {member.name for member in kept_voters(derive(obs, world.now))}


def test_a_vote_that_the_database_no_longer_counts_is_no_reason_to_vote_again() -> None:
    world = made()
    world.run()
    world.edit(pools=[MANAGERS, changed(DATA, voting=False)])
    seen = world.observe()
    member = next(m for m in seen.members if m.pool == DATA.name)
    member = replace(member, pod=None, workload=None, config=None, made_for=frozenset({"data", "voting"}))
    obs = replace(seen, members=tuple(member if m.name == member.name else m for m in seen.members))
    facts = derive(obs, world.now)
    pool = facts.pools[member.pool]
    assert inputs_of_volume(facts, member, pool) == pool.kinds[frozenset({"data"})]
    silent = derive(replace(obs, database=Unknown("no answer")), world.now)
    assert inputs_of_volume(silent, member, pool) == pool.kinds[frozenset({"data", "voting"})]


def test_a_member_that_stays_without_a_vote_elects_nothing_also_if_its_pool_votes_and_its_volume_is_marked() -> None:
    world = made()
    world.run()
    world.edit(pools=[MANAGERS, changed(DATA, voting=True)])
    seen = replace(world.observe(), database=Unknown("no answer"))
    marked = tuple(replace(m, claim=replace(m.claim, state=True)) for m in seen.members if m.claim is not None)
    facts = derive(replace(seen, members=marked), world.now)
    assert {m.pool for m in kept_voters(facts)} == {"m", DATA.name}
    assert {m.pool for m in electors(facts)} == {"m"}
