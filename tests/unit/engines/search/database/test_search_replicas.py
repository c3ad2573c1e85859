"""Search replicas of OpenSearch 3: they answer searches, hold no data of their own, and never become the primary."""

from typing import Any

import pytest

from stateward.engines.search.database.decode import shard_of
from stateward.planning.model.observation import CopyState, Health
from stateward.planning.safety.health_gate import lost_units
from tests.unit.engines.pictures import picture
from tests.unit.engines.replay import INFO, STATE, Replay, recorded

UNASSIGNED = {"reason": "INDEX_CREATED", "at": "2026-01-01T00:00:00Z", "allocation_status": "no_attempt"}


def copies(body: Any) -> list[Any]:
    """Return the copies of the only shard of the index `single`."""
    (found,) = body["routing_table"]["indices"]["single"]["shards"].values()
    return found


def search_only(body: Any) -> None:
    """Leave one search replica of the index, as the database does on `POST /INDEX/_scale` with `search_only`."""
    copies(body)[0] |= {"primary": False, "searchOnly": True}


def beside(state: str) -> Any:
    """Return the change that adds a search replica in this state to the copies of the index."""

    def change(body: Any) -> None:
        there = state != "UNASSIGNED"
        added = {"state": state, "primary": False, "searchOnly": True, "relocating_node": None}
        node = next(iter(body["nodes"]))
        own = {"node": node, "allocation_id": {"id": "s"}} if there else {"node": None, "unassigned_info": UNASSIGNED}
        copies(body).append(added | own)

    return change


async def seen(change: Any) -> Any:
    return await picture(Replay(recorded("settled", "3.4.0")).edit(STATE, change))


async def test_an_index_that_is_scaled_to_its_search_replicas_does_not_hide_the_whole_database() -> None:
    found = await seen(search_only)
    units = {unit.name: unit for unit in found.units}
    assert units.keys() >= {"logs[0]", "logs[1]", "single:search[0]"}
    assert "single[0]" not in units
    (copy,) = units["single:search[0]"].copies
    assert copy.live


async def test_search_replicas_are_no_copies_of_the_data() -> None:
    found = await seen(beside("STARTED"))
    units = {unit.name: unit for unit in found.units}
    assert (units["single[0]"].wanted, units["single:search[0]"].wanted) == (1, 1)
    assert units["single[0]"].copies[0].primary


@pytest.mark.parametrize("state", ["UNASSIGNED", "INITIALIZING"])
async def test_search_replicas_of_which_none_serves_hold_nothing_back(state: str) -> None:
    """A user may ask for them without any node that may take them."""
    found = await seen(beside(state))
    assert not lost_units(found)
    assert found.health is Health.YELLOW
    assert all(copy.state is CopyState.STARTED for unit in found.units for copy in unit.copies)


async def test_search_replicas_move_only_to_nodes_that_search() -> None:
    def searches(body: Any) -> None:
        node = next(node for node in body["nodes"].values() if node["name"] == "m-1")
        node["roles"] = ["search"]

    world = Replay(recorded("settled", "3.4.0")).edit(STATE, beside("STARTED")).edit(INFO, searches)
    units = {unit.name: unit.places for unit in (await picture(world)).units}
    assert units["single:search[0]"] == {"m-1"}
    assert units["single[0]"] == {"m-0", "m-2"}


def test_a_unit_with_search_replicas_is_of_the_same_shard() -> None:
    assert shard_of("a[b:search[3]") == ("a[b", 3)
    assert shard_of("a[b[3]") == ("a[b", 3)
