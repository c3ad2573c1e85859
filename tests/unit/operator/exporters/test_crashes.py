"""Whatever is lost, garbled or killed: the exporter ends as the spec asks, and leaves nothing in the database."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from stateward.simulation.opensearch.http import Rates
from tests.unit.operator.dashboards.test_crashes import lives
from tests.unit.operator.declared.lives import played
from tests.unit.operator.exporters.world import World

KINDS = [OPENSEARCH, ELASTICSEARCH]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deaths", range(1, 14))
def test_a_crash_after_each_write_of_creation_rotation_and_removal_is_survived(kind: ClusterKind, deaths: int) -> None:
    played(one_life(kind, deaths))


async def one_life(kind: ClusterKind, deaths: int) -> None:
    world = World(kind=kind)
    world.ask_for()
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(world.available)
    world.rewrite_secret("logs-metrics-keys", password=None)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: world.available() and len(world.users()) == 1)
    world.edit(metrics=None)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: not world.status())
    assert world.owned() == []
    assert world.traces() == []


@dataclass(frozen=True)
class Step:
    """One event of a story, and the number of writes after which the operator dies; 0: it lives."""

    what: str
    deaths: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["resources", "remove", "rotate", "lose", "password"]),
        st.sampled_from([0, 0, 1, 2, 3, 5, 8]),
    ),
    max_size=5,
)


@settings(max_examples=30, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(kind=st.sampled_from(KINDS), steps=STEPS, lost=st.sampled_from([0.0, 0.1, 0.3]), seed=st.integers(0, 99))
def test_exporters_end_as_the_spec_asks(kind: ClusterKind, steps: list[Step], lost: float, seed: int) -> None:
    played(story(kind, steps, lost, seed))


async def story(kind: ClusterKind, steps: list[Step], lost: float, seed: int) -> None:
    world = World(seed, kind)
    foreign = {each.uid for each in world.store.everything()}
    asked: dict[str, Any] = {}
    for number, step in enumerate((Step("begin", 0), *steps)):
        there = bool(world.texts("logs-metrics-keys"))
        if step.what == "rotate" and there:
            world.rewrite_secret("logs-metrics-keys", password=None)
        elif step.what == "lose" and there:
            world.delete("/secrets", "logs-metrics-keys")
        elif step.what == "password":
            world.database.objects.passwords = dict.fromkeys(world.database.objects.passwords, "by hand")
        elif step.what == "resources":
            asked = {"resources": {"limits": {"memory": f"{100 + number}Mi"}}}
        if step.what == "remove":
            world.edit(metrics=None)
        else:
            world.ask_for(**asked)
        await lives(world, step.deaths, lost)
    world.ask_for(**asked)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(world.available, 3600)
        await asyncio.sleep(300)
        assert len(world.users()) == 1
        world.edit(metrics=None)
        await world.until(lambda: not world.status(), 3600)
    assert world.owned() == []
    assert world.traces() == []
    assert all(world.store.by_uid(uid) is not None for uid in foreign)
