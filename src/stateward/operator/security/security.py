"""Keeps the Secrets of secured clusters: created once, renewed long before they expire, never replaced if unread.

Caches hold Secrets as metadata only, so contents are read live: again only when the cache shows another version, and
Secrets of users every half minute. Contents stay in this module and in the database's connections; they are in no log,
event, status or plan.
"""

import secrets
from dataclasses import dataclass, replace

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.security import Security
from stateward.engines.connection.access import Access
from stateward.engines.search.configuration import xpack
from stateward.engines.search.configuration.security import (
    administrator_secret,
    authority_secret,
    members_secret,
    operator_secret,
    secured,
)
from stateward.engines.search.spec.consent import Place, candidates, joined
from stateward.engines.search.spec.flavor import SearchCluster
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.copied_secrets import CopiedSecrets, belongs
from stateward.operator.objects.ownership import NotOwnedError, exists
from stateward.operator.security.given_secrets import GivenSecrets
from stateward.operator.security.material import (
    PASSWORD,
    PASSWORD_BYTES,
    USERNAME,
    Files,
    Material,
    MaterialResult,
    Stored,
    desired_material,
)
from stateward.operator.security.own_secrets import OwnSecrets
from stateward.operator.security.protection import protection
from stateward.operator.security.secured_by_default import REASON, secured_as_new
from stateward.pki.files import TRUSTED
from stateward.planning.model.security import Protection

ADMINISTRATOR = "admin"


@dataclass(frozen=True, slots=True)
class Kept:
    """A cluster as it can be secured, and the access to it."""

    cluster: SearchCluster
    """With security as it is applied, even if the spec leaves it open."""
    access: Access | None = None
    protection: Protection | None = None
    asked: SearchCluster | None = None
    """A new cluster with the decision about its security, if the spec left it open; None otherwise."""


