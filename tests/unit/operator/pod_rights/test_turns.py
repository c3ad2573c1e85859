"""Large specs of many clusters: each takes seconds to judge, and between two of them all else goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.kube.timing.turns import Turns
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.kinds import kind_of
from stateward.operator.observe import desired_state
from stateward.operator.observe.desired_state import DesiredStates
from stateward.operator.pod_rights import labels
from stateward.operator.pod_rights.labels import PodRights
from tests.unit.operator.pod_rights.clusters import search
from tests.unit.operator.pod_rights.test_large_templates import Empty

MANY = 8
FAMILY = unconnected(kind_of(search()))


def rights(turns: Turns) -> Callable[[Cluster], Awaitable[object]]:
    api: Any = Empty()
    return PodRights(api, FAMILY, labelled=True, turns=turns).of_spec


def desired(turns: Turns) -> Callable[[Cluster], Awaitable[object]]:
    return DesiredStates(FAMILY, Level.BASELINE, turns).desired


@pytest.mark.parametrize(("room", "name", "judged"), [(labels, "named", rights), (desired_state, "validate", desired)])
async def test_specs_are_judged_one_in_each_turn_of_the_loop(
    room: object,
    name: str,
    judged: Callable[[Turns], Callable[[Cluster], Awaitable[object]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator judged sixteen of them before it renewed its lease, lost it, and began with all of them again."""
    passed, begun, real = 0, list[int](), getattr(room, name)

    def seen(*args: object) -> object:
        begun.append(passed)
        return real(*args)

    async def all_else() -> None:
        nonlocal passed
        while True:
            passed += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(room, name, seen)
    turns, beside = Turns(), asyncio.create_task(all_else())
    await asyncio.gather(*(judged(turns)(search()) for _ in range(MANY)))
    beside.cancel()
    assert len(begun) == MANY
    assert len(set(begun)) == MANY
