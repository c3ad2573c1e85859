"""Files that are replaced while the agent runs: tokens, certificates, credentials."""

import ssl
from collections.abc import Sequence
from hmac import compare_digest
from pathlib import Path

from stateward.agent.io.log import say

_TOKEN_LIMIT = 4096
Mark = tuple[tuple[int, int, int, int], ...]


def mark(paths: Sequence[Path]) -> Mark:
    """Return a value that changes whenever one of the files does. Raise `OSError`."""
    found = [path.stat() for path in paths]
    return tuple((each.st_dev, each.st_ino, each.st_mtime_ns, each.st_size) for each in found)


def secret(path: Path) -> bytes:
    """Return the present content of a short file, without surrounding white space. Raise `OSError`."""
    with path.open("rb") as file:
        return file.read(_TOKEN_LIMIT).strip()


class Token:
    """The agent's token, read again for each request: it is short, and a rotation takes effect at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def matches(self, authorization: bytes) -> bool:
        """Whether the header field is `Bearer` and the token. An empty or unreadable token refuses every request."""
        try:
            token = secret(self._path)
        except OSError as error:
            say(f"the token cannot be read, so every request is refused: {error}")
            return False
        return compare_digest(authorization, b"Bearer " + token) and bool(token)


class Certificate:
    """The TLS context of the server, recreated when the files have changed."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._paths = [certificate, key] + ([client_ca] if client_ca else [])
        self._mark: Mark | None = None
        self._context = _context()

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection.

        A changed certificate is loaded without a restart of the agent. Otherwise it would expire while the agent still
        uses it months later, and the operator could no longer reach any member. During a rotation the pair may not
        match for a moment; then the last good pair serves until a later connection. Before the first good pair, every
        handshake is refused. The disaster this prevents: a database that crashes stays down, because someone has
        changed the Secret of its agent.
        """
        try:
            now = mark(self._paths)
            if now != self._mark:
                self._context = self.load()
                if self._mark is not None:
                    say("the agent's certificate was reloaded")
                self._mark = now
        except OSError as error:
            say(f"the agent's certificate cannot be used yet: {error}")
        return self._context

    def load(self) -> ssl.SSLContext:
        """Return a context with the present content of the files. Raise `OSError`."""
        context = _context()
        context.load_cert_chain(self._certificate, self._key, password=_no_password)
        if self._client_ca is not None:
            context.load_verify_locations(self._client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def _context() -> ssl.SSLContext:
    """Return a context without a certificate: it refuses every handshake with an alert.

    With TLS 1.2 the server keeps the sessions of clients that ask for no ticket, twenty thousand of a kilobyte each:
    any client could double the agent's memory.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    return context


def _no_password() -> str:
    """Refuse keys with a password, for which OpenSSL would otherwise prompt on a terminal."""
    raise PermissionError("the agent's key has a password; it must have none")
