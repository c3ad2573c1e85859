"""Access to a secured cluster: the trusted authority, the verified server name, and the operator's credentials."""

import base64
import os
import ssl
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

MOST = 1024
"""Limit of cached contexts; creating one more takes a millisecond."""


@dataclass(frozen=True, slots=True)
class Access:
    """The credentials for one cluster; certificates and key in PEM. Its text representation contains no secret."""

    name: str
    """The name for which the database's certificate must be valid, regardless of the address."""
    trusted: str
    certificate: str = ""
    key: str = field(default="", repr=False)
    user: str = ""
    """User name for a password, if the database authenticates no client certificates."""
    password: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """Return the authentication headers, if a password is used."""
        if not self.user:
            return {}
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}


class BadAccessError(Exception):
    """Certificates or a key that TLS cannot use; the message contains neither."""


def context(access: Access) -> ssl.SSLContext:
    """Return a context that verifies chain and name, and presents the client certificate; raise BadAccessError."""
    try:
        made = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=access.trusted)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        # A trusted authority may be an intermediate one; its own issuer is not verified.
        made.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        if access.certificate:
            show(made, access.certificate, access.key)
    except (ssl.SSLError, ValueError, OSError) as error:
        # The library's own message may quote its input.
        raise BadAccessError(f"the certificates for {access.name} cannot be used: {type(error).__name__}") from None
    return made


class Contexts:
    """A cache of contexts, one per access, so that connections are reused until a certificate changes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._made: OrderedDict[Access, ssl.SSLContext] = OrderedDict()

    def of(self, access: Access) -> ssl.SSLContext:
        """Return the context of an access; raise BadAccessError."""
        found = self._made.get(access)
        if found is None:
            found = self._made[access] = context(access)
        self._made.move_to_end(access)
        while len(self._made) > self._most:
            self._made.popitem(last=False)
        return found


def show(made: ssl.SSLContext, certificate: str, key: str) -> None:
    """Add a client certificate to a context; raise ssl.SSLError or OSError."""
    with _file(certificate) as certificate_path, _file(key) as key_path:
        made.load_cert_chain(certificate_path, key_path)


@contextmanager
def _file(content: str) -> Generator[str]:
    """Provide a text at the file path that the TLS library needs, in memory only: no key is ever on a disk."""
    descriptor = os.memfd_create("stateward")
    try:
        os.write(descriptor, content.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
