"""Keeps the Secrets of FoundationDB clusters with TLS: created once, renewed long before they expire, never made up.

They are a CA, a certificate of the members and one for clients. The operator needs none: it uses the command line in
the members' pods. Processes load new certificates while they run, so a change of the CA needs no restart either: the
next CA is trusted for a day before it signs.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from stateward import pki
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.security import TransportSecurity
from stateward.engines.foundationdb.spec.connection import ConnectionStringError, parse_connection_string
from stateward.engines.foundationdb.spec.security import (
    VERIFY,
    authority_secret,
    client_name,
    client_secret,
    formed,
    member_name,
    members_secret,
    requested,
    secured,
    trust_rule,
)
from stateward.kube.client.client import Api
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.databases.foundationdb import foundationdb_cluster
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.copied_secrets import CopiedSecrets
from stateward.operator.security import rotation
from stateward.operator.security.given_secrets import GivenSecrets
from stateward.operator.security.material import DAY, Files, Stored, current_authority, kept_or_issued, lifetime
from stateward.operator.security.own_secrets import OwnSecrets
from stateward.pki.files import CERTIFICATE, KEY, TRUSTED, authority_files
from stateward.pki.given import rooted
from stateward.planning.model.observation import Refusal
from stateward.planning.model.security import Protection

FIELD = "spec.security.caSecretName"


@dataclass(frozen=True, slots=True)
class Certificates:
    """What a cluster proves itself by."""

    authority: pki.Authority
    member: pki.Pair
    client: pki.Pair
    rotation: str


@dataclass(frozen=True, slots=True)
class Secured:
    """A cluster with its security, the public facts about it, and the refusals."""

    cluster: FoundationDBCluster
    protection: Protection | None = None
    refusals: tuple[Refusal, ...] = ()


class TransportKeeper:
    """Creates, renews and reads the Secrets of clusters with TLS."""

    def __init__(self, api: Api, caches: Caches, clock: Clock, *, labelled: bool = False) -> None:
        self._clock = clock
        self._own = OwnSecrets(api, caches)
        self._copied_secrets = CopiedSecrets(api, caches)
        self._given = GivenSecrets(api, clock, labelled=labelled)

    async def keep(self, cluster: FoundationDBCluster, *, on: bool) -> Secured:
        """Create and renew what is due if TLS is `on`; raises ApiError, NotOwnedError: nothing is known then."""
        if not on:
            silent = cluster.spec.security is None and cluster.status.security is None
            return _secured(cluster, None if silent else Protection(enabled=False, reason=_reason(cluster, on=False)))
        await self._copied_secrets.sweep(Key(cluster.metadata.namespace, cluster.metadata.name), cluster.metadata.uid)
        now = self._clock.now().timestamp()
        stored = await self._stored(cluster)
        faults: dict[str, str] = {}
        found = desired_certificates(cluster, stored, now, faults)
        name = (cluster.spec.security or TransportSecurity()).ca_secret_name
        if FIELD in faults and name is not None and self._given.denied(name, cluster):
            faults[FIELD] = self._given.missing(name, cluster)
        if found is None:
            # A cluster whose certificates were never created waits, and its status does not report that it has no TLS.
            return _secured(cluster, _unmade(cluster) if formed(cluster) else None, faults)
        await self._write(cluster, stored, found)
        return _secured(cluster, _protection(cluster, found, faults), faults)

    def forget(self, cluster: Key) -> None:
        """Drop what was read of a cluster that is gone."""
        self._own.forget(cluster)
        self._given.forget(cluster)

    async def _stored(self, cluster: FoundationDBCluster) -> Stored:
        name = (cluster.spec.security or TransportSecurity()).ca_secret_name
        given = await self._given.read(Key(cluster.metadata.namespace, name), cluster) if name else None
        return Stored(
            authority=await self._own.read(authority_secret(cluster), cluster),
            members=await self._own.read(members_secret(cluster), cluster),
            operator=await self._own.read(client_secret(cluster), cluster),
            given_authority=given,
        )

    async def _write(self, cluster: FoundationDBCluster, stored: Stored, found: Certificates) -> None:
        bundle = found.authority.bundle
        member = {CERTIFICATE: found.member.certificate, KEY: found.member.key, TRUSTED: bundle}
        client = {CERTIFICATE: found.client.certificate, KEY: found.client.key, TRUSTED: bundle}
        client[VERIFY] = trust_rule(member_name(cluster))
        wanted: tuple[tuple[str, Files | None, Files], ...] = (
            (authority_secret(cluster), stored.authority, authority_files(found.authority)),
            (members_secret(cluster), stored.members, member),
            (client_secret(cluster), stored.operator, client),
        )
        for name, before, after in wanted:
            if before != after:
                await self._own.apply(cluster, name, after)


def runs_with(existing: ClusterObjects) -> bool:
    """Return whether a cluster runs with TLS: by its cluster file, or (before it exists) by its spec.

    The disaster this prevents: a cluster that is restored without its status counts as one without TLS, and each
    recreated member finds none of the others.
    """
    cluster = foundationdb_cluster(existing.cluster)
    if not existing.sets and not existing.pods and not formed(cluster):
        return bool(requested(cluster))
    try:
        coordinators = parse_connection_string(existing.connection or "").coordinators
    except ConnectionStringError:
        return secured(cluster)
    return any(each.tls for each in coordinators)


def desired_certificates(
    cluster: FoundationDBCluster, stored: Stored, now: float, faults: dict[str, str]
) -> Certificates | None:
    """Return the desired certificates; None if the given Secrets make them impossible.

    The reasons are added to `faults`, by field of the spec.
    """
    asked_for = cluster.spec.security or TransportSecurity()
    if stored.given_authority and not rooted(stored.given_authority):
        faults[FIELD] = "the CA in it is signed by another CA: FoundationDB trusts only a self-signed CA"
        stored = msgspec.structs.replace(stored, given_authority={})
    wrong = dict(faults)
    authority = current_authority(cluster, stored, now, faults, all_heard=True)
    faults.update(wrong)
    if authority is None:
        return None
    days = lifetime(asked_for) / DAY
    member, client = (
        kept_or_issued(before, authority, name, (name,), now, days)
        for before, name in ((stored.members, member_name(cluster)), (stored.operator, client_name(cluster)))
    )
    if member is None or client is None:
        return None
    return Certificates(authority, member, client, rotation.sentence(authority, now, all_heard=True))


def _secured(cluster: FoundationDBCluster, known: Protection | None, faults: dict[str, str] | None = None) -> Secured:
    """Return the cluster with what is known of it in its status, by which all else goes."""
    waits = known is None
    names = {FIELD: f"Secret {(cluster.spec.security or TransportSecurity()).ca_secret_name} cannot be used"}
    other = f"Secret {authority_secret(cluster)} cannot be used"
    refusals = tuple(
        Refusal(field, "SecretNotUsable", f"{names.get(field, other)}: {text}", everything=waits)
        for field, text in sorted((faults or {}).items())
    )
    status = msgspec.structs.replace(cluster.status, security=known.status() if known is not None else None)
    return Secured(msgspec.structs.replace(cluster, status=status), known, refusals)


def _unmade(cluster: FoundationDBCluster) -> Protection:
    """Return the state of an existing cluster without usable Secrets: it keeps what it has."""
    before = cluster.status.security
    known: dict[str, Any] = {"mark": before.certificates_digest} if before is not None else {}
    return Protection(enabled=True, reason=_reason(cluster, on=True), **known)


def _protection(cluster: FoundationDBCluster, found: Certificates, faults: dict[str, str]) -> Protection:
    own = (found.member, found.client)
    return Protection(
        enabled=True,
        reason=_reason(cluster, on=True),
        authority_secret=authority_secret(cluster),
        client_secret=client_secret(cluster),
        authority_ends=pki.ends(found.authority.signs.certificate),
        member_ends=pki.ends(found.member.certificate),
        server_ends=pki.ends(found.client.certificate),
        renewal=min(pki.renewal(pair.certificate) for pair in own),
        mark=rotation.mark(found.member.certificate, found.client.certificate, found.authority.bundle),
        rotation=found.rotation,
        faults=faults,
    )


def _reason(cluster: FoundationDBCluster, *, on: bool) -> str:
    wanted = requested(cluster)
    if wanted is None:
        return "spec.security.enabled is not set, and the cluster keeps its security"
    if wanted is on:
        return f"spec.security.enabled is {str(wanted).lower()}"
    if on is secured(cluster):
        return f"the cluster was created {'with' if on else 'without'} TLS, and keeps that"
    return f"spec.security.enabled is {str(wanted).lower()}, and a Secret that it needs cannot be used"
