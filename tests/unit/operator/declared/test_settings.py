"""Cluster settings: each is an object of its own, and only one resource at a time sets it."""

import asyncio
from dataclasses import dataclass

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.simulation.opensearch.http import Rates
from tests.unit.operator.declared.lives import lives, played
from tests.unit.operator.declared.world import World


async def test_cluster_settings_are_separate_values_and_go_back_to_their_defaults() -> None:
    world = World()
    world.database.settings["search.other"] = "1"
    world.declare(object="clusterSettings", body={"search": {"max_buckets": 20000}, "search.slow": True})
    async with world.operator():
        await world.until(world.is_ready)
        assert world.database.settings == {"search.other": "1", "search.max_buckets": "20000", "search.slow": "True"}
        world.declare(body={"search.max_buckets": 30000})
        await world.until(lambda: world.database.settings == {"search.other": "1", "search.max_buckets": "30000"})
        await world.until(world.is_ready)
        world.declare(body={"search.max_buckets": 30000, "search.other": 2})
        await world.until(lambda: world.stalled() == "Exists")
        world.delete()
        await world.until(lambda: not world.exists())
    assert world.database.settings == {"search.other": "1"}


async def test_a_setting_that_is_still_set_for_one_resource_is_not_taken_by_another() -> None:
    world = World()
    world.declare("first", object="clusterSettings", body={"search.a": 1, "search.b": 1})
    async with world.operator():
        await world.until(lambda: world.is_ready("first"))
        world.database.settings["search.c"] = "9"
        world.declare("first", body={"search.a": 1, "search.c": 1})
        await world.until(lambda: world.stalled("first") == "Exists")
        del world.database.settings["search.b"]
        world.declare("second", object="clusterSettings", body={"search.b": 2})
        await world.until(lambda: world.condition("Reconciling", "second").get("reason") == "SettingHeld")
        assert "search.b" not in world.database.settings
        world.declare("first", existing="Adopt")
        await world.until(lambda: world.is_ready("first"))
        await world.until(lambda: world.is_ready("second"))
        assert world.database.settings == {"search.a": "1", "search.b": "2", "search.c": "1"}
        world.delete("first")
        await world.until(lambda: not world.exists("first"))
    assert world.database.settings == {"search.b": "2"}


async def test_a_resource_that_waits_for_a_setting_gives_up_those_that_it_declares_no_more() -> None:
    world = World()
    world.declare("first", object="clusterSettings", body={"search.a": 1, "search.b": 1})
    world.declare("second", object="clusterSettings", body={"search.c": 1})
    async with world.operator():
        await world.until(lambda: world.is_ready("first") and world.is_ready("second"))
        world.declare("second", body={"search.d": 1}, paused=True)
        world.declare("first", body={"search.a": 3, "search.c": 3})
        await world.until(lambda: "search.b" not in world.database.settings)
        await world.until(lambda: world.status("first")["settings"] == ["search.a"])
        assert world.condition("Reconciling", "first")["reason"] == "SettingHeld"
        assert world.database.settings == {"search.a": "1", "search.c": "1"}
        world.declare("first", body={"search.a": 1, "search.b": 1})
        await world.until(lambda: world.is_ready("first"))
        assert world.database.settings == {"search.a": "1", "search.b": "1", "search.c": "1"}


async def test_a_setting_that_may_be_of_others_is_not_given_up() -> None:
    world = World()
    world.declare("first", object="clusterSettings", body={"search.a": 1, "search.b": 1})
    world.declare("second", object="clusterSettings", body={"search.c": 1})
    async with world.operator():
        await world.until(lambda: world.is_ready("first") and world.is_ready("second"))
    for name, key in (("first", "search.b"), ("second", "search.c")):
        world.change_status("unwritten", [key], name)
    world.declare("first", body={"search.a": 1, "search.c": 1})
    world.declare("second", body={"search.b": 1})
    async with world.operator():
        await asyncio.sleep(1800)
    assert world.database.settings == {"search.a": "1", "search.b": "1", "search.c": "1"}


