"""Output of commands in a container, over a WebSocket, in the protocol of `kubectl exec`."""

import json
from typing import cast

import aiohttp

from stateward.kube.client.exec import ExecError, TooMuchError

PROTOCOL = "v4.channel.k8s.io"
STDOUT, STDERR, STATUS = 1, 2, 3


async def output(socket: aiohttp.ClientWebSocketResponse, limit: int) -> bytes:
    """Return the output of a command after it ends; raise ExecError, or TooMuchError above the limit."""
    written, errors, status = bytearray(), bytearray(), b""
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel == STDOUT:
            written += data
        elif channel == STDERR:
            errors += data[: max(0, 1000 - len(errors))]
        elif channel == STATUS:
            status = data
        if len(written) > limit:
            raise TooMuchError(f"more than {limit} bytes were written")
    if not status:
        raise ExecError("the connection ended before the command did")
    _check(status, bytes(errors))
    return bytes(written)


def _check(status: bytes, errors: bytes) -> None:
    try:
        said = cast("dict[str, object]", json.loads(status))
    except ValueError:
        raise ExecError(status.decode(errors="replace")[:200]) from None
    if said.get("status") != "Success":
        text = errors.decode(errors="replace").strip() or str(said.get("message", ""))
        raise ExecError(text[:300])
