"""What can go wrong between us and the API server, one type per thing a caller does differently.

Two distinctions matter more than the rest. `NotFound` means that the server knows the kind and says the object is not
there; a path that it does not serve (a CRD not installed, an API group not ready) is `UnknownResource`, because unknown
is never absent. And `may_have_committed` tells whether a write that failed can have happened all the same.
"""

# Errors carry the names of the server's own reasons, as the documentation of Kubernetes does.
# ruff: noqa: N818

import msgspec

from stateward.kube.objects.metadata import WireRecord


class FieldCause(WireRecord):
    """One field that the server refused: its path, why, and the machine-readable reason."""

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
    """The API server's `Status` object, its answer when it has no other."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


class ApiError(Exception):
    """A request to the API server that failed.

    `status` is the HTTP status (0 when there was none), `reason` and `details` come from the server's `Status`,
    `retry_after` is in seconds where the server asked for it, and `may_have_committed` is True when a write may have
    been carried out although it failed for us: read before doing it again.
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
        """The refused fields, where the server named them."""
        return self.details.causes


class ConfigError(Exception):
    """A kubeconfig, an exec plugin or the in-cluster files cannot be used; the message names the field and the file."""


class BadRequest(ApiError):
    """400: the server could not understand the request."""


class Unauthorized(ApiError):
    """401: the credentials were not accepted, also not after they were refreshed once."""


class Forbidden(ApiError):
    """403: not allowed by RBAC, quota or admission."""


class NotFound(ApiError):
    """404 about an object (or its namespace) of a kind that the server serves: it is not there."""


class UnknownResource(ApiError):
    """404 about the path: the server does not serve this kind now. Says nothing about objects."""


class Conflict(ApiError):
    """409: the resourceVersion or another precondition does not hold, or a field is owned by someone else."""


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class Invalid(ApiError):
    """422: refused by validation; `causes` names the fields."""


class TooManyRequests(ApiError):
    """429: throttled, or (for an eviction) the disruption budget says not now. Never carried out."""


class ServerTimeout(ApiError):
    """504, or a server-side time-out: the server gave up waiting; a write may have been carried out."""


class Unavailable(ApiError):
    """Any other 5xx: the server or something in front of it cannot answer now."""


class TransportError(ApiError):
    """There was no complete answer: the connection failed, broke or timed out."""


class DecodeError(ApiError):
    """The server's answer is not what the projection says. After a write, the write has happened."""


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
_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Gone,
    "Gone": Gone,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
    "TooManyRequests": TooManyRequests,
}


def error_for(status: Status, *, mutating: bool = False, retry_after: float = 0.0) -> ApiError:
    """Make the typed error for a `Status`; `retry_after` in seconds overrides what the status itself says."""
    kind = _type_of(status)
    after = retry_after or float(status.details.retry_after_seconds if status.details else 0)
    committed = mutating and issubclass(kind, ServerTimeout | Unavailable)
    return kind(status.message or status.reason, status=status, retry_after=after, may_have_committed=committed)


def error_for_body(code: int, body: bytes, *, mutating: bool = False, retry_after: float = 0.0) -> ApiError:
    """Make the typed error for an HTTP answer, whether its body is a `Status` or something a proxy wrote."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status()
    if status.kind != "Status":
        text = body[:300].decode(errors="replace").strip()
        status = Status(message=f"HTTP {code}: {text or 'no explanation'}")
    # The HTTP status decides: a proxy or webhook may have put anything into the body.
    return error_for(msgspec.structs.replace(status, code=code), mutating=mutating, retry_after=retry_after)


def _type_of(status: Status) -> type[ApiError]:
    if status.reason in _BY_REASON:
        return _BY_REASON[status.reason]
    if status.code == 404:
        named = status.reason == "NotFound" and status.details is not None and status.details.name
        return NotFound if named else UnknownResource
    if status.code >= 500:
        return _BY_CODE.get(status.code, Unavailable)
    return _BY_CODE.get(status.code, ApiError)
