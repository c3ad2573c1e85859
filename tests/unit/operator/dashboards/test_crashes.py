"""Whatever is lost, garbled or killed: never ahead, never back, never two versions at once, nothing foreign gone."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.network import Rates as ApiRates
from stateward.simulation.opensearch.http import Rates
from tests.unit.operator.dashboards.world import USER_PATH, World
from tests.unit.operator.declared.lives import die_after, played

VERSIONS = {OPENSEARCH: ["2.19.1", "2.19.3", "2.19.5"], ELASTICSEARCH: ["8.17.0", "8.18.0", "8.19.4"]}


@dataclass(frozen=True)
class Step:
    """One event of a story, and the number of writes after which the operator dies; 0: it lives."""

    what: str
    deaths: int


async def lives(world: World, deaths: int, lost: float, seconds: float = 90) -> None:
    """Have an operator at work that dies after some writes, and then its successor for a while."""
    rates = Rates(error=lost / 2, lost=lost, garbled=lost / 3)
    api = ApiRates(error=lost / 2, lost=lost / 2)
    if deaths:
        network = Network(world.context.stream(f"dying-{deaths}"), world.context.count, rates=api)
        world.database.wire.rates = rates
        die_after(deaths, network, world.database.wire)
        async with world.operator(network=network):
            await asyncio.sleep(30)
        world.database.wire = world.wire(deaths)
    world.database.wire.rates = rates
    async with world.operator(network=Network(world.context.stream("living"), world.context.count, rates=api)):
        await asyncio.sleep(seconds)


@pytest.mark.parametrize("kind", [OPENSEARCH, ELASTICSEARCH])
@pytest.mark.parametrize("deaths", range(1, 15))
def test_a_crash_after_each_write_of_creation_upgrade_and_removal_is_survived(kind: ClusterKind, deaths: int) -> None:
    played(one_life(kind, deaths))


async def one_life(kind: ClusterKind, deaths: int) -> None:
    old, _, new = VERSIONS[kind]
    world = World(kind=kind, version=old)
    world.ask_for(replicas=2)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: world.available(old, 2))
    world.edit(version=new)
    world.set_status(new)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: world.available(new, 2))
    world.edit(dashboards=None)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: not world.status())
    assert world.owned() in ([], ["/secrets/logs-dashboards-keys"])
    assert USER_PATH not in world.database.objects.by_path
    assert world.database.tokens == {}


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["upgrade", "finish", "scale", "setting", "zero", "remove", "rotate", "pin"]),
        st.sampled_from([0, 0, 1, 2, 3, 5, 8]),
    ),
    max_size=5,
)


@settings(max_examples=40, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    kind=st.sampled_from([OPENSEARCH, ELASTICSEARCH]),
    steps=STEPS,
    lost=st.sampled_from([0.0, 0.1, 0.3]),
    seed=st.integers(0, 99),
)
def test_dashboards_end_as_the_spec_asks(kind: ClusterKind, steps: list[Step], lost: float, seed: int) -> None:
    played(story(kind, steps, lost, seed))


async def story(kind: ClusterKind, steps: list[Step], lost: float, seed: int) -> None:
    versions = VERSIONS[kind]
    world = World(seed, kind, versions[0])
    foreign = {each.uid for each in world.store.everything()}
    spec = versions[0]
    asked: dict[str, Any] = {"replicas": 2}
    world.ask_for(**asked)
    for step in (Step("begin", 0), *steps):
        if step.what == "upgrade":
            spec = versions[min(versions.index(spec) + 1, 2)]
            world.edit(version=spec)
        elif step.what == "finish":
            world.set_status(spec)
        elif step.what == "rotate" and world.texts("logs-dashboards-keys"):
            world.rewrite_secret("logs-dashboards-keys", password=None, token=None)
        elif step.what in ("scale", "zero"):
            asked = {**asked, "replicas": 3 if step.what == "scale" else 0}
        elif step.what == "setting":
            asked = {**asked, "config": {"server.maxPayload": 100 + len(asked)}}
        elif step.what == "pin":
            asked = {**asked, "version": versions[0]}
        if step.what == "remove":
            world.edit(dashboards=None)
        else:
            world.ask_for(**asked)
        await lives(world, step.deaths, lost)
    world.ask_for(**{key: value for key, value in asked.items() if key != "version"})
    world.set_status(spec)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(lambda: world.available(spec, asked["replicas"]), 3600)
        await asyncio.sleep(300)
        world.edit(dashboards=None)
        await world.until(lambda: not world.status(), 3600)
    assert not world.instances.faults
    assert world.owned() in ([], ["/secrets/logs-dashboards-keys"])
    assert USER_PATH not in world.database.objects.by_path
    assert world.database.tokens == {}
    assert all(world.store.by_uid(uid) is not None for uid in foreign)
