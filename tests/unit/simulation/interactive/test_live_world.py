"""A world that a person drives: where it pauses and who reads it changes nothing, and its recording repeats it."""

from collections.abc import Sequence
from contextlib import closing

import pytest

from stateward.cli.preview.inputs import PlanInputs, read_inputs
from stateward.cli.shared.session import Session
from stateward.cli.steering.pause import set_paused
from stateward.planning.model.observation import Database
from stateward.simulation.interactive.inputs import Recording, decode, encode
from stateward.simulation.interactive.live_world import LiveWorld
from stateward.simulation.interactive.scenario import begin, lose_node, restore_nodes, scenario, set_version
from stateward.simulation.world.user_access import UserApi
from stateward.simulation.world.world import NAME, NAMESPACE

ENGINES = ("opensearch", "foundationdb")
SECONDS = 90.0

Trace = Sequence[tuple[float, str]]


def session(live: LiveWorld, api: UserApi) -> Session:
    return Session(api, NAMESPACE, clock=live.world.context.clock, execute=api.execute)


def read(live: LiveWorld) -> PlanInputs:
    return live.ask(lambda api: read_inputs(session(live, api), live.world.kind, NAME))


def upgraded(engine: str, step: float, *, reads: bool = False) -> tuple[Trace, Recording]:
    """Upgrade, lose a node and bring it back, with a pause each `step` seconds; return what happened."""
    story = scenario(engine)
    with closing(begin(story, 3)) as live:
        start = live.at
        set_version(live, story.versions[1])
        for number in range(1, round(SECONDS / step) + 1):
            live.advance(start + number * step)  # A sum of steps would miss the times below by a rounding error.
            if reads:
                read(live)
            if live.at == start + 30.0:
                lose_node(live)
            if live.at == start + 60.0:
                restore_nodes(live)
        return live.trace, live.recording


@pytest.mark.parametrize("engine", ENGINES)
def test_pauses_and_readers_change_nothing_in_a_world(engine: str) -> None:
    expected, _ = upgraded(engine, 30.0)
    assert len(expected) > 20
    assert upgraded(engine, 0.6, reads=True)[0] == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recording_repeats_a_run_with_the_edits_of_its_user(engine: str) -> None:
    story = scenario(engine)
    with closing(begin(story, 5)) as live:
        set_version(live, story.versions[1])
        live.advance(live.at + 12.3)
        live.ask(lambda api: set_paused(session(live, api), NAME, paused=True))
        live.advance(live.at + 20.0)
        live.ask(lambda api: set_paused(session(live, api), NAME, paused=False))
        live.advance(live.at + 41.7)
        recording, expected, measured = decode(encode(live.recording)), live.trace, live.meter
    with closing(begin(story, 5)) as again:
        again.repeat(recording)
        assert again.recording == recording
        assert again.trace == expected
        assert measured is not None
        assert again.meter is not None
        assert again.meter.latest == measured.latest


def test_a_user_sees_the_shards_through_the_proxy_of_the_api_server() -> None:
    with closing(begin(scenario("opensearch"), 0)) as live:
        found = read(live)
        assert isinstance(found.observed.database, Database)
        assert len(found.observed.database.units) == 8
        assert found.notes == ()


def test_documents_are_acknowledged_and_found_again_after_a_lost_node() -> None:
    with closing(begin(scenario("opensearch"), 0)) as live:
        assert live.meter is not None
        before = live.meter.latest.acknowledged
        assert live.meter.latest.per_second == 0.0
        node = lose_node(live)
        assert live.lost_nodes() == [node]
        assert lose_node(live) == ""
        live.advance(live.at + 60.0)
        writes = live.meter.latest
        assert writes.acknowledged > before
        assert writes.found == writes.acknowledged
        assert writes.health == "yellow"
        assert writes.longest > 0
