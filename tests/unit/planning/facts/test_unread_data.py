"""A version that cannot read the data is refused also while the database does not answer, or if a member is pending."""

import pytest
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.world import World, hot, managers

BARRIER = o.Barrier("3.0.0", "it cannot read indices that 1.x has created: logs; reindex or delete them first")


class Old(World):
    """A database with an index that the next major version cannot read."""

    def database(self) -> o.Database | o.Unknown:
        found = super().database()
        return found if isinstance(found, o.Unknown) else replace(found, barrier=BARRIER)

    def written(self) -> list[a.Action]:
        """Return what has given a member the version that cannot read the data."""
        return [x for _, x in self.log if isinstance(x, a.Stage | a.Create) and x.version == "3.0.0"]


@pytest.mark.parametrize("what", ["crash", "deleted"])
def test_a_member_that_is_repaired_while_the_database_is_silent_keeps_its_version(what: str) -> None:
    world = Old(managers(), hot(3), version="2.19.5")
    world.run().index((2,), (2,)).run()
    world.edit(version="3.0.0").ticks(5)
    assert any(w.reason == "DataTooOld" for w in world.status.waiting)
    world.answers = False
    if what == "crash":
        world.stumbling.add("c-hot-0")
    else:
        body = world.bodies["c-hot-0"]
        body.workload = body.pod = body.config = None
    world.ticks(30)
    assert not world.written(), world.story()


def test_a_cluster_of_which_one_member_was_never_scheduled_is_protected_too() -> None:
    """No version counts as deployed until every member serves; the database has data long before."""
    world = Old(managers(), hot(4), version="2.19.5")
    world.unschedulable.add("c-hot-3")
    world.ticks(30)
    assert world.status.health == "green"
    world.index((2,), (2,)).ticks(5)
    world.edit(version="3.0.0").ticks(30)
    assert not [x for x in world.written() if getattr(x, "member", "") != "c-hot-3"], world.story()


@pytest.mark.parametrize("complete", [True, False])
def test_managers_are_not_upgraded_before_data_members_that_wait_for_a_person(complete: bool) -> None:
    """Older data nodes cannot join an elected manager of the next major version."""
    world = World(managers(), hot(4), version="2.19.5", sole_copy=o.SoleCopy.WAIT)
    if not complete:
        world.unschedulable.add("c-hot-3")
    world.ticks(30)
    world.index((1,), (1,), (1,), (1,)).ticks(5)
    world.edit(version="3.0.0").ticks(60)
    early = {name for name, version in world.pods().items() if version == "3.0.0" and "managers" in name}
    assert not early, f"{world.pods()}\n{world.story()}"
