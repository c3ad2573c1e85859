"""Cluster settings: each is an object of its own, set for one resource at a time; two resources can exchange theirs."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.engines.connection.base import Answer
from stateward.simulation.apiserver.network import Network
from stateward.simulation.opensearch.http import Rates
from tests.unit.operator.declared.lives import die_after, lives, played
from tests.unit.operator.declared.world import World

X, Y, Z = "search.x", "search.y", "search.z"


def declare(world: World, name: str, /, **more: Any) -> None:
    """Declare cluster settings, or edit them; `body` has them."""
    world.declare(name, object="clusterSettings", **more)


async def with_two(one: dict[str, int], two: dict[str, int], **more: Any) -> World:
    """Return a world in which two resources have set their settings."""
    world = World()
    declare(world, "one", body=one, **more)
    declare(world, "two", body=two, **more)
    async with world.operator():
        await world.until(lambda: world.is_ready("one") and world.is_ready("two"))
    return world


def both_ready(world: World) -> bool:
    return world.is_ready("one") and world.is_ready("two")


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


async def test_a_setting_that_is_set_for_two_resources_does_not_hold_up_the_one_that_declares_it() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", paused=True)
    world.change_status("settings", [X, Y], "two")
    declare(world, "one", body={X: 5})
    async with world.operator():
        await world.until(lambda: world.is_ready("one"))
    assert world.database.settings == {X: "5", Y: "2"}


async def test_a_setting_that_a_resource_has_set_in_an_earlier_database_is_held_by_none() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", body={})  # It is refused, so its status stays.
    world.change_status("clusterUUID", "an earlier one", "two")
    del world.database.settings[Y]
    declare(world, "one", body={X: 1, Y: 4})
    async with world.operator():
        await world.until(lambda: world.is_ready("one"))
        assert world.stalled("two") == "InvalidSpec"
    assert world.database.settings == {X: "1", Y: "4"}


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


async def test_an_exchange_at_once_ends_by_itself() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "one", body={Y: 3})
    declare(world, "two", body={X: 4})
    async with world.operator():
        await world.until(lambda: both_ready(world), 60)
    assert world.database.settings == {X: "4", Y: "3"}
    assert (world.status("one")["settings"], world.status("two")["settings"]) == ([Y], [X])


async def test_an_exchange_around_a_setting_that_both_declare_leaves_only_that_conflict() -> None:
    world = await with_two({X: 1, Z: 1}, {Y: 2})
    declare(world, "one", body={Y: 3, Z: 1})
    declare(world, "two", body={X: 4, Z: 4})
    async with world.operator():
        await world.until(lambda: world.is_ready("one"), 60)
        await world.until(lambda: world.stalled("two") == "Conflict")
        assert world.database.settings == {Y: "3", Z: "1"}
        declare(world, "two", body={X: 4})
        await world.until(lambda: both_ready(world))
    assert world.database.settings == {X: "4", Y: "3", Z: "1"}


@pytest.mark.parametrize("first", ["one", "two"])
async def test_the_resource_that_has_set_a_setting_stays_in_charge_of_it_whichever_is_older(first: str) -> None:
    """The disaster this prevents: an edit of an older resource stops the one that works."""
    other = "two" if first == "one" else "one"
    world = World()
    async with world.operator():
        declare(world, first, body={X: 1})
        await world.until(lambda: world.is_ready(first))
        await asyncio.sleep(5)
        declare(world, other, body={Y: 2})
        await world.until(lambda: world.is_ready(other))
        declare(world, first, body={X: 1, Y: 9})
        await world.until(lambda: world.stalled(first) == "Conflict")
        declare(world, other, body={Y: 3})
        await world.until(lambda: world.is_ready(other))
        assert f"SearchObject {first}" in world.status(other)["activity"]
    assert world.database.settings == {X: "1", Y: "3"}


async def test_an_edit_back_after_the_reset_sets_it_again() -> None:
    world = await with_two({X: 1, Z: 1}, {Y: 2}, drift="Report")
    declare(world, "two", paused=True)
    declare(world, "one", body={Y: 3, Z: 1})
    async with world.operator():
        await world.until(lambda: X not in world.database.settings and world.status("one").get("settings") == [Z])
        declare(world, "one", body={X: 1, Z: 1})
        await world.until(lambda: world.is_ready("one"))
    assert world.database.settings == {X: "1", Y: "2", Z: "1"}
    assert "DriftCorrected" not in world.told()


async def test_a_setting_that_others_set_between_the_claim_and_the_write_is_theirs() -> None:
    """The operator dies with the claim in the status: what the database has then is not what it has written."""
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "one", body={X: 1, Z: 3})
    network = Network(world.context.stream("dying"), world.context.count)
    die_after(1, network, world.database.wire)
    async with world.operator(network=network):
        await asyncio.sleep(60)
    assert (world.status("one")["settings"], Z in world.database.settings) == ([X, Z], False)
    world.database.wire = world.wire(1)
    world.database.settings[Z] = "77"
    async with world.operator():
        await world.until(lambda: world.stalled("one") == "Exists")
        declare(world, "one", body={X: 1})
        await world.until(lambda: world.stalled("one") == "OwnerUnknown")
    assert world.database.settings == {X: "1", Y: "2", Z: "77"}


async def test_what_is_paused_gives_up_nothing() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "one", body={Y: 3}, paused=True)
    declare(world, "two", body={X: 4}, paused=True)
    async with world.operator():
        await world.until(lambda: world.stalled("one") == "Paused")
        declare(world, "one", body={Y: 3, Z: 5})
        declare(world, "two", body={X: 4, Z: 5})
        await world.until(lambda: "Conflict" in (world.stalled("one"), world.stalled("two")))
        await asyncio.sleep(120)
    assert world.database.settings == {X: "1", Y: "2"}


async def test_what_another_client_has_changed_stays() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", paused=True)
    world.database.settings[X] = "77"
    declare(world, "one", body={Y: 3})
    async with world.operator():
        await world.until(lambda: f"{X} stays set" in world.status("one").get("activity", ""))
        await asyncio.sleep(600)
        assert world.stalled("one") == "Conflict"
        world.database.settings[X] = "1"
        await world.until(lambda: world.status("one").get("settings") is None)
    assert X not in world.database.settings


async def test_what_may_not_be_written_stays_in_doubt() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", paused=True)
    world.database.settings[Z] = "9"
    world.change_status("settings", [X, Z])
    world.change_status("unwritten", [Z])
    declare(world, "one", body={Y: 3})
    async with world.operator():
        await world.until(lambda: world.status("one").get("settings") == [Z])
        await asyncio.sleep(120)
    assert world.database.settings == {Y: "2", Z: "9"}
    assert world.status("one")["unwritten"] == [Z]


async def test_two_that_cannot_give_up_what_the_other_one_waits_for_need_a_person() -> None:
    world = await with_two({X: 1}, {Y: 2})
    for name, key in (("one", X), ("two", Y)):
        world.change_status("unwritten", [key], name)
    declare(world, "one", body={Y: 3})
    declare(world, "two", body={X: 4})
    async with world.operator():
        await world.until(lambda: world.stalled("one") == world.stalled("two") == "SettingHeld")
        assert f"{X} stays set: it is not known" in world.status("one")["activity"]
        await asyncio.sleep(600)
        assert world.database.settings == {X: "1", Y: "2"}
        world.change_status("unwritten", [], "one")
        declare(world, "two", body={Y: 2})
        declare(world, "one", body={X: 1})
        await world.until(lambda: world.is_ready("one"))


async def test_what_the_status_of_another_resource_has_too_stays() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", paused=True)
    world.change_status("settings", [X, Y], "two")
    declare(world, "one", body={Y: 3})
    async with world.operator():
        await world.until(lambda: world.stalled("one") == "Conflict")
        await asyncio.sleep(120)
    assert world.database.settings == {X: "1", Y: "2"}


async def test_a_reset_that_the_database_refuses_is_told_beside_the_conflict() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", paused=True)
    error = {"error": {"reason": "no such setting"}, "status": 400}
    world.database.refusals["/_cluster/settings"] = Answer(400, msgspec.json.encode(error))
    declare(world, "one", body={Y: 3})
    async with world.operator():
        await world.until(lambda: "no such setting" in world.status("one").get("activity", ""))
        assert world.stalled("one") == "Conflict"
        assert f"{Y} is declared by the SearchObject two" in world.status("one")["activity"]
        assert world.status("one")["settings"] == [X]


async def test_a_reset_that_was_lost_after_it_was_done_touches_no_value_of_another_client() -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "two", paused=True)
    declare(world, "one", body={Y: 3})
    resets: list[str] = []

    def lost(path: str) -> None:
        resets.append(path)
        world.database.settings[X] = "77"
        world.database.wire.rates = Rates(lost=1.0)

    world.database.wire.command_done = lost
    async with world.operator():
        await world.until(lambda: resets)
        await world.pause()
        world.database.wire.rates = Rates()
        await asyncio.sleep(300)
    assert len(resets) == 1
    assert world.database.settings == {X: "77", Y: "2"}


@pytest.mark.parametrize("deaths", range(1, 9))
async def test_an_operator_that_dies_between_two_writes_has_a_successor_that_ends_the_exchange(deaths: int) -> None:
    world = await with_two({X: 1}, {Y: 2})
    declare(world, "one", body={Y: 3})
    declare(world, "two", body={X: 4})
    await lives(world, deaths)
    assert both_ready(world)
    assert world.database.settings == {X: "4", Y: "3"}


BODIES = st.dictionaries(st.sampled_from([X, Y, Z]), st.integers(1, 9), min_size=1, max_size=2)
STEPS = st.lists(st.tuples(BODIES, BODIES, st.sampled_from([0, 0, 1, 2, 3, 4, 5])), max_size=4)


@settings(max_examples=40, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(steps=STEPS, lost=st.sampled_from([0.0, 0.1, 0.3]), seed=st.integers(0, 99))
def test_foreign_settings_stay_and_what_is_ready_is_set(
    steps: list[tuple[dict[str, int], dict[str, int], int]], lost: float, seed: int
) -> None:
    played(story(steps, lost, seed))


async def story(steps: list[tuple[dict[str, int], dict[str, int], int]], lost: float, seed: int) -> None:
    world = World(seed)
    world.database.settings["search.theirs"] = "7"
    declare(world, "one", body={X: 1})
    declare(world, "two", body={Y: 1})
    for one, two, deaths in steps:
        world.database.wire.rates = Rates(error=lost / 2, lost=lost, garbled=lost / 3)
        declare(world, "one", body=one)
        declare(world, "two", body=two)
        await lives(world, deaths, 300)
    world.database.wire.rates = Rates()
    declare(world, "one", body={X: 10})
    declare(world, "two", body={Y: 10})
    async with world.operator():
        await asyncio.sleep(900)
        for name, other, key in (("one", "two", X), ("two", "one", Y)):
            told = world.stalled(name)
            needs_a_person = told in ("Conflict", "Exists", "OwnerUnknown", "SettingHeld")
            waits = world.condition("Ready", name)["reason"] == "SettingHeld" and bool(world.stalled(other))
            assert world.is_ready(name) or needs_a_person or waits, told
            assert not world.is_ready(name) or world.database.settings[key] == "10"
        if not lost and not any(deaths for *_, deaths in steps):
            assert both_ready(world)
    assert world.database.settings["search.theirs"] == "7"


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
    played(ring_story(exchanges, lost, seed))


async def ring_story(exchanges: list[Exchange], lost: float, seed: int) -> None:
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
