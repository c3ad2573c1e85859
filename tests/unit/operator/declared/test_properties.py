"""Whatever is lost, garbled or killed: the database gets what is declared, and foreign objects stay untouched."""

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.simulation.opensearch.http import Rates
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.unit.operator.declared.lives import lives, played
from tests.unit.operator.declared.world import World

PATHS = {
    "indexTemplate/logs": "/_index_template/logs",
    "role/reader": "/_plugins/_security/api/roles/reader",
    "ismPolicy/keep": "/_plugins/_ism/policies/keep",
    "snapshotPolicy/daily": "/_plugins/_sm/policies/daily",
    "ingestPipeline/clean": "/_ingest/pipeline/clean",
}


def body_of(kind: str, number: int) -> dict[str, Any]:
    """Return a body of a kind that differs for each number."""
    bodies: dict[str, dict[str, Any]] = {
        "indexTemplate/logs": {"index_patterns": ["logs-*"], "priority": number},
        "role/reader": {"cluster_permissions": [f"right-{number}"]},
        "ismPolicy/keep": {"policy": {"description": f"version {number}"}},
        "snapshotPolicy/daily": {"description": f"version {number}"},
        "ingestPipeline/clean": {"description": f"version {number}", "processors": []},
    }
    return bodies[kind]


@dataclass(frozen=True)
class Step:
    """One event: an edit to a number, a foreign change, a foreign deletion, or the deletion of the resource."""

    what: str
    number: int
    deaths: int
    """Writes to the API server or the database after which the operator dies; 0: it lives."""


STEPS = st.lists(
    st.builds(
        Step, st.sampled_from(["edit", "change", "remove"]), st.integers(1, 5), st.sampled_from([0, 0, 1, 2, 3, 4])
    ),
    max_size=4,
)


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(kind=st.sampled_from(sorted(PATHS)), steps=STEPS, lost=st.sampled_from([0.0, 0.1, 0.3]), seed=st.integers(0, 99))
def test_the_database_has_what_is_declared_in_the_end(kind: str, steps: list[Step], lost: float, seed: int) -> None:
    played(story(kind, steps, lost, seed))


async def story(kind: str, steps: list[Step], lost: float, seed: int) -> None:
    world = World(seed)
    path, rates, number = PATHS[kind], Rates(error=lost / 2, lost=lost, garbled=lost / 3), 0
    world.declare(object=kind, body=body_of(kind, number))
    for step in (Step("edit", 0, 0), *steps):
        world.database.wire.rates = rates
        stored = world.database.objects.by_path.get(path)
        if step.what == "edit":
            number = step.number
            world.declare(body=body_of(kind, number))
        elif step.what == "change" and stored is not None:
            changed = {**stored.body, **body_of(kind, 100 + step.number)}
            world.database.objects.writes += 1
            world.database.objects.by_path[path] = StoredObject(changed, world.database.objects.writes)
        elif stored is not None:
            del world.database.objects.by_path[path]
        await lives(world, step.deaths)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(lambda: world.is_ready() and world.status()["claim"] == "Owned", 3600)
        await asyncio.sleep(600)
        stored = world.database.objects.by_path[path].body
        assert {key: stored[key] for key in body_of(kind, number)} == body_of(kind, number)
        world.delete()
        await world.until(lambda: not world.exists(), 3600)
    assert path not in world.database.objects.by_path


@settings(max_examples=30, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(kind=st.sampled_from(sorted(PATHS)), steps=STEPS, lost=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 99))
def test_an_object_that_was_there_before_is_never_touched(kind: str, steps: list[Step], lost: float, seed: int) -> None:
    played(foreign_story(kind, steps, lost, seed))


async def foreign_story(kind: str, steps: list[Step], lost: float, seed: int) -> None:
    world = World(seed)
    theirs = body_of(kind, 77)
    world.database.objects.by_path[PATHS[kind]] = StoredObject(dict(theirs), 1)
    world.declare(object=kind, body=body_of(kind, 0))
    for step in steps:
        world.database.wire.rates = Rates(error=lost / 2, lost=lost, garbled=lost / 3)
        world.declare(body=body_of(kind, step.number))
        await lives(world, step.deaths)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(lambda: world.stalled() == "Exists", 3600)
        world.delete()
        await world.until(lambda: not world.exists(), 3600)
    assert world.database.objects.by_path[PATHS[kind]].body == theirs
