"""The service account of a template's pods, and whether they would get a token of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from stateward.api.pod_policy.finding import Path
from stateward.api.pod_policy.template import inner, items, pod_spec, volumes
from stateward.api.values.base import Json

DEFAULT = "default"
"""The account of pods that name none."""
TOKENS = ("serviceAccountToken", "podCertificate")
"""Sources of projected volumes by which a pod proves that it runs as its account."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the pods, and the field that names it, or asks for a token of it."""

    name: str
    path: Path


def account(template: Json) -> tuple[Account, ...]:
    """Return the accounts that need permission: every named one, and the default one if there is a token."""
    spec = pod_spec(template)
    fields = ("serviceAccountName", "serviceAccount")
    named = [
        Account(str(spec[field]), ("spec", field)) for field in fields if spec.get(field) not in (None, "", DEFAULT)
    ]
    if named:
        return tuple(named)
    asked = next(_tokens(template), None)
    return (Account(DEFAULT, asked),) if asked is not None else ()


def _tokens(template: Json) -> Iterator[Path]:
    # Without the field the account decides, and accounts give tokens by default.
    if pod_spec(template).get("automountServiceAccountToken") is not False:
        yield ("spec", "automountServiceAccountToken")
    for path, volume in volumes(template):
        for at, projected in items(inner(volume, "projected"), "sources", (*path, "projected")):
            for kind in TOKENS:
                if projected.get(kind) is not None:
                    yield (*at, kind)
