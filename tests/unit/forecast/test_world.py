"""The world of a forecast: how soon the operator looks at it."""

import pytest
from msgspec.structs import replace

from stateward.forecast.durations import RECENTLY, Durations
from stateward.forecast.forecast import run_forecast
from stateward.forecast.world import TimedWorld, node_of
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Database
from tests.unit.cli.clusters import NOW, running


def test_the_operator_looks_closely_at_what_recovers_after_a_step() -> None:
    world = TimedWorld(running(), NOW, Durations())
    assert not world.closely
    world.happened("joined", "logs-hot-0")
    world.queue.until(NOW + RECENTLY - 0.1)
    assert world.closely
    world.queue.until(NOW + RECENTLY)
    assert not world.closely


def test_the_operator_does_not_look_closely_at_copies_that_move_away() -> None:
    world = TimedWorld(running(), NOW, Durations())
    world.apply(a.Drain("a", frozenset({"logs-hot-0"})))
    world.happened("joined", "logs-hot-1")
    assert not world.closely


def test_settings_that_the_database_needs_are_changed_a_minute_after_they_are_needed() -> None:
    """Without the record of what waits since when, the minute would never pass, and the plan would never complete."""
    found = running()
    assert isinstance(found.database, Database)
    database = replace(found.database, pending_settings="its redundancy is double, and triple is desired")
    planned = run_forecast(replace(found, database=database), NOW)
    assert planned.last.settled
    assert planned.seconds == pytest.approx(61.0, abs=2.0)


def test_a_member_whose_claim_is_deleted_to_be_made_again_stays() -> None:
    obs = running()
    member = next(m for m in obs.members if m.claim is not None and m.workload is not None)
    assert member.claim is not None
    world = TimedWorld(obs, NOW, Durations())
    world.apply(a.DeleteVolume("it was never bound", member.name, member.claim.ref))
    left = next(m for m in world.observation().members if m.name == member.name)
    assert (left.claim, left.workload) == (None, member.workload)


@pytest.mark.parametrize("removed", [False, True])
def test_a_member_that_starts_again_has_the_roles_that_it_was_made_for(*, removed: bool) -> None:
    """The disaster this prevents: managers restart in a plan, and come back as what only their successors will be."""
    obs, name = running(), "logs-managers-0"
    pools = [
        replace(p, voting=True, electable=False, data=True) if p.name == "managers" else p for p in obs.desired.pools
    ]
    pools = [p for p in pools if not (removed and p.name == "managers")]
    members = tuple(replace(m, made_for=frozenset({"voting"})) if m.name == name else m for m in obs.members)
    obs = replace(obs, members=members, desired=replace(obs.desired, pools=tuple(pools)))
    member = next(m for m in obs.members if m.name == name)
    assert member.pod is not None
    node = node_of(member, member.pod, next((p for p in pools if p.name == "managers"), None), None)
    assert (node.data, node.voting, node.electable) == (False, True, True)
