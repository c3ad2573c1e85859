"""Claims record the version of their data: it outlives the status, and no older version starts on it."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.upgrade_order import newest_joined_version
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Database, Unknown
from stateward.planning.plan import plan
from tests.unit.planning.steps.membership.test_left import made_again
from tests.unit.planning.steps.membership.test_replacement import cluster
from tests.unit.planning.world import World, hot, managers


def with_data_versions(world: World, version: str) -> World:
    for body in world.bodies.values():
        assert body.claim is not None
        body.claim.version = version
    return world


def test_claims_record_the_version_of_their_data_and_follow_an_upgrade() -> None:
    world = cluster(2)
    assert {body.claim.version for body in world.bodies.values() if body.claim} == {"2.17.1"}
    world.edit(version="2.18.0").run()
    assert {body.claim.version for body in world.bodies.values() if body.claim} == {"2.18.0"}
    world.log.clear()
    assert not world.edit(pools=[managers(), hot(2, config={"config/a": "1"})]).run().did(a.MarkState)


def test_a_claim_whose_new_version_cannot_be_written_delays_nothing_and_a_first_mark_comes_before_other_steps() -> None:
    """The disaster this prevents: a policy refuses writes of claims, and no upgrade goes on and no pod is repaired."""
    world = with_data_versions(cluster(3), "")
    lost, new = world.bodies["c-hot-0"], world.bodies["c-hot-1"]
    assert new.claim is not None
    lost.workload, lost.pod, new.claim.data = None, None, False
    actions = [(type(x), x.member) for x in world.plan().actions if isinstance(x, a.MarkState | a.Create)]
    assert actions[:2] == [(a.MarkState, "c-hot-1"), (a.Create, "c-hot-0")]
    assert {name for _, name in actions[2:]} == {"c-hot-2", "c-managers-0", "c-managers-1", "c-managers-2"}


def test_nodes_of_a_test_build_have_no_version_that_claims_could_record_so_none_is_marked_again() -> None:
    observed = with_data_versions(cluster(2), "").observe()
    assert isinstance(observed.database, Database)
    nodes = {name: replace(n, version="2.17.1-SNAPSHOT") for name, n in observed.database.nodes.items()}
    seen = replace(observed, database=replace(observed.database, nodes=nodes))
    assert not [x for x in plan(seen, cluster(2).now).actions if isinstance(x, a.MarkState)]


def test_claims_of_before_such_records_get_them_once() -> None:
    world = with_data_versions(cluster(2), "")
    assert world.run().did(a.MarkState)
    assert {body.claim.version for body in world.bodies.values() if body.claim} == {"2.17.1"}


def test_a_cluster_that_is_created_again_with_an_older_version_keeps_that_of_its_data_and_names_it() -> None:
    """The disaster this prevents: no process starts on the data of the newer version, and no message says why."""
    world = cluster(2).edit(version="2.18.0").run()
    before = world.identity
    made_again(world).edit(version="2.17.1").ticks(40)
    waits = [w for w in world.plan().waits if w.reason == "CannotGoBack" and w.subject == "spec.version"]
    assert [w.message.partition(" have ")[2] for w in waits] == [
        "already joined with 2.18.0, and data cannot be downgraded to 2.17.1; set spec.version to 2.18.0 or later"
    ]
    assert all(w.stalled for w in waits)
    assert set(world.pods().values()) == {"2.18.0"}
    world.edit(version="2.18.0").run()
    assert world.identity == before
    assert not world.did(a.GrantBootstrap)


def test_claims_without_a_record_of_a_version_are_used_with_the_one_of_the_spec() -> None:
    world = with_data_versions(made_again(cluster(2)), "").ticks(1)
    assert {x.version for _, x in world.log if isinstance(x, a.Create)} == {"2.17.1"}


def test_a_version_that_someone_writes_on_a_claim_in_use_changes_nothing() -> None:
    """The disaster this prevents: the member is created again with a version that does not exist."""
    world = cluster(2)
    body = world.bodies["c-hot-0"]
    assert body.claim is not None
    body.claim.version = "99.0.0"
    assert not [w for w in world.plan().waits if w.reason == "CannotGoBack"]
    body.workload = body.pod = None
    assert world.run().pods()["c-hot-0"] == "2.17.1"
    assert body.claim.version == "2.17.1"


def test_a_member_that_joined_and_lost_its_stateful_set_while_the_cluster_was_paused_keeps_its_version() -> None:
    """The disaster this prevents: the upgrade is reverted meanwhile, and its claim is not marked while it is paused.

    It takes the place of another member, so its pool has enough without it.
    """
    world = cluster(2).edit(version="2.18.0", pools=[managers(), hot(2, storage_class="other")])
    world.until(lambda w: "c-hot-2" in w.bodies).edit(policy={"paused": True}).until(lambda w: "c-hot-2" in w.pods())
    world.ticks(2)
    body = world.bodies["c-hot-2"]
    body.workload = body.pod = body.config = None
    world.edit(version="2.17.1").ticks(3).edit(policy={}).ticks(10)
    assert world.pods()["c-hot-2"] == "2.18.0"


@pytest.mark.parametrize("mark", ["left", "terminating"])
def test_volumes_that_no_member_uses_again_tell_no_version(mark: str) -> None:
    observed = cluster(2).observe()
    (member,) = (m for m in observed.members if m.name == "c-hot-0")
    assert member.claim is not None
    claim = replace(member.claim, version="2.18.0")
    kept = replace(observed, records={}, database=Unknown("silent"))
    assert newest_joined_version(kept, replace(member, claim=claim)) == "2.18.0"
    assert not newest_joined_version(kept, replace(member, claim=replace(claim, **{mark: True})))
