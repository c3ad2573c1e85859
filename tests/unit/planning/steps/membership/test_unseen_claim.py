"""A claim that a cache has not shown yet is unknown: it is neither ephemeral data nor a volume to tie the grant to."""

from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import World, hot, managers, settled


def unseen(world: World) -> o.Observation:
    """Return the observation of a cache that has the pods and not yet their claims."""
    observed = world.observe()
    members = tuple(
        replace(m, claim=None, pod=replace(m.pod, claims=True) if m.pod else None) for m in observed.members
    )
    return replace(observed, members=members)


def test_a_member_whose_claim_is_not_seen_is_not_replaced() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    made = plan(unseen(world), world.now)
    assert not [action for action in made.actions if isinstance(action, a.Create | a.Drain | a.Release)]


def test_the_grant_is_not_tied_to_the_pod_while_its_claim_is_not_seen() -> None:
    world = World(managers(), hot())
    world.until(lambda w: any(isinstance(action, a.RecordBootstrap) for action in w.plan().actions))
    assert not [x for x in plan(unseen(world), world.now).actions if isinstance(x, a.RecordBootstrap)]
