"""What a sandbox was asked to be; kept on disk so that every later verb knows it."""

from pathlib import Path

import msgspec


class Settings(msgspec.Struct, frozen=True):
    """The choices of `up`.

    `sync_frequency` is the kubelet's, in seconds: how late a Secret may reach a pod. `pretend_nodes` are
    played by kwok, which is built only when there are some. The API server logs the requests of the user `audited`.
    """

    nodes: int = 3
    port: int = 0
    sync_frequency: int = 10
    pretend_nodes: int = 0
    audited: str = ""


def load(path: Path) -> Settings | None:
    """Return the settings of a sandbox that exists, else None."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Settings)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def save(path: Path, settings: Settings) -> None:
    """Write the settings in one piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(settings))
    fresh.replace(path)