async def test_a_setting_with_a_value_of_a_secret_is_declared_and_not_given_up() -> None:
    world = World()
    world.secret("values", {"stateward.dev/allowed-for-pods": "logs"}, a="5")
    values = [{"path": "/search.a", "secretName": "values", "key": "a"}]
    world.declare("first", object="clusterSettings", body={"search.b": 1}, values=values)
    world.declare("second", object="clusterSettings", body={"search.c": 1})
    async with world.operator():
        await world.until(lambda: world.is_ready("first") and world.is_ready("second"))
        world.declare("second", body={"search.d": 1}, paused=True)
        world.declare("first", body={"search.c": 2})
        await world.until(lambda: "search.b" not in world.database.settings)
        await world.until(lambda: world.status("first")["settings"] == ["search.a"])
        assert world.database.settings == {"search.a": "5", "search.c": "1"}


async def test_nothing_is_given_up_while_nodes_run_several_versions() -> None:
    world = World()
    world.declare("first", object="clusterSettings", body={"search.a": 1})
    world.declare("second", object="clusterSettings", body={"search.b": 1})
    async with world.operator():
        await world.until(lambda: world.is_ready("first") and world.is_ready("second"))
        world.database.versions = ["2.19.3", "2.17.1", "2.19.3"]
        world.declare("first", body={"search.b": 2})
        world.declare("second", body={"search.a": 2})
        await world.until(lambda: "2.17.1 and 2.19.3" in world.status("first").get("activity", ""))
        await asyncio.sleep(600)
        assert world.database.settings == {"search.a": "1", "search.b": "1"}
        world.database.versions = ["2.19.3"] * 3
        await world.until(lambda: world.is_ready("first") and world.is_ready("second"))
    assert world.database.settings == {"search.a": "2", "search.b": "2"}


@dataclass(frozen=True)
class Exchange:
    """The settings that each of three resources declares from now on, and when the operator dies."""

    owners: tuple[int, ...]
    """By setting: the resource that declares it."""
    deaths: int
    """Writes after which the operator dies; 0: it lives."""


NAMES = ("first", "second", "third")
SETTINGS = ("search.a", "search.b", "search.c", "search.d")
EXCHANGES = st.lists(
    st.builds(Exchange, st.tuples(*[st.integers(0, 2)] * 4), st.sampled_from([0, 0, 1, 2, 3, 4])), max_size=4
)


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(exchanges=EXCHANGES, lost=st.sampled_from([0.0, 0.1, 0.3]), seed=st.integers(0, 99))
def test_resources_exchange_settings_and_none_waits_for_ever(exchanges: list[Exchange], lost: float, seed: int) -> None:
    played(story(exchanges, lost, seed))


async def story(exchanges: list[Exchange], lost: float, seed: int) -> None:
    world = World(seed)
    for number, step in enumerate((Exchange((0, 1, 2, 2), 0), *exchanges)):
        world.database.wire.rates = Rates(error=lost / 2, lost=lost, garbled=lost / 3)
        for at, name in enumerate(NAMES):
            mine = {key: number for key, owner in zip(SETTINGS, step.owners, strict=True) if owner == at}
            # Each resource has one setting of its own: a resource without any is refused.
            world.declare(name, object="clusterSettings", existing="Adopt", body={f"search.{name}": number, **mine})
        await lives(world, step.deaths)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(lambda: all(map(world.is_ready, NAMES)), 3600)
        await asyncio.sleep(600)
        wanted = {key: str(len(exchanges)) for key in (*SETTINGS, *(f"search.{name}" for name in NAMES))}
        assert world.database.settings == wanted
        for name in NAMES:
            world.delete(name)
        await world.until(lambda: not any(map(world.exists, NAMES)), 3600)
    assert world.database.settings == {}
