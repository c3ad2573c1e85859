"""The model that jumps from change to change ends where the one does that goes in small steps."""

from dataclasses import asdict
from typing import Any

import pytest

from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.foundationdb.next_change import EventfulEnsemble
from stateward.simulation.foundationdb.state import State
from tests.unit.simulation.foundationdb.model_processes import ModelProcesses


async def made(ensemble: type[Ensemble]) -> ModelProcesses:
    """Return the processes of a database that has settled, in a model of this kind."""
    found = await ModelProcesses().made()
    found.now += 60.0
    found.ensemble.advance()
    before = found.ensemble
    found.ensemble = ensemble(before.clock, before.timing, before.processes, cluster=before.cluster)
    return found


def look(state: State) -> Any:
    """Return what does not depend on the exact moment of a change."""
    found = asdict(state)
    shards = [(shard["size"], sorted(shard["holders"]), shard["target"]) for shard in found["shards"]]
    return (
        found["recovery"]["name"],
        sorted(found["servers"]),
        shards,
        sorted(found["roles"].items()),
        len(found["epochs"]),
    )


async def played(ensemble: type[Ensemble], event: str) -> ModelProcesses:
    """Return the processes ten minutes after an event."""
    found = await made(ensemble)
    cluster = found.ensemble.cluster
    assert cluster is not None
    if event == "a storage server is lost":
        found.ensemble.cut("10.0.0.4:4500")
    elif event == "a log ends":
        found.ensemble.end("10.0.0.7:4500")
    elif event == "a server of a zone in maintenance is lost":
        cluster.ask({"op": "maintenance", "zone": "z1", "seconds": 300.0}, found.now)
        found.ensemble.cut("10.0.0.4:4500")
    elif event == "a server is excluded":
        cluster.ask({"op": "exclude", "targets": ["10.0.0.5:4500"], "failed": False, "force": False}, found.now)
    else:
        cluster.ask({"op": "configure", "new": False, "options": ["triple"]}, found.now)
    if isinstance(found.ensemble, EventfulEnsemble):
        found.ensemble.touched = True
    found.now += 600.0
    found.ensemble.advance()
    return found


@pytest.mark.parametrize(
    "event",
    [
        "a storage server is lost",
        "a log ends",
        "a server of a zone in maintenance is lost",
        "a server is excluded",
        "the redundancy changes",
    ],
)
async def test_both_models_end_the_same(event: str) -> None:
    small, large = await played(Ensemble, event), await played(EventfulEnsemble, event)
    assert small.ensemble.cluster is not None
    assert large.ensemble.cluster is not None
    assert look(large.ensemble.cluster.state) == look(small.ensemble.cluster.state)
    assert isinstance(large.ensemble, EventfulEnsemble)
    assert large.ensemble.next_change() == float("inf")


async def test_a_model_at_rest_takes_no_steps_and_one_without_a_majority_has_no_next_change() -> None:
    found = await made(EventfulEnsemble)
    assert isinstance(found.ensemble, EventfulEnsemble)
    found.now += 1e6
    found.ensemble.advance()
    assert found.ensemble.next_change() == float("inf")
    for number in (1, 2):
        found.ensemble.cut(f"10.0.0.{number}:4500")
    assert found.ensemble.next_change() == float("inf")
