"""Asks an exporter whether it reads its database: without credentials, at its pod's address."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stateward.engines.connection.base import Call, EngineError, Transport
from stateward.engines.connection.decoding import decoded
from stateward.engines.exporter.settings import PORT, STANDING_PATH, Standing

PATIENCE = 12.0
"""Seconds for one answer: the exporter waits up to 9 s for the database."""
SERVED = 200


class Report(Struct, frozen=True):
    """What an exporter reports; `up` is None if it did not answer."""

    up: bool | None
    said: str = ""
    starting: bool = False
    """Whether the first answer of the database is on its way."""


class AsksExporter(Protocol):
    """Asks the pods of an exporter."""

    async def __call__(self, addresses: Sequence[str]) -> Report:
        """Return the worst of what the pods at these addresses report."""
        ...


class ExporterQuestions:
    """Asks over HTTP."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def __call__(self, addresses: Sequence[str]) -> Report:
        """Return the worst of what the pods at these addresses report."""
        found = [await self._ask(address) for address in addresses] or [Report(None, "it has no address yet")]
        return min(found, key=lambda report: (report.up is True, report.up is None))

    async def _ask(self, address: str) -> Report:
        endpoint = f"http://[{address}]:{PORT}" if ":" in address else f"http://{address}:{PORT}"
        try:
            answer = await self._transport.send(Call(endpoint, "GET", STANDING_PATH, patience=PATIENCE))
            if answer.status != SERVED:
                return Report(None, f"{endpoint} answers with status {answer.status}")
            standing = decoded(Standing, answer.body, f"{endpoint} cannot be read:")
        except EngineError as error:
            return Report(None, str(error)[:300])
        return Report(standing.up, standing.why[:300], standing.starting)