class Keeper:
    """Creates, renews and reads the Secrets of secured clusters."""

    def __init__(
        self, api: Api, caches: Caches, clock: Clock, *, by_default: bool = False, labelled: bool = False
    ) -> None:
        self._api = api
        self._by_default = by_default
        self._caches = caches
        self._clock = clock
        self._copied_secrets = CopiedSecrets(api, caches)
        self._own = OwnSecrets(api, caches)
        self._given = GivenSecrets(api, clock, labelled=labelled)

    async def keep(self, cluster: SearchCluster, *, alone: bool = False) -> Kept:
        """Create and renew what is missing or due; raises ApiError, NotOwnedError: then nothing is known.

        `alone` is whether no member of the cluster was observed.
        """
        await self._copied_secrets.sweep(Key(cluster.metadata.namespace, cluster.metadata.name), cluster.metadata.uid)
        await self._copied_secrets.heal(cluster)
        begun = self._there(authority_secret(cluster), cluster)
        asked = secured_as_new(cluster, alone=alone, begun=begun) if self._by_default else cluster
        if asked is cluster:
            return await self._keep(cluster)
        kept = await self._keep(asked)
        known = msgspec.structs.replace(kept.protection, reason=REASON) if kept.protection is not None else None
        return replace(kept, protection=known, asked=asked)

    async def _keep(self, cluster: SearchCluster) -> Kept:
        if not secured(cluster) and not self._there(authority_secret(cluster), cluster):
            return Kept(cluster)
        stored = await self._stored(cluster)
        if product_of(cluster) is ELASTICSEARCH:
            # Its members get the administrator in a file, so the administrator has to exist first.
            stored = msgspec.structs.replace(stored, administrator=await self._told(cluster))
        found = desired_material(cluster, stored, self._now())
        if found.material is not None:
            await self._write(cluster, stored, found.material)
        administrator = await self._administrator_fault(cluster)
        barred = self._given.barred(cluster, found.faults)
        return resolved(cluster, msgspec.structs.replace(found, faults={**found.faults, **barred}), administrator)

    async def administrator(self, cluster: Cluster) -> tuple[str, str]:
        """Return name and password of the first administrator; raises ApiError, NotOwnedError, KeyError.

        What its own Secret lacks is written first: the database does not have it yet.
        """
        if not isinstance(cluster, SearchCluster):
            raise KeyError(f"{cluster.kind} has no administrator")
        key = Key(cluster.metadata.namespace, administrator_secret(cluster))
        if (cluster.spec.security or Security()).admin_secret_name is not None:
            files = await self._given.read(key, cluster)
            return files[USERNAME], files[PASSWORD]
        known: Files = await self._own.read(key.name, cluster) or {}
        files = {**new_administrator(), **{name: text for name, text in known.items() if text}}
        if files != known:
            await self._own.apply(cluster, key.name, files)
        return files[USERNAME], files[PASSWORD]

    async def gone(self, cluster: Key) -> None:
        """Delete the Secrets without an owner that a cluster has left, once it is certainly gone; raises ApiError."""
        await self._copied_secrets.sweep(cluster)

    def forget(self, cluster: Key) -> None:
        """Drop what was read of a cluster that is gone; names that begin alike are only read once more."""
        self._own.forget(cluster)
        self._given.forget(cluster)

    async def _stored(self, cluster: SearchCluster) -> Stored:
        namespace = cluster.metadata.namespace
        asked = cluster.spec.security or Security()
        server = asked.http.secret_name if asked.http is not None else None
        return Stored(
            authority=await self._own.read(authority_secret(cluster), cluster),
            members=await self._own.read(members_secret(cluster), cluster),
            operator=await self._own.read(operator_secret(cluster), cluster),
            others=await self._others(cluster),
            given_authority=await self._given.read(Key(namespace, asked.ca_secret_name), cluster)
            if asked.ca_secret_name
            else None,
            given_server=await self._given.read(Key(namespace, server), cluster) if server else None,
        )

    async def _others(self, cluster: SearchCluster) -> dict[Place, str | None]:
        """Return the CAs of the clusters with which one is joined; None for one that cannot be read now."""
        found: dict[Place, str | None] = {}
        for place in sorted(candidates(cluster)):
            other = self._caches.clusters.get(Key(*place))
            if not isinstance(other, SearchCluster) or other.metadata.deletion_timestamp is not None:
                continue
            if joined(cluster, other) and secured(other):
                found[place] = await self._bundle(other)
        return found

    async def _bundle(self, other: SearchCluster) -> str | None:
        """Return the public certificates of another cluster's CA; None if they are not known now."""
        try:
            files = await self._own.read(authority_secret(other), other)
        except (ApiError, NotOwnedError):
            return None  # What is known of it stays, and this cluster's own round goes on.
        return (files or {}).get(TRUSTED)

    async def _write(self, cluster: SearchCluster, stored: Stored, material: Material) -> None:
        authority, members, operator = material.files
        wanted = (
            (authority_secret(cluster), stored.authority, authority),
            (members_secret(cluster), stored.members, members),
            (operator_secret(cluster), stored.operator, operator),
        )
        for name, before, after in wanted:
            if before != after:
                await self._own.apply(cluster, name, after)
        asked, known = cluster.spec.security or Security(), cluster.status.security
        if known is not None and known.administrator_created and product_of(cluster) is not ELASTICSEARCH:
            return  # The database has a password, and another one in a new Secret would not be it.
        name = administrator_secret(cluster)
        if asked.admin_secret_name is None and not self._there(name, cluster):
            key = Key(cluster.metadata.namespace, name)
            if not await exists(self._api, kinds.SECRETS, key, cluster):
                await self._own.apply(cluster, name, new_administrator())

    async def _told(self, cluster: SearchCluster) -> Files | None:
        """Return name and password of the administrator, created if there is none and none was given.

        None if the given Secret is not allowed: members keep the administrator that they know.
        """
        name = administrator_secret(cluster)
        if (cluster.spec.security or Security()).admin_secret_name is not None:
            files = await self._given.read(Key(cluster.metadata.namespace, name), cluster)
            return None if self._given.denied(name, cluster) else files
        found = await self._own.read(name, cluster)
        if found is None:
            found = new_administrator()
            await self._own.apply(cluster, name, found)
        return found

    async def _administrator_fault(self, cluster: SearchCluster) -> str:
        """Return why the given administrator's Secret cannot be used; empty if it can."""
        name = (cluster.spec.security or Security()).admin_secret_name
        if name is None:
            return ""
        files = await self._given.read(Key(cluster.metadata.namespace, name), cluster)
        missing = [each for each in (USERNAME, PASSWORD) if not files.get(each)]
        if missing:
            return self._given.missing(name, cluster) if not files else f"it has no {' and no '.join(missing)}"
        if product_of(cluster) is ELASTICSEARCH and not xpack.usable(files[USERNAME]):
            return f"its username must be other than {xpack.OPERATOR}, of letters, digits, and _ . @ -"
        return ""

    def _there(self, name: str, cluster: SearchCluster) -> bool:
        cached = self._caches.of(kinds.SECRETS).get(Key(cluster.metadata.namespace, name))
        return cached is not None and belongs(cached.metadata, cluster)

    def _now(self) -> float:
        return self._clock.now().timestamp()


def resolved(cluster: SearchCluster, found: MaterialResult, administrator: str) -> Kept:
    """Return the cluster with security as it is applied: impossible parts are not switched on."""
    asked = cluster.spec.security or Security()
    was = cluster.status.security is not None and cluster.status.security.enabled
    on = secured(cluster) and (was or (found.material is not None and not administrator))
    spec = msgspec.structs.replace(cluster.spec, security=msgspec.structs.replace(asked, enabled=on))
    known = protection(cluster, found, administrator, on=on)
    status = msgspec.structs.replace(cluster.status, security=known.status())
    return Kept(msgspec.structs.replace(cluster, spec=spec, status=status), found.access, known)


def new_administrator() -> Files:
    """Return an administrator with a random password."""
    return {USERNAME: ADMINISTRATOR, PASSWORD: secrets.token_urlsafe(PASSWORD_BYTES)}
