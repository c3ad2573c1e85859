"""Credentials for the API server, and their renewal.

The client calls a source before every request; the source answers from memory as long as possible. After a 401 of the
server the client calls `invalidate` once, so that a token revoked early needs no restart.
"""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stateward.kube.objects.errors import ConfigError
from stateward.kube.timing.clock import Clock, SystemClock

FILE_SECONDS = 60.0
"""Seconds after which a file that is rotated is read again: the kubelet renews a token after 80 % of its life."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, a user name with password, a client certificate (PEM), or none of these."""

    token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)

    def headers(self) -> dict[str, str]:
        """Return the Authorization header of this credential, if it has one."""
        if self.token:
            return {"Authorization": f"Bearer {self.token}"}
        if self.username:
            pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}


class CredentialSource(Protocol):
    """A source of credentials."""

    async def current(self) -> Credential:
        """Return the current credential; raise ConfigError if there is none."""
        ...

    def invalidate(self, refused: Credential) -> None:
        """Drop a credential that the server refused, unless another has taken its place meanwhile."""
        ...


class StaticCredentials:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        """Return the credential."""
        return self._credential

    def invalidate(self, refused: Credential) -> None:
        """Do nothing: there is no other credential."""


class TokenFile:
    """A token in a file that is rotated, such as a pod's service account token."""

    def __init__(self, path: Path, *, base: Credential | None = None, clock: Clock | None = None) -> None:
        self._path = path
        self._base = base or Credential()
        self._clock = clock or SystemClock()
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        """Return the token, read again if the last read is more than a minute old."""
        now = self._clock.monotonic()
        if self._credential is None or now - self._read_at >= FILE_SECONDS:
            self._credential = self._read()
            self._read_at = now
        return self._credential

    def invalidate(self, refused: Credential) -> None:
        """Read the file at the next request, unless it was read since."""
        if self._credential == refused:
            self._credential = None

    def _read(self) -> Credential:
        token, why = "", "it is empty"
        try:
            # A token is one short line in a memory file system: reading it does not block the loop.
            token = self._path.read_text(encoding="utf-8").strip()
        except OSError as error:
            why = str(error.strerror)
        except UnicodeDecodeError:
            why = "it is not text"
        if token:
            return Credential(token, certificate=self._base.certificate, key=self._base.key)
        # Between two symlink swaps of a rotation the file can be missing, and one that is written in place is empty for
        # a moment. The last token is still valid; without one the server would take this process for a stranger.
        if self._credential is None:
            raise ConfigError(f"the token file {self._path} cannot be read: {why}")
        return self._credential
