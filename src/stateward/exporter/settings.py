"""Reads the configuration of an exporter: files of a mounted Secret, whose content never changes."""

from pathlib import Path

import msgspec

from stateward.engines.connection.access import Access
from stateward.engines.search.exporter.settings import PASSWORD, SETTINGS, TRUSTED, Settings


def read(folder: Path) -> tuple[Settings, Access | None]:
    """Return settings and credentials; raises OSError, msgspec.DecodeError."""
    settings = msgspec.json.decode((folder / SETTINGS).read_bytes(), type=Settings)
    if not settings.server:
        return settings, None
    trusted, password = ((folder / name).read_text() for name in (TRUSTED, PASSWORD))
    return settings, Access(settings.server, trusted, user=settings.user, password=password)
