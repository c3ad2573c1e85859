"""The model does what the database did: recorded sequences of real databases, played again on the model.

The recordings are made, and the comparison is repeated live, by tests/e2e/opensearch/test_model.py.
"""

from pathlib import Path

import msgspec
import pytest

from tests.simulation.world.replaying import differences
from tests.support.recorded import Scene
from tests.support.sequence import SEQUENCE

pytestmark = pytest.mark.simulation

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.json"))


def scenes(recording: Path) -> list[Scene]:
    return msgspec.json.decode(recording.read_bytes(), type=list[Scene])


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_the_model_does_what_the_database_did(recording: Path) -> None:
    assert differences(scenes(recording)) == []


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_is_of_the_whole_sequence(recording: Path) -> None:
    found = [(scene.step.does, scene.step.what, scene.step.replicas) for scene in scenes(recording)]
    assert found == [(step.does, step.what, step.replicas) for step in SEQUENCE]


def test_a_model_that_forgets_the_delay_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison proves nothing until it has been seen to fail."""
    monkeypatch.setattr("stateward.simulation.opensearch.allocation.DELAY", 0.0)
    assert "step 5 (stop hot-1)" in differences(scenes(RECORDINGS[0]))[0]
