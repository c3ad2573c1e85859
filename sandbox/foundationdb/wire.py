"""One request and one response over TCP: a line of JSON each way, with the protocol of the client."""

import asyncio
import json
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Message = dict[str, Any]
PATIENCE = 1.5
"""Seconds to connect and get an answer."""
GRACE = 0.2
"""Seconds that the last ones get when most have answered."""
LIMIT = 8 * 2**20


class SilentError(Exception):
    """No peer has answered."""


class RefusedError(SilentError):
    """Nothing listens there: the process has ended."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Where a program finds its certificates, and whom it believes: rules as the real one has them."""

    certificate: str
    key: str
    trusted: str
    rules: str = ""

    def context(self, purpose: ssl.Purpose, *, needed: bool = True) -> ssl.SSLContext:
        """Return the TLS context of a connection, read each time: the files change while a program runs.

        If it is not needed, a peer may have no certificate; one that it has must be valid.
        """
        made = ssl.create_default_context(purpose, cafile=self.trusted)
        made.check_hostname = False
        made.verify_mode = ssl.CERT_REQUIRED if needed else ssl.CERT_OPTIONAL
        if self.certificate:
            made.load_cert_chain(self.certificate, self.key)
        return made

    def believes(self, writer: asyncio.StreamWriter) -> bool:
        """Return whether the other one's certificate, which is valid, has a name by which it is believed."""
        found: Any = writer.get_extra_info("peercert") or {}
        names = {value for part in found.get("subject", ()) for field, value in part if field == "commonName"}
        return not self.rules or any(f"S.CN={name}" in self.rules.split("|") for name in names)


async def refresh(tls: Tls, context: ssl.SSLContext, seconds: float) -> None:
    """Take certificates that have changed into what connections are made with, until cancelled."""
    seen = _changed(tls)
    while True:
        await asyncio.sleep(seconds)
        if (now := _changed(tls)) == seen:
            continue
        try:
            # A certificate whose key is not there yet fails here, and not in the context of connections: a failed load
            # would leave it with a certificate and the key of another one.
            tls.context(ssl.Purpose.CLIENT_AUTH)
            context.load_verify_locations(tls.trusted)
            context.load_cert_chain(tls.certificate, tls.key)
        except (OSError, ssl.SSLError) as error:
            print(f"the certificates cannot be read again: {error}", flush=True)
            continue
        seen = now


def _changed(tls: Tls) -> list[int]:
    """Return when the files changed last; 0 for one that is not there."""
    files = [Path(name) for name in (tls.certificate, tls.key, tls.trusted)]
    return [file.stat().st_mtime_ns if file.exists() else 0 for file in files]


def certificates(options: Mapping[str, str]) -> Tls | None:
    """Return where certificates are, by the options or the environment; None where no one says.

    A client may have none of its own.
    """

    def said(name: str) -> str:
        return options.get(f"tls_{name}") or os.environ.get(f"FDB_TLS_{name.upper()}", "")

    own, key, trusted = said("certificate_file"), said("key_file"), said("ca_file")
    return Tls(own, key, trusted, said("verify_peers")) if trusted and bool(own) is bool(key) else None


async def ask(address: str, message: Message, patience: float = PATIENCE) -> Message:
    """Ask the process at `host:port`; raises SilentError."""
    host, _, port = address.removesuffix(":tls").rpartition(":")
    try:
        async with asyncio.timeout(patience):
            return await _exchange(host.strip("[]"), int(port), message, tls=address.endswith(":tls"))
    except ConnectionRefusedError as error:
        raise RefusedError(str(error)) from error
    except (TimeoutError, OSError, ValueError) as error:
        raise SilentError(str(error)) from error


async def most(questions: Sequence[Awaitable[Message]]) -> list[Message | None]:
    """Return the responses, None for each missing one; do not wait for the rest after a majority has answered.

    A powered-off machine refuses no connection: a leader that waited for it at every step would lose its lease.
    """
    tasks = [asyncio.ensure_future(question) for question in questions]
    pending, end = set(tasks), asyncio.get_running_loop().time() + PATIENCE + GRACE
    while pending:
        answered = [task for task in tasks if task.done() and task.exception() is None]
        patience = GRACE if len(answered) * 2 > len(tasks) else end - asyncio.get_running_loop().time()
        done, pending = await asyncio.wait(pending, timeout=max(0.0, patience), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            break
    for task in pending:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [None if task.cancelled() or task.exception() is not None else task.result() for task in tasks]


async def _exchange(host: str, port: int, message: Message, *, tls: bool) -> Message:
    own = certificates({}) if tls else None
    if tls and own is None:
        raise SilentError("there are no certificates to ask with")
    context = own.context(ssl.Purpose.SERVER_AUTH) if own is not None else None
    reader, writer = await asyncio.open_connection(host, port, limit=LIMIT, ssl=context)
    try:
        if own is not None and not own.believes(writer):
            raise SilentError("the certificate is another one's")
        writer.write(json.dumps(message).encode() + b"\n")
        await writer.drain()
        line = await reader.readline()
        return json.loads(line)
    finally:
        writer.close()


async def serve(
    host: str,
    port: int,
    answer: Callable[[Message], Awaitable[Message]],
    tls: Tls | None = None,
    context: ssl.SSLContext | None = None,
    stranger: Callable[[Message], Awaitable[Message]] | None = None,
) -> asyncio.Server:
    """Answer requests; a connection without a valid request is closed.

    `stranger` answers a peer without a certificate; without it, such a connection is closed, too.
    """

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                answers = answer if tls is None or tls.believes(writer) else stranger
                if answers is None or (answers is stranger and writer.get_extra_info("peercert")):
                    return
                message = json.loads(await reader.readline())
                writer.write(json.dumps(await answers(message)).encode() + b"\n")
                await writer.drain()
        except (TimeoutError, OSError, ValueError, KeyError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(one, host, port, limit=LIMIT, ssl=context)
