"""The settings from the command line of `run`."""

from pathlib import Path
from typing import NamedTuple

LONGEST = 86_400.0
"""Seconds: the largest value of an option."""


class Settings(NamedTuple):
    """The agent's settings. They are in the pod template and stay the same for the life of the pod."""

    command: tuple[str, ...]
    configuration: Path
    certificate: Path
    key: Path
    token: Path
    api: tuple[str, int] = ("", 8443)
    probes: tuple[str, int] = ("", 8081)
    client_ca: Path | None = None
    kept: Path | None = None
    phase: Path | None = None
    expected: Path | None = None
    started_url: str | None = None
    ready_url: str | None = None
    credentials: Path | None = None
    probe_seconds: float = 3.0
    grace_seconds: float = 120.0
    releases: Path = Path("/stateward/agent")
