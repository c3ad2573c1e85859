"""The process in the pod: reads the mounted configuration, which never changes, and serves until it is stopped."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from stateward.engines.connection.access import Access
from stateward.engines.connection.http import Bounds, HttpTransport, open_session
from stateward.engines.exporter.settings import PORT, SETTINGS
from stateward.engines.foundationdb.exporter.settings import FoundationSettings
from stateward.engines.search.exporter.settings import PASSWORD, TRUSTED, SearchSettings
from stateward.exporter.foundationdb.answers import Answers
from stateward.exporter.rounds import Rounds, Source
from stateward.exporter.search.questions import LARGEST, Questions
from stateward.exporter.serving import routes
from stateward.operator.runtime.listener import serve


async def run(folder: str, port: int = PORT) -> None:
    """Serve until SIGTERM or SIGINT; raises OSError, msgspec.DecodeError for settings that cannot be used."""
    settings = settings_in(Path(folder))
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with source(Path(folder), settings) as found, serve("", port, routes(Rounds(found))):
        await stop.wait()


@asynccontextmanager
async def source(folder: Path, settings: SearchSettings | FoundationSettings) -> AsyncGenerator[Source]:
    """Give the source of a database's values for a block; raises OSError."""
    if isinstance(settings, FoundationSettings):
        yield Answers(settings)
        return
    access = access_in(folder, settings)
    async with open_session() as session:
        transport = HttpTransport(session, Bounds(largest=LARGEST))
        yield Questions(transport if access is None else transport.within(access), settings)


def settings_in(folder: Path) -> SearchSettings | FoundationSettings:
    """Return the settings; raises OSError, msgspec.DecodeError."""
    return msgspec.json.decode((folder / SETTINGS).read_bytes(), type=SearchSettings | FoundationSettings)


def access_in(folder: Path, settings: SearchSettings) -> Access | None:
    """Return the credentials, None without security; raises OSError."""
    if not settings.server:
        return None
    trusted, password = ((folder / name).read_text() for name in (TRUSTED, PASSWORD))
    return Access(settings.server, trusted, user=settings.user, password=password)
