"""Readable reasons why a request got no answer; the status of a cluster shows them.

The errors of sockets and of the HTTP library speak of calls and objects. The reader needs to know whether nothing
listens, the address is unreachable, the peer closed the connection, or something other than the database answers.
"""

import errno
import ssl

import aiohttp

REFUSED = "it refuses the connection: the database has not started yet, or no longer runs"
UNROUTED = "its address is unreachable: the pod or its node is gone, or the network blocks the operator"
HUNG_UP = "it closed the connection before the answer was complete"
NOT_HTTP = "the process at this address does not answer in HTTP"
NO_TLS = "the TLS handshake failed: one side does not speak TLS, or they share no version"
UNNAMED = "its name does not resolve to an address"

_BY_NUMBER = {
    errno.ECONNREFUSED: REFUSED,
    errno.EHOSTUNREACH: UNROUTED,
    errno.ENETUNREACH: UNROUTED,
    errno.EHOSTDOWN: UNROUTED,
    errno.ECONNRESET: HUNG_UP,
    errno.EPIPE: HUNG_UP,
    errno.ECONNABORTED: HUNG_UP,
}
_BY_KIND: dict[type[BaseException], str] = {
    aiohttp.ClientConnectorDNSError: UNNAMED,
    aiohttp.ClientSSLError: NO_TLS,
    ssl.SSLError: NO_TLS,
    aiohttp.ServerDisconnectedError: HUNG_UP,
    aiohttp.ClientPayloadError: HUNG_UP,
    aiohttp.ClientResponseError: NOT_HTTP,
}


def failure_text(error: BaseException) -> str:
    """Return why there was no answer."""
    certificate = getattr(error, "certificate_error", error)
    if isinstance(certificate, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {certificate.verify_message}"
    words = next((text for kind, text in _BY_KIND.items() if isinstance(error, kind)), "")
    if not words and isinstance(error, OSError):
        words = _BY_NUMBER.get(error.errno or 0) or error.strerror or ""
    return words or str(error) or type(error).__name__
