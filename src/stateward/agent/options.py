"""The options of `run`: their names, their parsing, and their settings.

`argparse` is not used: it would permanently take half a megabyte in every database pod.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stateward.agent.process.settings import LONGEST, Settings
from stateward.agent.serving import inquiry


class UsageError(ValueError):
    """An invalid command line."""


class Option(NamedTuple):
    """One option with a value."""

    setting: str
    """The field of the settings."""
    read: Callable[[str], object]
    meaning: str


def settings(words: Sequence[str], command: tuple[str, ...]) -> Settings:
    """Return the settings; the last of a repeated option applies. Raise `UsageError`."""
    found: dict[str, Any] = {}
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        option = OPTIONS.get(name)
        if option is None:
            raise UsageError(f"{name!r} is not an option of run")
        text = value if equals else next(left, None)
        if text is None:
            raise UsageError(f"{name} has no value")
        try:
            found[option.setting] = option.read(text)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
    missing = [name for name, option in OPTIONS.items() if option.setting in _REQUIRED - found.keys()]
    if missing:
        raise UsageError(f"{', '.join(missing)} missing")
    return Settings(command=command, **found)


def listed() -> str:
    """Return all options with their meanings, one per line."""
    width = max(map(len, OPTIONS))
    return "\n".join(f"  {name:<{width}}  {option.meaning}" for name, option in OPTIONS.items())


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not [ADDRESS]:PORT")
    return host.strip("[]"), int(port)


def _url(text: str) -> str:
    if not text.startswith("@"):
        inquiry.parse(text)
    elif "/" in text or text == "@":
        raise ValueError(f"{text!r} is not @ and the name of a file in the configuration")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"{text!r} is not a number of seconds above 0 and up to a day")
    return seconds


OPTIONS: Mapping[str, Option] = {
    "--config": Option("configuration", Path, "directory of the mounted configuration; required"),
    "--certificate": Option("certificate", Path, "the agent's certificate; required"),
    "--key": Option("key", Path, "its key; required"),
    "--token": Option("token", Path, "file with the agent's token; required"),
    "--client-ca": Option("client_ca", Path, "refuse clients without a certificate of this CA"),
    "--keep": Option("kept", Path, "writable directory for the configuration the process was started with"),
    "--phase": Option("phase", Path, "downward API file with the restart phase or all annotations"),
    "--expected": Option("expected", Path, "file with the checksum to wait for when nothing was kept"),
    "--api": Option("api", _address, "[ADDRESS]:PORT of the API; :8443"),
    "--probes": Option("probes", _address, "[ADDRESS]:PORT of the kubelet's probes; :8081"),
    "--started-url": Option("started_url", _url, "URL, or @NAME of a file in the configuration that holds it"),
    "--ready-url": Option("ready_url", _url, "the same for readiness"),
    "--credentials": Option("credentials", Path, "file with USER:PASSWORD for these URLs, if it is there"),
    "--probe-timeout": Option("probe_seconds", _seconds, "seconds; 3"),
    "--grace": Option("grace_seconds", _seconds, "seconds between TERM and KILL; 120"),
    "--releases": Option("releases", Path, "where copies of the agent are; /stateward/agent"),
}
_REQUIRED = frozenset(Settings._fields) - Settings._field_defaults.keys() - {"command"}
