"""Reads the databases of one kind of clusters for those who look at them, beside the rounds and without a lease.

Every process of the operator can: the one that works reaches a database as its last round did, and one that stands by
finds its own way, from its caches and the operator's Secret of the cluster. Nothing is written, neither in the database
nor in Kubernetes.
"""

import asyncio
import dataclasses

from msgspec.structs import replace

from stateward.api.kinds.search import SearchCluster
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Speed, Target
from stateward.engines.search.configuration.security import operator_secret
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.engine import Family
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.copied_secrets import belongs
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.objects.waves import Turn, turn
from stateward.operator.observe.durations import recovery_speed
from stateward.operator.observe.read_only_session import PATIENCE, observe_read_only
from stateward.operator.security.material import stored_access
from stateward.operator.security.own_secrets import OwnSecrets
from stateward.planning.model.database import Database, Unknown


class DatabaseReader:
    """Finds the way to the databases of one kind, and reads them."""

    def __init__(self, api: Api, family: Family, caches: Caches) -> None:
        self._family = family
        self._caches = caches
        self._secrets = OwnSecrets(api, caches)

    async def report(self, key: Key, known: Target | None = None) -> Database | Unknown | None:
        """Return what a database reports now; None if this operator manages no such cluster.

        `known` is how the last round reached it.
        """
        target = known or await self.target(key)
        if target is None or isinstance(target, Unknown):
            return target
        return await observe_read_only(self._family.engine, target)

    async def speed(self, key: Key, known: Target | None = None) -> Speed:
        """Return how fast a database recovers copies; unknown values if it does not answer."""
        target = known or await self.target(key)
        if target is None or isinstance(target, Unknown):
            return Speed()
        try:
            async with asyncio.timeout(PATIENCE):
                return await recovery_speed(self._family.engine, replace(target, proves=False))
        except TimeoutError:
            return Speed()

    async def target(self, key: Key) -> Target | Unknown | None:
        """Return how a database is reached by what this process knows, or why that is not known.

        None if this operator manages no such cluster.
        """
        if not self._caches.synced:
            return Unknown("this operator process has just started and does not know all clusters yet; ask again")
        existing = self._caches.cluster_objects(key)
        if existing is None or turn(existing.cluster, self._caches.wave) is not Turn.MANAGE:
            self._secrets.forget(key)
            return None
        if not isinstance(existing.cluster, SearchCluster):
            return self._family.target(existing)
        try:
            access = await self._access(existing.cluster)
        except (ApiError, NotOwnedError) as error:
            return Unknown(f"the operator's credentials for the database cannot be read: {error}")
        status = existing.cluster.status.security
        if access is None and status is not None and status.enabled:
            return Unknown("the operator has no credentials for the database yet")
        return self._family.target(dataclasses.replace(existing, access=access))

    async def _access(self, cluster: SearchCluster) -> Access | None:
        """Return how the operator gets in; None if it has no Secret. Raise ApiError, NotOwnedError."""
        name = operator_secret(cluster)
        cached = self._caches.of(kinds.SECRETS).get(Key(cluster.metadata.namespace, name))
        if cached is None or not belongs(cached.metadata, cluster):
            return None
        return stored_access(cluster, await self._secrets.read(name, cluster))
