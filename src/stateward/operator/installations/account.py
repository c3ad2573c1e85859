"""On whose behalf an installation works: a service account of its own namespace, never the operator itself.

What users describe is made with rights that they were given. The disaster this prevents: a person who may write
installations has the operator, which may do more, change admission or read other people's Secrets for them.
"""

import re
from dataclasses import dataclass

from stateward.api.installation import Installation
from stateward.kube.errors import Forbidden
from stateward.operator.installations.faults import HeldError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_DENIED = re.compile(
    r'User "system:serviceaccount:(?P<home>[^":]+):(?P<name>[^"]+)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<where>[^"]+)"| at the cluster scope)'
)
DEFAULT = "default"
"""The account of installations that name none: one that each namespace has, and that has no rights by itself."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Which account an installation without one has (empty: none), and the operator's own as NAMESPACE and NAME."""

    default: str = DEFAULT
    own: tuple[str, str] = ("", "")

    def user_of(self, installation: Installation) -> str:
        """Return the user as whom an installation works; raises HeldError where there is none."""
        name, home = installation.spec.service_account_name or self.default, installation.metadata.namespace
        if not name:
            raise HeldError(
                "spec.serviceAccountName is not set, and the operator has no default: name a service account of"
                f" namespace {home} that may make what the package has"
            )
        if not _NAME.fullmatch(name):
            raise HeldError(f"spec.serviceAccountName: {name!r} is not the name of a service account")
        if (home, name) == self.own:
            raise HeldError(f"spec.serviceAccountName: {name} is the operator's own account: name another one")
        return f"system:serviceaccount:{home}:{name}"


def said(error: Exception) -> str:
    """Return what went wrong, and for a right that is missing which one, to whom, and what to do."""
    found = _DENIED.search(str(error)) if isinstance(error, Forbidden) else None
    if found is None:
        return str(error)
    name = error.details.name if isinstance(error, Forbidden) else ""
    kind = ".".join(filter(None, (found["resource"], found["group"])))
    where = f"in namespace {found['where']}" if found["where"] else "of the whole cluster"
    account = f"service account {found['name']} of namespace {found['home']}"
    what = " ".join(filter(None, (kind, name)))
    if found["verb"] == "impersonate":
        return f"the operator ({account}) may not act as {what} {where}: apply the operator's roles of this version"
    return (
        f"{account} may not {found['verb']} {what} {where}: give it that right with a role and a binding, or name"
        " another account in spec.serviceAccountName"
    )
