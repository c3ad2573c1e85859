"""Which of several declarations of a repository a verification uses: the one that the database has."""

from stateward.kube.objects.metadata import Key
from tests.unit.operator.declared.snapshots.verifying import CLUSTERS, OBJECTS, VerifyingWorld
from tests.unit.operator.declared.world import HOME

ELSEWHERE = {"type": "fs", "settings": {"location": "/mnt/elsewhere"}}


def rival(world: VerifyingWorld, **spec: object) -> None:
    """Declare the same repository once more, by a resource whose name comes first."""
    live = world.store.get(OBJECTS, Key(HOME, "backups"))
    assert live is not None
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "SearchObject", "metadata": {"name": "aaa"}}
    world.server.create(OBJECTS, HOME, {**head, "spec": {**live.doc["spec"], "body": ELSEWHERE, **spec}})


def claim_of(world: VerifyingWorld, name: str) -> str:
    live = world.store.get(OBJECTS, Key(HOME, name))
    assert live is not None
    return str(live.doc.get("status", {}).get("claim", ""))


async def test_a_snapshot_is_verified_in_the_repository_that_the_database_has() -> None:
    """The disaster this prevents: those of another place are restored, and those of the cluster called verified."""
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: claim_of(world, "backups") == "Owned")
        rival(world)
        await world.until(lambda: world.part(CLUSTERS) and world.part(OBJECTS), 8 * 3600)
        found = world.part(OBJECTS)
        assert found is not None
        assert found["spec"]["body"]["settings"]["location"] == "/mnt/backups"
        await world.verified()
