"""What a viewer of the tour can do: commands with their keys, and whether each is possible now."""

from collections.abc import Mapping

from msgspec import Struct

from stateward.cli.page.tone import Tone
from stateward.cli.tour.player import Frame, Player
from stateward.cli.tour.verdict import Verdict, verdict
from stateward.simulation.interactive.scenario import Scenario, lose_node, restore_nodes, set_version
from stateward.simulation.interactive.writes import Writes


class Control(Struct, frozen=True, rename="camel"):
    """One command."""

    command: str
    key: str
    label: str
    enabled: bool = True


class Told(Struct, frozen=True, rename="camel"):
    """What the page shows of the tour besides the cluster."""

    kind: str
    time: float
    speed: str
    paused: bool
    writes: Writes
    controls: tuple[Control, ...]
    verdict: str
    verdict_tone: Tone


KEYS: Mapping[str, str] = {
    "k": "lose-node",
    "b": "restore-node",
    "v": "edit-version",
    "t": "take-back",
    " ": "pause",
    "+": "faster",
    "=": "faster",
    "-": "slower",
}
"""The command of each key."""


def controls(story: Scenario, frame: Frame, *, paused: bool) -> tuple[Control, ...]:
    """Return the commands."""
    following, deployed = next_version(story, frame), frame.cluster.status.version
    edit = f"Edit: version {following}" if following else "Edit the version"
    changing = frame.cluster.spec.version != deployed
    return (
        Control("lose-node", "k", "Kill a node", not frame.lost),
        Control("restore-node", "b", "Bring it back", bool(frame.lost)),
        Control("edit-version", "v", edit, bool(following)),
        Control("take-back", "t", f"Take it back: {deployed}" if changing else "Take it back", changing),
        Control("pause", "space", "Go on" if paused else "Pause time"),
        Control("slower", "-", "Slower"),
        Control("faster", "+", "Faster"),
    )


def next_version(story: Scenario, frame: Frame) -> str:
    """Return the version after the one of the spec; empty if it is the last."""
    later = story.versions[story.versions.index(frame.cluster.spec.version) + 1 :]
    return later[0] if later else ""


async def carry_out(player: Player, command: str) -> None:
    """Carry out a command; raise KeyError for an unknown one. One that is not possible now has no effect."""
    frame = player.frame
    possible = {control.command: control.enabled for control in controls(player.story, frame, paused=player.paused)}
    if not possible[command]:
        return
    match command:
        case "lose-node":
            await player.event(lose_node)
        case "restore-node":
            await player.event(restore_nodes)
        case "edit-version":
            await player.event(lambda live: set_version(live, next_version(player.story, frame)))
        case "take-back":
            await player.event(lambda live: set_version(live, frame.cluster.status.version))
        case "pause":
            player.paused = not player.paused
        case _:
            player.change_speed(1 if command == "faster" else -1)
    await player.changed()


def told(player: Player) -> Told:
    """Return the tour's part of the page."""
    frame = player.frame
    result = verdict(frame, player.failures) if frame.settled else Verdict("", good=True)
    return Told(
        "tour",
        frame.time,
        f"{player.speed:g}",
        player.paused,
        frame.writes,
        controls(player.story, frame, paused=player.paused),
        result.text,
        Tone.GOOD if result.good else Tone.BAD,
    )
