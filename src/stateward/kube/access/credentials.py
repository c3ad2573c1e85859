"""Who we are to the API server, and how to become it again when that has expired.

A source is asked before every request and answers from memory as long as it can. The server's 401 makes the client call
`invalidate` once, so that a token revoked early does not need a restart.
"""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stateward.kube.objects.errors import ConfigError
from stateward.kube.timing.clock import Clock, SystemClock

# The kubelet renews a projected token when 80 % of its life is over; a minute of delay is far inside the rest.
_TOKEN_FILE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, a user name with password, a client certificate (PEM), or nothing of these."""

    token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)

    def headers(self) -> dict[str, str]:
        """Return the Authorization header that presents this credential, if one does."""
        if self.token:
            return {"Authorization": f"Bearer {self.token}"}
        if self.username:
            pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}


class CredentialSource(Protocol):
    """Where credentials come from."""

    async def current(self) -> Credential:
        """Return the credential to use now; raises ConfigError when there is none to be had."""
        ...

    def invalidate(self) -> None:
        """Forget what is remembered: the server did not accept it."""
        ...


class StaticCredentials:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        """Return the credential."""
        return self._credential

    def invalidate(self) -> None:
        """Do nothing: there is no other."""


class TokenFile:
    """A token in a file that is rotated under us, such as a pod's service account token."""

    def __init__(self, path: Path, *, base: Credential | None = None, clock: Clock | None = None) -> None:
        self._path = path
        self._base = base or Credential()
        self._clock = clock or SystemClock()
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        """Return the token, read again when the last reading is more than a minute old."""
        now = self._clock.monotonic()
        if self._credential is None or now - self._read_at >= _TOKEN_FILE_SECONDS:
            self._credential = self._read()
            self._read_at = now
        return self._credential

    def invalidate(self) -> None:
        """Read the file at the next request."""
        self._credential = None

    def _read(self) -> Credential:
        try:
            # A token is one short line in a memory file system: reading it does not hold up the loop.
            token = self._path.read_text(encoding="utf-8").strip()
        except OSError as error:
            # Between two symlink swaps of a rotation the file can be missing; the last token is still good.
            if self._credential is None:
                raise ConfigError(f"the token file {self._path} cannot be read: {error.strerror}") from error
            return self._credential
        return Credential(token, certificate=self._base.certificate, key=self._base.key)
