"""A connection to an API server: address, trust, proxy and credentials, from any source."""

import hashlib
import os
import ssl
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stateward.kube.access.credentials import FILE_SECONDS, Credential, CredentialSource
from stateward.kube.objects.errors import ConfigError
from stateward.kube.timing.clock import Clock


@dataclass(frozen=True, slots=True)
class Tls:
    """Trust settings. `ca` is PEM (empty: the system's authorities), `server_name` replaces the address's host name.

    `ca_file` has the CA as it is rotated; `ca` is its content at the start.
    """

    ca: bytes = field(default=b"", repr=False)
    server_name: str = ""
    insecure: bool = False
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """All data to talk to one API server with one identity; `namespace` is the default for commands."""

    server: str
    credentials: CredentialSource
    tls: Tls = Tls()
    proxy_url: str = ""
    namespace: str = "default"


class TlsContexts:
    """Creates TLS contexts, one per CA and client certificate, and caches the last: both may be rotated."""

    def __init__(self, tls: Tls, clock: Clock) -> None:
        self._tls = tls
        self._clock = clock
        self._ca = tls.ca
        self._read_at: float | None = None
        self._made: tuple[bytes, ssl.SSLContext] | None = None

    def for_credential(self, credential: Credential) -> ssl.SSLContext:
        """Return the context that presents the credential's certificate; raise ConfigError if it is unusable."""
        ca = self._current_ca()
        digest = hashlib.sha256(b"\0".join((ca, credential.certificate, credential.key))).digest()
        if self._made is None or self._made[0] != digest:
            self._made = (digest, self._make(ca, credential))
        return self._made[1]

    def _current_ca(self) -> bytes:
        """Return the CA; a file is read again if the last read is more than a minute old."""
        now = self._clock.monotonic()
        if self._tls.ca_file is not None and (self._read_at is None or now - self._read_at >= FILE_SECONDS):
            self._read_at = now
            # Between two symlink swaps of a rotation the file can be missing; without a CA, the system's would count.
            with suppress(OSError):
                self._ca = self._tls.ca_file.read_bytes() or self._ca
        return self._ca

    def _make(self, ca: bytes, credential: Credential) -> ssl.SSLContext:
        try:
            # Bundles may have comments in any encoding; the certificates between them are ASCII.
            context = ssl.create_default_context(cadata=ca.decode("ascii", "ignore") or None)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"the certificate authority is not a PEM certificate: {error}") from error
        # Python 3.13 refuses authorities without a key usage extension; clusters use such, and Go accepts them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self._tls.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credential.certificate:
            _load_pair(context, credential)
        return context


def _load_pair(context: ssl.SSLContext, credential: Credential) -> None:
    # OpenSSL reads a key pair from files only; they exist only during the call, readable by this user alone.
    with tempfile.TemporaryDirectory(prefix="stateward-tls-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(credential.certificate + b"\n" + credential.key)
        try:
            context.load_cert_chain(os.fspath(pair))
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"the client certificate and key cannot be used together: {error}") from error
