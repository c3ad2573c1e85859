"""Splits the chunks of a stream into lines, independent of the chunk boundaries."""

from collections.abc import AsyncGenerator, AsyncIterable

from stateward.kube.objects.errors import TransportError


async def split_lines(chunks: AsyncIterable[bytes], *, torn: bool = False) -> AsyncGenerator[bytes, None]:
    """Yield each non-empty line without its end; raise TransportError if the last has none and may not be `torn`."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line
    if rest and torn:
        yield rest
    elif rest:
        raise TransportError("the stream ended in the middle of a line")
