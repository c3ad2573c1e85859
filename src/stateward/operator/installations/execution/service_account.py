"""The account with which an installation works: a service account of its own namespace, never the operator itself.

Objects that users describe are created with rights that they were given. The disaster this prevents: a user who may
write installations makes the operator, which has more rights, change admission or read Secrets of others.
"""

import re
from dataclasses import dataclass

import msgspec

from stateward.api.kinds.installation import Installation
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import BadRequest, DecodeError, Forbidden, Invalid
from stateward.operator.installations.objects.faults import NotAllowedError
from stateward.operator.installations.objects.refusal_text import public
from stateward.packages.format.parameters import BadValue
from stateward.packages.rendering.templates import TemplateProblem

NOT_ALLOWED = "NotAllowed"
"""The reason, for programs, of everything that an account may not do."""
DEFAULT = "default"
"""The account of installations that name none: it exists in each namespace, and has no rights by itself."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_ACCOUNT = r'ser "system:serviceaccount:(?P<home>[^":]+):(?P<name>[^"]+)"'
_DENIED = re.compile(
    _ACCOUNT + r' cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<where>[^"]+)"| at the cluster scope)'
)
_GRANTING = re.compile(
    r"^(?P<what>\S+ \S+) is forbidden: u" + _ACCOUNT + r" .*is attempting to grant RBAC permissions not currently held:"
    r"\s*(?P<rights>.*)",
    re.DOTALL,
)
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_LONGEST = 300
"""Characters of a list of rights that are repeated."""


class _User(msgspec.Struct, frozen=True):
    username: str = ""


class _Who(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _User = _User()


class _Review(msgspec.Struct, frozen=True):
    status: _Who = _Who()


def user(namespace: str, name: str) -> str:
    """Return what the API server calls a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


async def own_user(api: Api) -> str:
    """Return the user name of this process for the API server; raises ApiError.

    The server is asked, rather than a setting or the mounted token: only it knows the user behind the credentials, and
    a forgotten setting cannot make the operator's own account available.
    """
    question = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await api.request(RawRequest(_WHO, "POST", body=question))
    try:
        found = msgspec.json.decode(answer, type=_Review).status.user_info.username
    except msgspec.DecodeError as error:
        raise DecodeError(f"cannot read the operator's own user name from the API server: {error}") from error
    if not found:
        raise DecodeError("the API server does not report the operator's own user name")
    return found


@dataclass(frozen=True, slots=True)
class Accounts:
    """The account of installations without one (empty: none), and the users that none may have."""

    default: str = DEFAULT
    refused: frozenset[str] = frozenset()

    def user_of(self, installation: Installation) -> str:
        """Return the user for an installation; raises NotAllowedError if there is none."""
        name, home = installation.spec.service_account_name or self.default, installation.metadata.namespace
        if not name:
            raise NotAllowedError(
                "spec.serviceAccountName is not set, and the operator has no default: name a service account of"
                f" namespace {home} that may create the objects of the package"
            )
        if not _NAME.fullmatch(name):
            raise NotAllowedError(f"spec.serviceAccountName: {name!r} is not the name of a service account")
        if user(home, name) in self.refused:
            raise NotAllowedError(
                f"spec.serviceAccountName: {name} of namespace {home} is an account of the operator itself: name"
                " another one, with rights of its own"
            )
        return user(home, name)


def refusal(error: Exception) -> str:
    """Return which right is missing, to whom, and what to do; nothing for an error of another sort."""
    if isinstance(error, NotAllowedError):
        return str(error)
    if not isinstance(error, Forbidden):
        return ""
    if (found := _GRANTING.search(str(error))) is not None:
        rights = " ".join(found["rights"].split())[:_LONGEST]
        return (
            f"{_account(found)} may not create {found['what']}, which grants rights that the account does not have"
            f" itself: {rights}"
        )
    if (found := _DENIED.search(str(error))) is None:
        return ""
    kind = ".".join(filter(None, (found["resource"], found["group"])))
    what = " ".join(filter(None, (kind, error.details.name)))
    where = f"in namespace {found['where']}" if found["where"] else "of the whole cluster"
    if found["verb"] == "impersonate":
        return (
            f"the operator ({_account(found)}) may not act as {what} {where}: name an account that its role lets it"
            " impersonate, or apply the operator's roles of this version"
        )
    return (
        f"{_account(found)} may not {found['verb']} {what} {where}: give it that right with a role and a binding, or"
        " name another account in spec.serviceAccountName"
    )


def error_text(error: Exception) -> str:
    """Return what went wrong, and for a right that is missing which one, to whom, and what to do.

    For a status or an event: it holds no value of a parameter and nothing of what was rendered, but names of objects.
    """
    if isinstance(error, TemplateProblem | BadValue):
        return error.public
    return refusal(error) or (public(error) if isinstance(error, Invalid | BadRequest) else str(error))


def reason_of(error: Exception, other: str = "") -> str:
    """Return the reason, for programs, of what an account may not do; `other` for an error of another sort."""
    return NOT_ALLOWED if refusal(error) else other


def _account(found: re.Match[str]) -> str:
    return f"service account {found['name']} of namespace {found['home']}"
