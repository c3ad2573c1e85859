"""The nodes that may take an index, by its settings, as the databases' own deciders judge."""

from typing import Any

import msgspec
import pytest

from stateward.engines.search.database.places import Place, Places
from stateward.engines.search.database.wire import IndexSettings
from tests.unit.engines.pictures import picture
from tests.unit.engines.replay import STATE, Replay, recorded

NODES = [
    Place("hot-0", "id-0", frozenset({"data"}), {"temp": "hot", "box.type": "fast"}),
    Place("warm-0", "id-1", frozenset({"data"}), {"temp": "warm"}),
    Place("search-0", "id-2", frozenset({"search"}), {}),
]
TIERED = [
    Place("hot-0", "id-0", frozenset({"data_hot", "data_content"}), {}),
    Place("warm-0", "id-1", frozenset({"data_warm"}), {}),
    Place("frozen-0", "id-2", frozenset({"data_frozen"}), {}),
    Place("any-0", "id-3", frozenset({"data"}), {}),
]


def places(nodes: list[Place], allocation: dict[str, Any], store: str = "") -> set[str] | None:
    settings = {"number_of_replicas": "1", "routing": {"allocation": allocation}, "store": {"type": store}}
    found = Places(nodes).of(msgspec.convert(settings, IndexSettings))
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("allocation", "expected"),
    [
        ({}, {"hot-0", "warm-0"}),
        ({"require": {"temp": "hot"}}, {"hot-0"}),
        ({"require": {"temp": "hot", "box": {"type": "slow"}}}, set[str]()),
        ({"require": {"temp": "*o*", "box": {"type": "fast"}}}, {"hot-0"}),
        ({"include": {"temp": "cold, warm"}}, {"warm-0"}),
        ({"include": {"temp": "cold", "_name": "hot-*"}}, {"hot-0"}),
        ({"include": {"_id": "id-1"}}, {"warm-0"}),
        ({"exclude": {"_name": "hot-0"}}, {"warm-0"}),
        ({"exclude": {"temp": ""}}, {"hot-0", "warm-0"}),
        ({"require": {"_name": "hot-[0]"}}, set[str]()),
        # The databases know the name of a node under both names.
        ({"include": {"name": "hot-*"}}, {"hot-0"}),
        ({"exclude": {"name": "hot-*"}}, {"warm-0"}),
        # Addresses are not read: such a filter excludes nothing.
        ({"require": {"_ip": "10.0.0.1"}}, {"hot-0", "warm-0"}),
        ({"include": {"_host": "a"}}, {"hot-0", "warm-0"}),
        ({"exclude": {"_ip": "10.0.0.1"}}, {"hot-0", "warm-0"}),
        # Nor are the tiers in a filter of Elasticsearch 7.
        ({"require": {"_tier": "data_hot"}}, {"hot-0", "warm-0"}),
        ({"require": {"_tier_preference": "data_hot"}}, {"hot-0", "warm-0"}),
        ({"exclude": {"_tier": "data_hot"}}, {"hot-0", "warm-0"}),
        ({"include": {"temp": ["hot"]}}, {"hot-0", "warm-0"}),
    ],
)
def test_filters_by_attribute_name_and_id(allocation: dict[str, Any], expected: set[str]) -> None:
    assert places(NODES, allocation) == expected


def test_an_index_in_a_repository_is_on_nodes_that_search_and_the_others_are_not() -> None:
    assert places(NODES, {}, "remote_snapshot") == {"search-0"}
    assert places(NODES[:2], {}) is None


@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        ("data_content", {"hot-0", "any-0"}),
        ("data_warm,data_hot", {"warm-0", "any-0"}),
        ("data_cold,data_frozen", {"any-0"}),
        ("data_frozen", {"frozen-0", "any-0"}),
        ("", {"hot-0", "warm-0", "any-0"}),
    ],
)
def test_an_index_is_on_the_first_tier_of_its_preference_that_has_nodes(preference: str, expected: set[str]) -> None:
    assert places(TIERED, {"include": {"_tier_preference": preference}}) == expected


def test_a_preference_without_any_node_has_no_place() -> None:
    assert places(TIERED[:2], {"include": {"_tier_preference": "data_cold"}}) == set()


async def test_the_places_of_a_unit_are_read_from_the_answers_of_the_database() -> None:
    world = Replay(recorded("settled"))

    def with_filter(body: Any) -> None:
        index = body["metadata"]["indices"]["single"]["settings"]["index"]
        index["routing"] = {"allocation": {"require": {"temp": "warm"}}}
        for node in body["nodes"].values():
            node["attributes"] = {"temp": "warm" if node["name"] == "m-1" else "hot"}

    found = await picture(world.edit(STATE, with_filter))
    by_name = {unit.name: unit.places for unit in found.units}
    assert by_name["single[0]"] == {"m-1"}
    assert by_name["logs[0]"] is None
