"""The phases of a member in a timeline, each with a letter and two colours: a picture must not rest on colour alone."""

from enum import StrEnum

from msgspec import Struct


class Phase(StrEnum):
    """What a member is going through; a member that serves and has nothing to do has no phase."""

    CREATE = "create"
    START = "start"
    WAIT = "wait"
    PREPARE = "prepare"
    RELOAD = "reload"
    RESTART = "restart"
    UPGRADE = "upgrade"
    RECREATE = "recreate"
    REPLACE = "replace"
    MOVE = "move"
    REMOVE = "remove"
    GROW = "grow"
    REPAIR = "repair"
    STOPPED = "stopped"
    DOWN = "down"
    STALLED = "stalled"


class Style(Struct, frozen=True):
    """How a phase looks: its letter, its colours on a light and a dark ground, and its meaning as a clause."""

    letter: str
    light: str
    dark: str
    meaning: str
    terminal: str
    """The colour in a terminal, in rich's words."""


STYLES: dict[Phase, Style] = {
    Phase.CREATE: Style("C", "#2e9e6b", "#3fbf86", "is being created", "green"),
    Phase.START: Style("S", "#7cc38d", "#63a578", "starts, and does not serve yet", "bright_green"),
    Phase.WAIT: Style("w", "#d9dde3", "#3a424d", "waits to be safe or for its place in the order", "bright_black"),
    Phase.PREPARE: Style("P", "#e3b04b", "#d9a441", "is prepared for its step and still serves", "yellow"),
    Phase.RELOAD: Style("L", "#5ec2c9", "#57b3ba", "reloads its configuration", "bright_cyan"),
    Phase.RESTART: Style("R", "#2f7fd1", "#539bf5", "restarts", "blue"),
    Phase.UPGRADE: Style("U", "#6554c0", "#8b7cf0", "restarts with another version", "magenta"),
    Phase.RECREATE: Style("E", "#1f9bb5", "#39b5cf", "gets a new pod", "cyan"),
    Phase.REPLACE: Style("X", "#b5519c", "#d671bc", "leaves, because a new member takes its place", "bright_magenta"),
    Phase.MOVE: Style("M", "#a8754f", "#c08e66", "gives its data to other members", "dark_orange3"),
    Phase.REMOVE: Style("V", "#7a6a8f", "#9a8ab0", "leaves the cluster", "medium_purple"),
    Phase.GROW: Style("G", "#8aa63a", "#a3c14a", "gets a larger volume", "chartreuse3"),
    Phase.REPAIR: Style("F", "#d9822b", "#e8964a", "is repaired", "orange1"),
    Phase.STOPPED: Style("H", "#69707d", "#8b949e", "is kept stopped by a user", "white"),
    Phase.DOWN: Style("D", "#d64545", "#f0615c", "does not serve, and should", "red"),
    Phase.STALLED: Style("!", "#b42318", "#ff7b72", "needs a user: nothing continues by itself", "bold red"),
}
"""The style of each phase."""

BANDS: dict[str, Style] = {
    "green": Style("g", "#3fa968", "#3fb068", "every copy of every shard is there", "green"),
    "yellow": Style("y", "#e6b93d", "#d9ac35", "a shard lacks a copy", "yellow"),
    "red": Style("r", "#d64545", "#f0615c", "a shard has no copy", "red"),
    "accepted": Style("a", "#9fc9ae", "#2f6b47", "every shard accepts writes", "green"),
    "refused": Style("r", "#d64545", "#f0615c", "a shard accepts no writes", "red"),
    "unknown": Style("?", "#b9a3c9", "#6b5a7a", "the database does not answer", "magenta"),
}
"""The style of each value of a band; a value that is not listed looks unknown."""


def phase_of(text: str) -> Phase:
    """Return the phase of this name; one of another version of Stateward counts as waiting."""
    return Phase(text) if text in set(Phase) else Phase.WAIT


def band_style(value: str) -> Style:
    """Return the style of a band's value."""
    return BANDS.get(value, BANDS["unknown"])
