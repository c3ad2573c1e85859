"""The error responses of the API server, as the typed errors that the HTTP client raises for them."""

from collections.abc import Sequence

from stateward.kube.objects.errors import ApiError, FieldCause, Status, StatusDetails, error_for
from stateward.kube.objects.metadata import Key


def refusal(
    code: int, reason: str, message: str, *, name: str = "", kind: str = "", causes: Sequence[FieldCause] = ()
) -> ApiError:
    """Return the error for a status with this code and reason."""
    details = StatusDetails(name=name, kind=kind, causes=tuple(causes))
    return error_for(Status(kind="Status", code=code, reason=reason, message=message, details=details), mutating=True)


def not_found(kind: str, key: Key) -> ApiError:
    """Return the error for a missing object."""
    return refusal(404, "NotFound", f'{kind} "{key.name}" not found', name=key.name, kind=kind)


def exists(kind: str, key: Key) -> ApiError:
    """Return the error for an existing name."""
    return refusal(409, "AlreadyExists", f'{kind} "{key.name}" already exists', name=key.name)


def unserved(kind: str) -> ApiError:
    """Return the error for a path that the server does not serve."""
    return refusal(404, "NotFound", f"the server could not find the requested resource ({kind})")


def conflict(kind: str, key: Key, why: str, fields: Sequence[str] = ()) -> ApiError:
    """Return the error for a precondition, a version or an owner that does not match."""
    causes = [FieldCause(field=field, message=why, reason="FieldManagerConflict") for field in fields]
    message = f'Operation cannot be fulfilled on {kind} "{key.name}": {why}'
    return refusal(409, "Conflict", message, name=key.name, causes=causes)


def invalid(kind: str, key: Key, field: str, why: str) -> ApiError:
    """Return the error for a field that validation refuses."""
    cause = FieldCause(field=field, message=why, reason="FieldValueInvalid")
    return refusal(422, "Invalid", f'{kind} "{key.name}" is invalid: {field}: {why}', name=key.name, causes=(cause,))


def forbidden(kind: str, key: Key, why: str) -> ApiError:
    """Return the error for what quota or an admission plugin refuses."""
    return refusal(403, "Forbidden", f'{kind} "{key.name}" is forbidden: {why}', name=key.name)
