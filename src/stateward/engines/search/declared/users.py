"""Users in the database: their form for each product, and which of two users is the current one. Pure.

A database knows one password for each user. So a rotation with an overlap has two users by turns: the new one is made,
then applications are given it, and the old one stays valid for a time.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import ClusterKindName, Existing
from stateward.api.kinds.search_user import SearchUser, SearchUserSpec, UserStatus
from stateward.api.kinds.security import lifetime_seconds
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.engines.search.declared.desired import Desired, Memory
from stateward.engines.search.declared.identity import OWN_NAMES, Declared
from stateward.engines.search.declared.kinds import ObjectKind
from stateward.planning.model.past_times import AHEAD
from stateward.planning.model.times import parse_time

PASSWORD = "/password"  # noqa: S105 - where it is
SHORTEST_ROTATION = 3600.0
"""Seconds: each rotation makes applications connect again."""

CREATED = frozenset({"admin", "kibanaserver"})
"""Users that the operator creates: the first administrator, once in the life of a cluster, and one for dashboards."""

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


def problems(user: SearchUser) -> Iterator[Problem]:
    """Yield what is wrong with a user, besides its shape."""
    spec, name = user.spec, base_name(user)
    if name in OWN_NAMES:
        yield Problem("spec.username", name, "cannot be declared: the operator and the probes need it")
    elif name in CREATED:
        yield Problem("spec.username", name, "cannot be declared: the operator creates this user itself")
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
    if lifetime_seconds(rotation) < SHORTEST_ROTATION:
        yield Problem("spec.password.rotateAfter", rotation, "must be 1h or longer")
    elif lifetime_seconds(spec.password.overlap) > lifetime_seconds(rotation) / 2:
        yield Problem("spec.password.overlap", spec.password.overlap, f"must be at most half of {rotation}")


def base_name(user: SearchUser) -> str:
    """Return the name of the user without the number of a rotation."""
    return user.spec.username or user.metadata.name


@dataclass(frozen=True)
class Rotation:
    """The user that applications are to have, and the previous ones that are to be deleted now."""

    current: str
    retired: tuple[str, ...]


Times = Mapping[str, tuple[float | None, float | None]]
"""Start and retirement of each user in the status, by name, in seconds since the epoch."""


def rotation(user: SearchUser, now: float, times: Times, published: str = "") -> Rotation:
    """Return the current user and the retired ones at `now`, in seconds since the epoch.

    `published` is the user that the Secret for applications names. One that was given to applications before keeps its
    password until it is deleted, so it is not taken again earlier: only its last Secret had that password.
    """
    current = user.status.username
    if _is_new(published, times) and published in times:  # The status was not written after the Secret.
        current = published
    wanted = _wanted(user, now, times, current)
    if current not in wanted:
        free = [name for name in (published, *wanted) if name in wanted and _is_new(name, times)]
        current = next(iter(free), current or wanted[0])
    if user.spec.password.secret_name is not None:
        current = base_name(user)  # This password changes at once.
    retired = tuple(name for name, (_, end) in times.items() if name != current and end is not None and now >= end)
    return Rotation(current, retired)


def _wanted(user: SearchUser, now: float, times: Times, current: str) -> tuple[str, ...]:
    """Return the names of which one is to be the current user."""
    base = base_name(user)
    pair = _pair(base)
    if user.spec.password.rotate_after is None:
        return (base,)
    if current not in pair:
        return pair
    due = next_rotation(user, times.get(current, (None, None))[0])
    return tuple(name for name in pair if name != current) if due is not None and now >= due else (current,)


def _is_new(name: str, times: Times) -> bool:
    """Return whether applications have not been given a user, as far as the status says."""
    return times.get(name, (None, None))[0] is None


def next_rotation(user: SearchUser, start: float | None) -> float | None:
    """Return when a user that applications have had since `start` is followed by another; None if it never is."""
    after = user.spec.password.rotate_after
    return None if after is None or start is None else start + lifetime_seconds(after)


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


def desired(user: SearchUser, known: UserStatus, password: str, digest: str) -> Desired:
    """Return the desired state of one user in the database."""
    spec = user.spec
    return Desired(
        what=Declared(KINDS[spec.cluster.kind], label(known.name), {"name": known.name}),
        body=body(spec, ""),
        sent=body(spec, password),
        digest=digest,
        owner=f"{user.metadata.namespace}/{user.metadata.name}",
        memory=Memory(known.claim, known.applied, known.stored),
        hidden=(PASSWORD,),
        existing=spec.existing,
        retain=spec.deletion_policy is Retention.RETAIN,
    )


def label(name: str) -> str:
    """Return how a user is called among all objects of a database."""
    return f"user/{name}"


def claims(user: SearchUser) -> frozenset[str]:
    """Return the names in the database that a resource has, or may have after a rotation, as labels."""
    base = base_name(user)
    names = {base} if user.spec.password.rotate_after is None else set(_pair(base))
    return frozenset(label(name) for name in names | {each.name for each in user.status.users})


def _pair(base: str) -> tuple[str, str]:
    return f"{base}-1", f"{base}-2"


def with_user(users: list[UserStatus], changed: UserStatus) -> list[UserStatus]:
    """Return the users with one of them added or replaced."""
    return [*(each for each in users if each.name != changed.name), changed]


def retiring(users: list[UserStatus], current: str, end: str) -> list[UserStatus]:
    """Return the users with an end for all but the current one; an end that is set stays.

    One that is later than that of a user who retires now does not: the overlap is shorter than it was, or the clock was
    ahead when the end was set.
    """

    def ends(known: str) -> str:
        late = (parse_time(known) or math.inf) > (parse_time(end) or 0.0) + AHEAD
        return end if late else known

    return [replace(each, retirement_time="" if each.name == current else ends(each.retirement_time)) for each in users]
