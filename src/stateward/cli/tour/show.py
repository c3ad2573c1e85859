"""Follows a tour: on a terminal with keys, and elsewhere line by line."""

import asyncio
import webbrowser
from contextlib import suppress

from rich.console import Console, RenderableType
from rich.live import Live

from stateward.cli.shared.echo import echo
from stateward.cli.tour.controls import KEYS, carry_out, controls
from stateward.cli.tour.keys import GONE, pressed
from stateward.cli.tour.player import Frame, Player
from stateward.cli.tour.verdict import verdict
from stateward.cli.tour.view import Around, clock, screen

READING = 10.0
"""Real seconds for the plan, before the story begins by itself."""
REDRAW = 0.12
"""Real seconds between two drawings of the terminal."""
LONGEST = 3600.0
"""Virtual seconds after which a tour without a viewer ends."""
QUIT, OPEN = "q", "o"


async def read_first(player: Player, console: Console, url: str) -> None:
    """Give the viewer time for the plan: until a key is pressed, on the terminal or on the page."""
    console.print(f"\nPress any key to begin; it begins by itself in {READING:.0f} seconds.", style="bold")
    with pressed() as keys, suppress(TimeoutError):
        async with asyncio.timeout(READING):
            while player.paused:
                with suppress(TimeoutError):
                    if await asyncio.wait_for(keys.get(), REDRAW) == OPEN and url:
                        webbrowser.open(url)
                    return


async def follow_screen(player: Player, console: Console, url: str) -> Frame:
    """Redraw the terminal and carry out keys until the viewer quits; return the last frame."""
    player.paused = False
    with pressed() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(drawing(player, console, url), refresh=True)
            key = ""
            with suppress(TimeoutError):
                key = await asyncio.wait_for(keys.get(), REDRAW)
            if key in (QUIT, GONE):
                return player.frame
            if key == OPEN and url:
                webbrowser.open(url)
            if key in KEYS:
                await carry_out(player, KEYS[key])


def drawing(player: Player, console: Console, url: str) -> RenderableType:
    """Return the screen of the present frame."""
    frame = player.frame
    pace = f"{clock(frame.time)}, {'time paused' if player.paused else f'{player.speed:g} times as fast'}"
    result = verdict(frame, player.failures) if frame.settled else None
    possible = controls(player.story, frame, paused=player.paused)
    return screen(frame, Around(possible, url, pace, console.width, console.height, result))


async def follow_lines(player: Player) -> Frame:
    """Print each change of the cluster until the story is over; return the last frame."""
    player.paused = False
    begin, printed = player.frame.seen.begin, 0.0
    while True:
        frame = player.frame
        new = [(mark.at, f"* {mark.text}") for mark in frame.timeline.marks if mark.at > printed]
        new += [(change.at, change.text) for change in frame.seen.changes if change.at > printed]
        for at, text in sorted(new):
            echo(f"{clock(at - begin):>6}  {text}")
            printed = at
        if player.over or frame.time > LONGEST:
            return frame
        await player.next_frame()
