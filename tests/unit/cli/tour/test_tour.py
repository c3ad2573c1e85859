"""The tour: it plays by itself without a terminal, a viewer may intervene, and its recording repeats it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace as changed
from rich.console import Console
from rich.text import Text

from stateward.cli.main import cli
from stateward.cli.tour.controls import carry_out, controls, told
from stateward.cli.tour.player import Player
from stateward.cli.tour.verdict import verdict
from stateward.cli.tour.view import Around, fitting, latest, letters, screen, waits
from stateward.simulation.interactive.inputs import Recording, decode
from stateward.simulation.interactive.scenario import scenario

QUICK = ("--speed", "1000", "--no-page")


def tour(*words: str) -> Result:
    return CliRunner().invoke(cli, ["tour", *QUICK, *words])


@asynccontextmanager
async def player(engine: str = "opensearch") -> AsyncGenerator[Player]:
    """Give a player at the start of the story, without a script."""
    made = Player(scenario(engine), 0, 6.0, lambda _: [])
    try:
        await made.start()
        yield made
    finally:
        await made.close()


async def later(made: Player, seconds: float) -> None:
    """Let virtual seconds pass."""
    await made._do(lambda: made._step(seconds))


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch", "foundationdb"])
def test_the_story_plays_by_itself_and_no_document_is_lost(engine: str) -> None:
    result = tour("--engine", engine)
    assert result.exit_code == 0, result.output
    plan, _, rest = result.output.partition("members would change")
    story, _, end = rest.partition("TIMELINE")
    assert "ORDER" in plan
    assert "loses its power" in story
    assert "is back" in story
    assert "documents acknowledged, all found again" in end


def test_a_recorded_tour_repeats_itself(tmp_path: Path) -> None:
    file = tmp_path / "tour.json"
    first = tour("--seed", "7", "--record", str(file))
    recording = decode(file.read_bytes())
    assert recording.seed == 7
    assert len(recording.inputs) == 3
    again = tour("--replay", str(file))
    assert again.exit_code == 0
    assert again.output.splitlines()[-1] == first.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a tour that --record wrote"),
        ('{"engine": "other"}', "engine: 'other': must be one of opensearch"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "tour.json"
    file.write_text(content)
    result = tour("--replay", str(file))
    assert result.exit_code == 1
    assert message in result.output


async def test_a_viewer_kills_a_node_and_brings_it_back() -> None:
    async with player() as made:
        await carry_out(made, "restore-node")
        assert made.recording().inputs == ()
        await carry_out(made, "lose-node")
        (node,) = made.frame.lost
        await carry_out(made, "lose-node")
        assert made.frame.lost == (node,)
        await later(made, 60.0)
        assert any(card.state == "Down" for card in made.frame.cluster.status.member_states)
        await carry_out(made, "restore-node")
        await later(made, 120.0)
        assert made.frame.settled
        assert [mark.text for mark in made.frame.timeline.marks] == [f"{node} loses its power", f"{node} is back"]
        assert verdict(made.frame).good


async def test_a_viewer_edits_the_version_and_takes_it_back() -> None:
    async with player() as made:
        await carry_out(made, "edit-version")
        assert made.frame.cluster.spec.version == "2.19.5"
        await carry_out(made, "take-back")
        assert made.frame.cluster.spec.version == "2.18.0"
        assert len(made.recording().inputs) == 2


async def test_time_can_be_paused_and_made_faster_and_slower() -> None:
    async with player() as made:
        await carry_out(made, "pause")
        assert not made.paused
        for command, speed in (("faster", 10.0), ("slower", 6.0), ("slower", 4.0)):
            await carry_out(made, command)
            assert made.speed == speed
        with pytest.raises(KeyError):
            await carry_out(made, "delete-everything")


async def test_time_passes_only_while_it_is_not_paused() -> None:
    async with player() as made:
        playing = asyncio.create_task(made.play())
        made.speed, made.paused = 100.0, False
        await made.next_frame()
        await made.next_frame()
        assert made.frame.time > 0
        playing.cancel()


async def test_the_page_gets_the_same_commands_as_the_keys() -> None:
    async with player() as made:
        assert [control.command for control in told(made).controls] == [
            "lose-node",
            "restore-node",
            "edit-version",
            "take-back",
            "pause",
            "slower",
            "faster",
        ]
        assert told(made).verdict == verdict(made.frame).text


async def test_a_lost_document_or_a_failing_operator_is_no_success() -> None:
    async with player() as made:
        lost = replace(made.frame, writes=changed(made.frame.writes, acknowledged=10, found=9))
        assert not verdict(lost).good
        assert "1 of them lost" in verdict(lost).text
        assert not verdict(made.frame, ["KeyError: x"]).good
        assert not verdict(replace(made.frame, settled=False)).good


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
async def test_the_screen_fits_the_terminal(width: int, height: int) -> None:
    async with player() as made:
        await carry_out(made, "edit-version")
        await later(made, 30.0)
        possible = controls(made.story, made.frame, paused=False)
        drawn = screen(made.frame, Around(possible, "http://127.0.0.1:1/x/", "0:30", width, height))
        lines = Console(width=width, record=True, file=None).render_lines(drawn, pad=False)
        assert len(lines) <= height
        text = "\n".join("".join(part.text for part in line) for line in lines).replace("\N{NO-BREAK SPACE}", " ")
        for word in ("hot-5", "managers-0", "acknowledged", "Kill a node", "Quit"):
            assert word in text


async def test_the_screen_names_waits_for_the_same_thing_once_and_explains_its_letters() -> None:
    async with player() as made:
        await carry_out(made, "edit-version")
        await later(made, 12.0)
        assert any(member.missing_since_time for member in made.frame.cluster.status.member_states)
        shown = [text.plain for text in waits(made.frame)]
        assert [text for text in shown if "hot-0, " in text or ", hot-0" in text]
        assert not [text for text in shown if "has been missing" in text]
        assert "U upgrade   " in letters(made.frame).plain
        assert not [text.plain for text in latest(made.frame.seen) if "waiting: " in text.plain]


def test_a_long_reason_is_shown_on_several_lines_as_far_as_there_is_room() -> None:
    long, short = "a reason " * 20, "an end"
    assert [text.plain for text in fitting([Text(long), Text(short)], 4, 80)] == [long, short]
    cut = [*fitting([Text(short), Text(long), Text(short)], 2, 80)]
    assert [text.plain for text in cut] == [short, long]
    assert cut[1].no_wrap


def test_a_recording_without_inputs_is_the_story_of_its_seed() -> None:
    assert Recording().inputs == ()
