"""An upgrade that needs a snapshot: held back until there is one, and never once it has begun."""

from copy import deepcopy

import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.world import World, hot, managers, settled

DAY = 86400.0
GATE = o.SnapshotGate("backups", DAY)


def gated(**fields: object) -> World:
    """Return a settled cluster whose upgrades need a snapshot."""
    world = settled(managers(), hot())
    world.policy["snapshot_gate"] = GATE
    return world.edit(**fields)


def waits(world: World) -> list[tuple[str, str]]:
    return [(w.subject, w.reason) for w in world.plan().waits]


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (None, "is not known"),
        (o.Unknown("no answer"), "is not known (no answer)"),
        (o.Saved(), "there is none"),
        (o.Saved("nightly-1", 1e6 - DAY), "the newest one, nightly-1, is of 1970-01-11T13:46:40Z"),
        (o.Saved("nightly-1", 1e6 - DAY, "nightly-2 does not have orders"), "; nightly-2 does not have orders"),
    ],
    ids=["not asked", "unknown", "none", "old", "incomplete"],
)
def test_without_a_young_snapshot_the_upgrade_waits_and_says_so(saved: o.Saved | o.Unknown | None, said: str) -> None:
    world = gated(saved=saved, version="2.18.0").ticks(20)
    assert waits(world) == [("spec.version", "SnapshotRequired")]
    assert said in world.plan().waits[0].message
    assert "an upgrade needs a snapshot in backups that is not older than 24h" in world.plan().waits[0].message
    assert not world.log
    assert {m.version for m in world.status.member_states} == {"2.17.1"}


def test_with_one_it_begins_and_goes_on_however_old_it_gets() -> None:
    world = gated(version="2.18.0")
    world.edit(saved=o.Saved("nightly-1", world.now - DAY + 60))
    world.until(lambda w: any(isinstance(x, a.Stage) for _, x in w.log))
    world.edit(saved=o.Saved("nightly-1", world.now - 2 * DAY)).ticks(2)
    world.edit(saved=o.Unknown("the repository is gone")).run()
    assert {m.version for m in world.status.member_states} == {"2.18.0"}


def test_a_held_upgrade_can_be_taken_back_and_holds_no_other_work() -> None:
    world = gated(saved=o.Saved(), version="2.18.0").ticks(3)
    world.edit(pools=[managers(), hot(4)]).ticks(60)
    assert world.bodies["c-hot-3"].pod is not None
    assert world.bodies["c-hot-3"].pod.version == "2.17.1"
    world.kill("c-hot-0").ticks(30)
    assert world.plan().waits[0].reason == "SnapshotRequired"
    assert all(m.state == "Ready" for m in world.status.member_states)
    world.edit(version="2.17.1").run()


def test_other_changes_need_none() -> None:
    world = gated(saved=o.Saved())
    world.edit(pools=[managers(), hot(3, config={"config/a": "2"})]).run()


def test_a_kept_volume_of_a_later_version_that_no_member_uses_begins_no_upgrade() -> None:
    """The disaster this prevents: volumes of an earlier cluster are left, and an upgrade waits for no snapshot."""
    world = settled(managers(), hot())
    kept = deepcopy(world.bodies["c-hot-0"])
    kept.name, kept.pool, kept.workload, kept.pod = "c-old-0", "old", None, None
    assert kept.claim is not None
    kept.claim.uid, kept.claim.version = "another", "2.18.0"
    world.bodies[kept.name] = kept
    world.policy["snapshot_gate"] = GATE
    world.edit(saved=o.Saved(), version="2.18.0").ticks(20)
    assert ("spec.version", "SnapshotRequired") in waits(world)
    assert set(world.pods().values()) == {"2.17.1"}
