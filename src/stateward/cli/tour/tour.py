"""`tour`: the shipped operator upgrades a cluster under load while a node is lost, on this machine, in a minute."""

import asyncio
import webbrowser
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec
from msgspec import structs

from stateward.cli.page.server import open_page
from stateward.cli.preview.forecast import forecast
from stateward.cli.preview.inputs import PlanInputs, read_inputs
from stateward.cli.preview.preview import Preview, preview
from stateward.cli.shared import screen
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.options import PORT, SEED, Number
from stateward.cli.shared.session import Session
from stateward.cli.tour.controls import next_version
from stateward.cli.tour.host import TourHost
from stateward.cli.tour.player import Event, Player
from stateward.cli.tour.show import follow_lines, follow_screen, read_first
from stateward.cli.tour.verdict import verdict
from stateward.cli.tour.view import chart
from stateward.kube.timing.background import in_background
from stateward.operator.objects.kinds import kind_of
from stateward.simulation.campaign.engine_setups import ENGINES
from stateward.simulation.interactive.inputs import Input, Recording, decode, encode
from stateward.simulation.interactive.live_world import LiveWorld
from stateward.simulation.interactive.scenario import events, scenario
from stateward.simulation.world.world import NAME


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user has chosen."""

    recording: Recording
    replayed: bool
    speed: float
    page: bool
    port: int
    browser: bool


@click.command()
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Draws the timings of the world.")
@click.option(
    "--speed",
    type=Number(0.1, 1000),
    default=6.0,
    show_default=True,
    help="Seconds of the story in a second.",
)
@click.option("--page/--no-page", default=True, show_default=True, help="Also show it in a browser, on this machine.")
@click.option("--port", type=PORT, default=0, help="Port of the page; default: a free one.")
@click.option("--open", "browser", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Write what repeats this tour to a file."
)
@click.option(
    "--replay", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="Repeat a tour from its file."
)
def tour(*, record: Path | None, replay: Path | None, engine: str, seed: int, **more: object) -> None:
    """Watch an upgrade under load while a node is lost.

    The shipped operator works on a world in memory: no cluster, no container and no root is needed, and nothing outside
    of this process changes. You see the plan, then the upgrade on the terminal and on a local page, then the timeline.
    You may kill a node, edit the version and take it back. Without a terminal the story plays by itself.

    Exit code 1 if an acknowledged document was lost or the operator failed.
    """
    recording = read_recording(replay) if replay is not None else Recording(engine, seed)
    choices = Choices(recording, replay is not None, **more)  # pyright: ignore[reportArgumentType]
    made, good = asyncio.run(shown(choices))
    if record is not None:
        record.write_bytes(encode(made))
    click.get_current_context().exit(0 if good else 1)


def read_recording(path: Path) -> Recording:
    """Return the recording in a file; raise Failure if it is not one."""
    try:
        found = decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise Failure(f"{path}: not a tour that --record wrote: {error}") from error
    if found.engine not in ENGINES:
        raise Failure(f"{path}: engine: {found.engine!r}: must be one of {', '.join(ENGINES)}")
    return found


async def shown(choices: Choices) -> tuple[Recording, bool]:
    """Show the tour; return its recording, and whether all went well."""
    console = screen.console()
    console.print("Stateward's operator, a Kubernetes and a database in memory: the cluster is being created …")
    async with playing(choices, alone=not console.is_terminal) as player, page_of(player, choices) as url:
        console.print(f"The page: {url}\n" if url else "")
        await show_plan(player)
        if console.is_terminal:
            await read_first(player, console, url)
            frame = await follow_screen(player, console, url)
        else:
            frame = await follow_lines(player)
        console.print(chart(frame, console.width))
        result = verdict(frame, player.failures)
        console.print()
        console.print(result.text, style="bold green" if result.good else "bold red")
        left_by_viewer = console.is_terminal and not frame.settled
        lost = frame.writes.found < frame.writes.acknowledged or bool(player.failures)
        return player.recording(), result.good or (left_by_viewer and not lost)


@asynccontextmanager
async def playing(choices: Choices, *, alone: bool) -> AsyncGenerator[Player]:
    """Give the player of a tour, at the start of the story and with time paused."""
    recording = choices.recording
    story = scenario(recording.engine)

    def made(start: float) -> Sequence[tuple[float, Event]]:
        return script(recording, start, replayed=choices.replayed)

    player = Player(story, recording.seed, choices.speed, made, alone=alone)
    player.end = recording.end if choices.replayed else None
    try:
        await player.start()
        async with in_background(player.play()):
            yield player
    finally:
        await player.close()


def script(recording: Recording, start: float, *, replayed: bool) -> Sequence[tuple[float, Event]]:
    """Return what happens when, in virtual time: the inputs of a recording, or the story itself."""
    if replayed:
        return [(timed.at, _giving(timed.what)) for timed in recording.inputs]
    return [(start + after, event) for after, event in sorted(events(scenario(recording.engine)).items())]


def _giving(what: Input) -> Event:
    def give(live: LiveWorld) -> None:
        live.give(what)

    return give


@asynccontextmanager
async def page_of(player: Player, choices: Choices) -> AsyncGenerator[str]:
    """Give the URL of the tour's page; empty without one."""
    if not choices.page:
        yield ""
        return
    async with open_page(TourHost(player), port=choices.port) as url:
        if choices.browser:
            webbrowser.open(url)
        yield url


async def show_plan(player: Player) -> None:
    """Print the plan of the upgrade, as `stateward plan` does."""
    cluster = player.frame.cluster
    wanted = structs.replace(
        cluster, spec=structs.replace(cluster.spec, version=next_version(player.story, player.frame))
    )

    async def plan(session: Session) -> tuple[PlanInputs, Preview]:
        found = await read_inputs(session, kind_of(cluster), NAME, wanted)
        return found, preview(found.observed, session.now(), found.pacing.durations)

    screen.show(forecast(*await player.ask(plan)))
