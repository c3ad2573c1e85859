"""A transport for callers that must not change anything: only reads are sent."""

from stateward.engines.connection.access import Access
from stateward.engines.connection.base import NO, Answer, Call, RefusedError, Transport


class ReadingTransport:
    """A `Transport` that refuses every request but GET before it is sent."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def within(self, access: Access) -> "ReadingTransport":
        """Return the same for one secured cluster."""
        return ReadingTransport(self._transport.within(access))

    async def send(self, call: Call) -> Answer:
        """Return the answer to a read; raise RefusedError for any other request, and what the transport raises."""
        if call.method != "GET":
            raise RefusedError(f"{call.method} {call.path} is not sent: only reads are allowed here", NO)
        return await self._transport.send(call)
