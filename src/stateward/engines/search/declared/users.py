"""Users in the database: their form for each product, and which of two users is the current one. Pure.

A database knows one password for each user. So a rotation with an overlap has two users by turns: the new one is made,
then applications are given it, and the old one stays valid for a time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.search_object import (
    ClusterKindName,
    Existing,
    SearchObjectSpec,
    SearchObjectStatus,
    SecretValue,
)
from stateward.api.kinds.search_user import SearchUser, SearchUserSpec, UserStatus
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.engines.search.declared.decision import Wish
from stateward.engines.search.declared.identity import OWN_NAMES, Declared
from stateward.engines.search.declared.kinds import ObjectKind

_SECONDS = {"m": 60, "h": 3600, "d": 86400}
PASSWORD = "/password"  # noqa: S105 - where it is
SHORTEST_ROTATION = 3600.0
"""Seconds: each rotation makes applications connect again."""

KINDS: Mapping[str, ObjectKind] = {
    ClusterKindName.OPENSEARCH: ObjectKind(
        "user",
        "/_plugins/_security/api/internalusers/{name}",
        answer="/{name}",
        exact=True,
        volatile=("/reserved", "/hidden", "/static", "/hash"),
    ),
    ClusterKindName.ELASTICSEARCH: ObjectKind(
        "user",
        "/_security/user/{name}",
        answer="/{name}",
        exact=True,
        volatile=("/username", "/enabled", "/profile_uid"),
    ),
}


def lifetime(text: str) -> float:
    """Return the seconds of a lifetime such as `90d`."""
    return float(int(text[:-1]) * _SECONDS[text[-1]])


def problems(user: SearchUser) -> Iterator[Problem]:
    """Yield what is wrong with a user, besides its shape."""
    spec, name = user.spec, base_name(user)
    if name in OWN_NAMES:
        yield Problem("spec.username", name, "cannot be declared: the operator and the probes need it")
    if spec.existing is Existing.MERGE:
        yield Problem("spec.existing", "Merge", "must be Refuse or Adopt")
    if spec.backend_roles and spec.cluster.kind is not ClusterKindName.OPENSEARCH:
        yield Problem("spec.backendRoles", spec.backend_roles, "is for OpenSearch only; use roles")
    yield from _password(spec)


def _password(spec: SearchUserSpec) -> Iterator[Problem]:
    rotation = spec.password.rotate_after
    if rotation is None:
        return
    if spec.password.secret_name is not None:
        text = "the operator rotates only passwords that it makes: leave secretName out, or rotateAfter"
        yield Problem("spec.password.rotateAfter", rotation, text)
    if lifetime(rotation) < SHORTEST_ROTATION:
        yield Problem("spec.password.rotateAfter", rotation, "must be 1h or longer")
    elif lifetime(spec.password.overlap) > lifetime(rotation) / 2:
        yield Problem("spec.password.overlap", spec.password.overlap, f"must be at most half of {rotation}")


def base_name(user: SearchUser) -> str:
    """Return the name of the user without the number of a rotation."""
    return user.spec.username or user.metadata.name


@dataclass(frozen=True)
class Turn:
    """Which user applications are to have, and which others are to be deleted now."""

    current: str
    retired: tuple[str, ...]
    rotation: float | None
    """When the next password is made, in seconds since the epoch; None if it never is."""


def turn(user: SearchUser, now: float, times: Mapping[str, tuple[float | None, float | None]]) -> Turn:
    """Return the current user at `now`; `times` has start and retirement of each user in the status, by name."""
    base, spec, current = base_name(user), user.spec.password, user.status.username
    rotation = None
    if spec.rotate_after is None:
        current = base
    elif current not in (f"{base}-1", f"{base}-2"):
        current = f"{base}-1"
    else:
        start = times.get(current, (None, None))[0]
        rotation = (start if start is not None else now) + lifetime(spec.rotate_after)
        other = f"{base}-{2 if current == f'{base}-1' else 1}"
        if now >= rotation and other not in times:  # One that is not deleted yet keeps its old password.
            current, rotation = other, None
    retired = tuple(name for name, (_, end) in times.items() if name != current and end is not None and now >= end)
    return Turn(current, retired, rotation)


def body(spec: SearchUserSpec, password: str) -> Json:
    """Return the user as the database wants it written; without a password it is left out."""
    secret: Json = {"password": password} if password else {}
    if spec.cluster.kind is ClusterKindName.ELASTICSEARCH:
        return {"roles": spec.roles, "metadata": spec.attributes or {}, **secret}
    return {
        "opendistro_security_roles": spec.roles,
        "backend_roles": spec.backend_roles or [],
        "attributes": spec.attributes or {},
        **secret,
    }


def wish(user: SearchUser, known: UserStatus, password: str, digest: str) -> Wish:
    """Return what the operator wants of one user in the database."""
    spec = user.spec
    value = SecretValue(secret_name="password", key="password", path=PASSWORD)  # noqa: S106 - names
    as_object = SearchObjectSpec(
        cluster=spec.cluster,
        object=f"user/{known.name}",
        body=body(spec, ""),
        values=[value],
        existing=spec.existing,
        deletion_policy=spec.deletion_policy,
    )
    status = SearchObjectStatus(
        claim=known.claim, applied=known.applied, stored=known.stored, cluster_uuid=user.status.cluster_uuid
    )
    owner = f"{user.metadata.namespace}/{user.metadata.name}"
    what = Declared(KINDS[spec.cluster.kind], f"user/{known.name}", {"name": known.name})
    return Wish(what, as_object, status, body(spec, password), digest, owner)


def with_user(users: list[UserStatus], changed: UserStatus) -> list[UserStatus]:
    """Return the users with one of them added or replaced."""
    return [*(each for each in users if each.name != changed.name), changed]


def retiring(users: list[UserStatus], current: str, end: str) -> list[UserStatus]:
    """Return the users with an end for all but the current one; an end that is set stays."""
    return [
        replace(each, retirement_time="")
        if each.name == current
        else replace(each, retirement_time=each.retirement_time or end)
        for each in users
    ]
