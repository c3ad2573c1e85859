"""From a cluster's material to what planning and people may know of it: until when, and what cannot be used. Pure."""

from collections.abc import Mapping
from typing import Any

from stateward import pki
from stateward.api.kinds.security import Security
from stateward.engines.search.configuration.security import administrator_secret, authority_secret, secured
from stateward.engines.search.spec.flavor import SearchCluster
from stateward.engines.search.spec.identity import formed
from stateward.operator.security.material import Material, MaterialResult
from stateward.operator.security.rotation import mark
from stateward.planning.model.observation import Refusal
from stateward.planning.model.security import Protection


def protection(cluster: SearchCluster, found: MaterialResult, administrator: str, *, on: bool) -> Protection:
    """Return the public facts; `administrator` is why that Secret cannot be used, empty if it can."""
    faults = {**found.faults, **({"spec.security.adminSecretName": administrator} if administrator else {})}
    status = cluster.status.security
    # If nothing new can be created, members keep what they have: another mark would restart them.
    known: dict[str, Any] = {"mark": status.certificates_digest} if status is not None else {}
    times = _times(found.material) if found.material is not None else known
    return Protection(
        enabled=on,
        reason=_reason(cluster, on=on),
        authority_secret=authority_secret(cluster),
        admin_secret=administrator_secret(cluster),
        administrator=status.administrator_created if status is not None else False,
        faults=faults,
        rotation=found.rotation,
        **times,
    )


def refusals(cluster: SearchCluster, known: Protection) -> tuple[Refusal, ...]:
    """Return the refusals for the given Secrets.

    Everything else continues with the existing material. Only a cluster that was never formed waits: it would be formed
    unsecured.
    """
    waits = secured(cluster) and not known.enabled and not formed(cluster)
    names = _names(cluster)
    return tuple(
        Refusal(field, "SecretNotUsable", f"{names.get(field, field)}: {text}", everything=waits)
        for field, text in sorted(known.faults.items())
    )


def _names(cluster: SearchCluster) -> Mapping[str, str]:
    asked = cluster.spec.security or Security()
    return {
        "spec.security.caSecretName": f"Secret {asked.ca_secret_name} cannot be used",
        "spec.security.adminSecretName": f"Secret {asked.admin_secret_name} cannot be used",
        "spec.security.http.secretName": f"Secret {asked.http.secret_name if asked.http else ''} cannot be used",
        "status.security.caSecretName": f"Secret {authority_secret(cluster)} cannot be used",
    }


def _reason(cluster: SearchCluster, *, on: bool) -> str:
    asked = cluster.spec.security.enabled if cluster.spec.security is not None else None
    if asked is None:
        return "spec.security.enabled is not set, and the cluster keeps its security"
    if asked is not on:
        return f"spec.security.enabled is {str(asked).lower()}, and a Secret that it needs cannot be used"
    return f"spec.security.enabled is {str(asked).lower()}"


def _times(material: Material) -> dict[str, Any]:
    own = [material.member, material.operator]
    return {
        "mark": mark(material.member.certificate, material.server.certificate, material.trusted_by_members),
        "authority_ends": pki.ends(material.authority.signs.certificate),
        "member_ends": pki.ends(material.member.certificate),
        "server_ends": pki.ends(material.server.certificate),
        "operator_ends": pki.ends(material.operator.certificate),
        "renewal": min(pki.renewal(pair.certificate) for pair in own),
    }
