"""Whether a service account has the rights that an installation needs, checked before anything is created."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from stateward.api.values.base import Json
from stateward.cli.shared.session import Session
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import BadRequest, DecodeError, Forbidden, NotFound, UnknownResource
from stateward.operator.installations.execution.service_account import user
from stateward.operator.installations.objects.kinds import Raw, ServedKinds
from stateward.packages.format.trees import text
from stateward.packages.rendering.objects import identity_of

VERBS = ("get", "list", "create", "patch", "delete")
"""The operator's actions on behalf of an account, for each kind of object in a package."""
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class _Answer(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _Answer = _Answer()


async def missing_rights(session: Session, account: str, bodies: Iterable[Json]) -> tuple[list[str], list[str]]:
    """Return the rights that an account lacks to create objects, and notes; raise ApiError.

    The requests impersonate the account, so the user needs the right to do so; the usual role `edit` includes it.
    """
    api = session.api.acting_as(user(session.namespace, account))
    found, kinds = list[str](), await _kinds(session, bodies)
    try:
        for kind in kinds:
            where = session.namespace if kind.namespaced else ""
            if verbs := await _refused(api, kind, where):
                place = f"in namespace {where}" if where else "of the whole cluster"
                name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
                who = f"service account {account} of namespace {session.namespace}"
                found.append(f"{who} may not {', '.join(verbs)} {name} {place}")
    except Forbidden:
        return [], [f"you may not act as service account {account} (verb impersonate): its rights are not known here"]
    return found, []


async def _kinds(session: Session, bodies: Iterable[Json]) -> Sequence[Raw]:
    """Return the kinds of objects, except for those that the server does not have yet."""
    served, found = ServedKinds(session.api), dict[tuple[str, str], Raw]()
    for body in bodies:
        identity = identity_of(body)
        if (identity.group, identity.kind) in found:
            continue
        try:
            found[identity.group, identity.kind] = await served.find(text(body.get("apiVersion")), identity.kind)
        except (NotFound, UnknownResource, BadRequest):
            continue
    return [found[name] for name in sorted(found)]


async def _refused(api: Api, kind: Raw, namespace: str) -> list[str]:
    allowed = await asyncio.gather(*(_allowed(api, verb, kind, namespace) for verb in VERBS))
    return [verb for verb, holds in zip(VERBS, allowed, strict=True) if not holds]


async def _allowed(api: Api, verb: str, kind: Raw, namespace: str) -> bool:
    attributes = {"verb": verb, "group": kind.group, "resource": kind.plural, "namespace": namespace}
    head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    request = RawRequest(_REVIEWS, "POST", body=head | {"spec": {"resourceAttributes": attributes}})
    answer = await api.request(request)
    try:
        return msgspec.json.decode(answer, type=_Review).status.allowed
    except msgspec.DecodeError as error:
        raise DecodeError(f"cannot read whether {verb} of {kind.plural} is allowed: {error}") from error
