"""How the operator gets into a secured cluster: whom it trusts, by which name it knows it, and who it says it is."""

import base64
import os
import ssl
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

MOST = 1024
"""Contexts that are kept; one more than these is made again, which takes a millisecond."""


@dataclass(frozen=True, slots=True)
class Access:
    """What it takes to talk to one cluster; certificates and key in PEM. No text made of this has a secret in it."""

    name: str
    """The name for which the database's certificate has to be valid, whatever address was dialled."""
    trusted: str
    certificate: str = ""
    key: str = field(default="", repr=False)
    user: str = ""
    """Name to give with a password, where certificates prove nobody."""
    password: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """Return the headers that say who asks, where a certificate does not."""
        if not self.user:
            return {}
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}


class BadAccessError(Exception):
    """Certificates or a key that no context can be made of; the message contains neither."""


def context(access: Access) -> ssl.SSLContext:
    """Return a context that verifies chain and name, and shows the client's certificate; raises BadAccessError."""
    try:
        made = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=access.trusted)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        # An authority that is trusted need not have signed itself: what signed it is nobody's business here.
        made.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        if access.certificate:
            show(made, access.certificate, access.key)
    except (ssl.SSLError, ValueError, OSError) as error:
        # The library's own words may quote what it was given.
        raise BadAccessError(f"the certificates for {access.name} cannot be used: {type(error).__name__}") from None
    return made


class Contexts:
    """The contexts in use: one for each access, so that connections are used again until a certificate changes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._made: OrderedDict[Access, ssl.SSLContext] = OrderedDict()

    def of(self, access: Access) -> ssl.SSLContext:
        """Return the context of an access; raises BadAccessError."""
        found = self._made.get(access)
        if found is None:
            found = self._made[access] = context(access)
        self._made.move_to_end(access)
        while len(self._made) > self._most:
            self._made.popitem(last=False)
        return found


def show(made: ssl.SSLContext, certificate: str, key: str) -> None:
    """Make a context show a certificate; raises ssl.SSLError, OSError."""
    with _file(certificate) as certificate_path, _file(key) as key_path:
        made.load_cert_chain(certificate_path, key_path)


@contextmanager
def _file(content: str) -> Generator[str]:
    """Give a text the path that the TLS library insists on, in memory only: no key ever comes to a disk."""
    descriptor = os.memfd_create("stateward")
    try:
        os.write(descriptor, content.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
