"""Failures of requests to the API server, one type per different reaction of callers.

Two distinctions matter most. `NotFound` means that the server knows the kind and says that the object does not exist; a
path that it does not serve (a CRD not installed, an API group not ready) is `UnknownResource`, because unknown is never
absent. And `may_have_committed` says whether a failed write may have happened anyway.
"""

# Errors carry the names of the server's own reasons, as the documentation of Kubernetes does.
# ruff: noqa: N818

import msgspec

from stateward.kube.objects.metadata import WireRecord


class FieldCause(WireRecord):
    """One field that the server refused: its path, the explanation, and the machine-readable reason."""

    field: str = ""
    message: str = ""
    reason: str = ""


class StatusDetails(WireRecord):
    """The details of a `Status`: which object, and which fields."""

    name: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[FieldCause, ...] = ()
    retry_after_seconds: int = 0


class Status(WireRecord):
    """The API server's `Status` object, its answer if it has no other."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


class ApiError(Exception):
    """A failed request to the API server.

    `status` is the HTTP status (0 if there was none), `reason` and `details` come from the server's `Status`,
    `retry_after` is in seconds if the server requested a delay. `may_have_committed` is True if a failed write may have
    been executed anyway: read before a retry.
    """

    def __init__(
        self, message: str, *, status: Status | None = None, retry_after: float = 0.0, may_have_committed: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status.code if status else 0
        self.reason = status.reason if status else ""
        self.details = (status.details if status else None) or StatusDetails()
        self.retry_after = retry_after
        self.may_have_committed = may_have_committed

    @property
    def causes(self) -> tuple[FieldCause, ...]:
        """The refused fields, if the server named them."""
        return self.details.causes


class ConfigError(Exception):
    """A kubeconfig, an exec plugin or the in-cluster files cannot be used; the message names the field and the file."""


class FreshStart(Exception):
    """What this process has read no longer holds: it ends, and the next one starts without memory."""


class BadRequest(ApiError):
    """400: the server could not understand the request."""


class Unauthorized(ApiError):
    """401: the credentials were refused, also after one refresh."""


class Forbidden(ApiError):
    """403: not allowed by RBAC, quota or admission."""


class NotFound(ApiError):
    """404 about an object (or its namespace) of a kind that the server serves: it does not exist."""


class UnknownResource(ApiError):
    """404 about the path: the server does not serve this kind now. It says nothing about objects."""


class Conflict(ApiError):
    """409: the resourceVersion or another precondition does not hold, or another manager owns a field."""


class AlreadyExists(ApiError):
    """409: an object with that name exists already."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class Invalid(ApiError):
    """422: validation refused it; `causes` names the fields."""


class TooManyRequests(ApiError):
    """429: throttled, or (for an eviction) the disruption budget does not allow it now. Never executed."""


class ServerTimeout(ApiError):
    """504, or a server-side timeout: the server stopped waiting; a write may have been executed."""


class Unavailable(ApiError):
    """Any other 5xx: the server or a proxy in front of it cannot answer now."""


class TransportError(ApiError):
    """There was no complete answer: the connection failed, broke or timed out."""


class DecodeError(ApiError):
    """The server's answer does not fit the projection. After a write, the write has happened."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
    504: ServerTimeout,
}
LONGEST_WAIT = 60.0
"""Seconds that a server may ask this process to wait.

The disaster this prevents: a gateway in front of the API server names an hour, or a number without an end, and a watch
stands still for so long although the server is back after a moment.
"""
_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Gone,
    "Gone": Gone,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
    "TooManyRequests": TooManyRequests,
}


_UNTYPED = "failed to create typed patch object"
"""How a server-side apply of an object that does not fit its schema is refused: with the status 500, and at once."""


def error_for(status: Status, *, mutating: bool = False, retry_after: float = 0.0) -> ApiError:
    """Create the typed error for a `Status`; `retry_after` in seconds overrides that of the status."""
    kind = _type_of(status)
    given = status.details.retry_after_seconds if status.details else 0
    after = float(min(max(retry_after or given, 0), LONGEST_WAIT))
    committed = mutating and issubclass(kind, ServerTimeout | Unavailable)
    return kind(status.message or status.reason, status=status, retry_after=after, may_have_committed=committed)


def error_for_body(code: int, body: bytes, *, mutating: bool = False, retry_after: float = 0.0) -> ApiError:
    """Create the typed error for an HTTP answer, with a `Status` or any other text as body."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        status = Status()
    if status.kind != "Status":
        text = body[:300].decode(errors="replace").strip()
        status = Status(message=f"HTTP {code}: {text or 'no explanation'}")
    # The HTTP status decides: a proxy or webhook may have written anything into the body.
    return error_for(msgspec.structs.replace(status, code=code), mutating=mutating, retry_after=retry_after)


def _type_of(status: Status) -> type[ApiError]:
    if status.code == 500 and status.message.startswith(_UNTYPED):
        return BadRequest
    if status.reason in _BY_REASON:
        return _BY_REASON[status.reason]
    if status.code == 404:
        named = status.reason == "NotFound" and status.details is not None and status.details.name
        return NotFound if named else UnknownResource
    if status.code >= 500:
        return _BY_CODE.get(status.code, Unavailable)
    return _BY_CODE.get(status.code, ApiError)
