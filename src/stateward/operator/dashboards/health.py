"""Asks the instances of the dashboards whether they are available: without credentials, at their pods' addresses."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Call, EngineError, Transport
from stateward.engines.connection.decoding import decoded
from stateward.engines.search.dashboards.decision import Health
from stateward.engines.search.dashboards.frontend import PORT
from stateward.pki import Pair
from stateward.pki.given import server_name

PATIENCE = 5.0
"""Seconds for one answer."""
GOOD = frozenset({"available", "green"})
SERVED = 200


class Overall(Struct, frozen=True):
    """What an instance says of itself: a level in Kibana from 8 on, a state in earlier ones and in OpenSearch."""

    level: str = ""
    state: str = ""


class Statuses(Struct, frozen=True):
    """The parts of a status."""

    overall: Overall = Overall()


class StatusAnswer(Struct, frozen=True):
    """The answer of `/api/status`."""

    status: Statuses = Statuses()


class AsksHealth(Protocol):
    """Asks instances for their health."""

    async def __call__(self, addresses: Sequence[str], path: str, access: Access | None) -> tuple[Health, str]:
        """Return the worst of what the instances at these addresses report, and a sentence about it."""
        ...


class HealthQuestions:
    """Asks over HTTP."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def __call__(self, addresses: Sequence[str], path: str, access: Access | None) -> tuple[Health, str]:
        """Return the worst of what the instances at these addresses report, and a sentence about it."""
        unknown = ""
        for address in addresses:
            health, said = await self._ask(address, path, access)
            if health is Health.UNAVAILABLE:
                return health, said
            unknown = unknown or (said if health is Health.UNKNOWN else "")
        if unknown or not addresses:
            return Health.UNKNOWN, unknown or "no instance has an address yet"
        return Health.AVAILABLE, ""

    async def _ask(self, address: str, path: str, access: Access | None) -> tuple[Health, str]:
        host = f"[{address}]" if ":" in address else address
        endpoint = f"{'http' if access is None else 'https'}://{host}:{PORT}"
        transport = self._transport if access is None else self._transport.within(access)
        try:
            answer = await transport.send(Call(endpoint, "GET", path, patience=PATIENCE))
            if answer.status != SERVED:
                return Health.UNAVAILABLE, f"{endpoint}{path} answers with status {answer.status}"
            overall = decoded(StatusAnswer, answer.body, f"{endpoint}{path} cannot be read:").status.overall
        except EngineError as error:
            return Health.UNKNOWN, str(error)
        said = overall.level or overall.state
        if said in GOOD:
            return Health.AVAILABLE, ""
        return Health.UNAVAILABLE, f"{endpoint}{path} reports {said[:60] or 'no level'}"


def access_of(certificate: str) -> Access:
    """Return how instances that show this very certificate are verified; nothing is shown to them."""
    return Access(server_name(Pair(certificate, "")), certificate)
