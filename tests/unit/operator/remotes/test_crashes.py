"""Whatever is lost, garbled or killed: the database ends as both specs say, and nothing is left in it."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.engines.search.remote.requests import PREFIX
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from stateward.simulation.opensearch.http import Rates
from tests.unit.operator.dashboards.test_crashes import lives
from tests.unit.operator.declared.lives import played
from tests.unit.operator.remotes.world import ENTRY, OURS, World

KINDS = [OPENSEARCH, ELASTICSEARCH]
FOREIGN = {f"{PREFIX}theirs.mode": "proxy", f"{PREFIX}theirs.proxy_address": "proxy.example:9300"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deaths", range(1, 9))
def test_a_crash_after_each_write_of_creation_change_and_removal_is_survived(kind: ClusterKind, deaths: int) -> None:
    played(one_life(kind, deaths))


async def one_life(kind: ClusterKind, deaths: int) -> None:
    world = World(kind=kind)
    world.settings_of_remotes.update(FOREIGN)
    world.consent()
    world.search(ENTRY)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(world.connected)
    world.search({**ENTRY, "skipUnavailable": False}, {**ENTRY, "name": "two"})
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: world.connected() and world.connected("two"))
    world.search()
    world.edit_other(remoteAccess=None)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: not world.status() and "remoteAccess" not in world.other().doc["status"])
    assert world.settings_of_remotes == FOREIGN
    assert world.service() is None


@dataclass(frozen=True)
class Step:
    """One event of a story, and the number of writes after which the operator dies; 0: it lives."""

    what: str
    deaths: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["ask", "leave", "consent", "refuse", "rename", "mandatory", "unreached", "reached"]),
        st.sampled_from([0, 0, 1, 2, 3, 5]),
    ),
    max_size=6,
)


@settings(max_examples=30, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(kind=st.sampled_from(KINDS), steps=STEPS, lost=st.sampled_from([0.0, 0.1, 0.3]), seed=st.integers(0, 99))
def test_remote_clusters_end_as_both_specs_say(kind: ClusterKind, steps: list[Step], lost: float, seed: int) -> None:
    played(story(kind, steps, lost, seed))


async def story(kind: ClusterKind, steps: list[Step], lost: float, seed: int) -> None:
    world = World(seed, kind)
    world.settings_of_remotes.update(FOREIGN)
    foreign = {each.uid for each in world.store.everything()}
    for step in steps:
        match step.what:
            case "ask":
                world.search(ENTRY)
            case "leave":
                world.search()
            case "consent":
                world.consent()
            case "refuse":
                world.edit_other(remoteAccess=None)
            case "rename":
                world.search({**ENTRY, "name": "other"})
            case "mandatory":
                world.search({**ENTRY, "skipUnavailable": False})
            case _:
                world.reachable = step.what == "reached"
        await lives(world, step.deaths, lost)
    world.reachable = True
    world.search(ENTRY)
    world.consent()
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(lambda: world.connected() and list(world.status()) == ["east"], 3600)
        await world.until(lambda: world.settings_of_remotes == {**FOREIGN, **OURS}, 3600)
        world.search()
        world.edit_other(remoteAccess=None)
        await world.until(lambda: not world.status() and "remoteAccess" not in world.other().doc["status"], 3600)
        await asyncio.sleep(60)
    assert world.settings_of_remotes == FOREIGN
    assert all(world.store.by_uid(uid) is not None for uid in foreign)
