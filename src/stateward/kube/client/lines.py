"""From the chunks of a stream to its lines, whatever the network cut where."""

from collections.abc import AsyncGenerator, AsyncIterable

from stateward.kube.objects.errors import TransportError


async def split_lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield each non-empty line without its end; raises TransportError when the stream ends inside one."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line
    if rest:
        raise TransportError("the stream ended in the middle of a line")
