"""Replaces this agent by a newer one over the same database: `exec` keeps the process id, and with it every child."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

from stateward.agent.io.signals import Signals
from stateward.agent.process.database import Facts, State

STATE = "STATEWARD_AGENT_HANDOVER"
REHEARSAL = "STATEWARD_AGENT_REHEARSAL"
VARIABLES = frozenset({STATE, REHEARSAL})
_FORMAT = 1
_FLAGS = ("-I", "-S", "-B", "-OO", "-X", "utf8", "-m", "stateward.agent")


class Handover(NamedTuple):
    """The state that the next agent needs to continue."""

    facts: Facts
    listeners: tuple[int, int]
    """The descriptors of the listening sockets of API and probes: no connection is refused during the replacement."""


def command(release: PurePath) -> list[str]:
    """Return the command that runs a copy of the agent, without a shell or anything else of the image."""
    return [
        str(release / "ld.so"),
        "--library-path",
        str(release / "lib"),
        str(release / "bin" / "python3"),
        *_FLAGS,
    ]


def pack(handover: Handover) -> str:
    """Return the handover as text for an environment variable."""
    facts = handover.facts._asdict() | {"state": handover.facts.state.value}
    return json.dumps({"format": _FORMAT, "facts": facts, "listeners": handover.listeners})


def unpack(text: str) -> Handover:
    """Return the handover from its text. Raise `ValueError`, `KeyError` or `TypeError`."""
    document = json.loads(text)
    if document["format"] != _FORMAT:
        raise ValueError(f"a handover of format {document['format']}; this agent understands {_FORMAT}")
    state = State(document["facts"].pop("state"))
    api, probes = document["listeners"]
    return Handover(Facts(state, **document["facts"]), (int(api), int(probes)))


def rehearse(arguments: list[str], handover: Handover) -> int:
    """Start the newer agent beside this one, to check that it understands the settings and the handover.

    Otherwise process 1 could become a program that cannot start, and its end would end the database too.
    """
    environment = {**os.environ, STATE: pack(handover), REHEARSAL: "true"}
    every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return os.posix_spawn(arguments[0], arguments, environment, setsid=True, setsigmask=(), setsigdef=every)


def become(arguments: list[str], handover: Handover, signals: Signals) -> None:
    """Become the newer agent. Return only by raising `OSError`, with everything unchanged."""
    signals.hold()
    try:
        for descriptor in handover.listeners:
            os.set_inheritable(descriptor, True)
        os.execve(arguments[0], arguments, _environment(handover))  # noqa: S606 - no shell is wanted
    except OSError:
        for descriptor in handover.listeners:
            os.set_inheritable(descriptor, False)
        signals.release()
        raise


def _environment(handover: Handover) -> Mapping[str, str]:
    return {**os.environ, STATE: pack(handover)}
