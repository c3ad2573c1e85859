"""Maintains the objects of a cluster as a whole: Services, ConfigMaps and disruption budgets.

They are applied in every round, and skipped if nothing would change. Budgets of kinds that no longer have members are
removed, and so is the earlier place of the cluster file; everything else is deleted with the cluster resource, its
owner.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from stateward.api.kinds.status import ClusterStatus
from stateward.api.values import names
from stateward.kube.cache.apply import Applier, Outcome
from stateward.kube.cache.expectations import Expectations
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, key_of
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.clock import Clock
from stateward.operator.act.budget_pace import BudgetPace
from stateward.operator.databases.engine import Family
from stateward.operator.objects.caches import Caches, controlled_by
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import TakenNames, key_in
from stateward.operator.security.cluster_file import delete_config_map
from stateward.planning.safety.disruption_budget import Budget

BY_KIND: dict[str, Resource[Any]] = {
    kind.kind: kind for kind in (kinds.CONFIG_MAPS, kinds.SERVICES, kinds.BUDGETS, kinds.SECRETS)
}


class SharedObjects:
    """Applies the objects of a cluster as a whole."""

    def __init__(self, api: Api, caches: Caches, family: Family, clock: Clock, taken: TakenNames) -> None:
        self._budget_pace = BudgetPace(clock)
        self._api = api
        self._caches = caches
        self._family = family
        self._appliers: dict[Key, Applier] = {}
        """One for each cluster: what it remembers ends with the cluster."""
        self._taken = taken
        self._clock = clock
        self._tightened: dict[Key, float] = {}
        """When a budget of a cluster was tightened last, or may have been."""

    async def close(
        self, existing: ClusterObjects, budgets: tuple[Budget, ...], *, settled: bool, began: float
    ) -> bool:
        """Apply the shared objects, and return whether the budgets were as tight before a read that `began` then.

        Until a budget was tightened an eviction may have been allowed that no earlier read shows. Raises ApiError,
        NotOwnedError.
        """
        await self.apply(existing, budgets, settled=settled)
        meta = existing.cluster.metadata
        return self._tightened.get(Key(meta.namespace, meta.name), began) <= began

    async def apply(self, existing: ClusterObjects, budgets: tuple[Budget, ...], *, settled: bool) -> None:
        """Apply the shared objects of a cluster, which is settled or has work in progress.

        Raises ApiError, NotOwnedError.
        """
        meta = existing.cluster.metadata
        key = Key(meta.namespace, meta.name)
        expectations = self._caches.expectations(key)
        applier = self._appliers.setdefault(key, Applier(self._api, names.FIELD_MANAGER))
        written = self._written(existing)
        budgets = self._budget_pace.paced(key, budgets, written, settled=settled)
        relaxed = {b.name for b in budgets if b.min_available < written.get(b.name, 0)}
        wanted = set[str]()
        for body in self._family.cluster_objects(existing, budgets):
            kind = BY_KIND[body["kind"]]
            if existing.barred and kind is kinds.SERVICES:
                continue  # The server may not accept it; the reason is reported, and the rest of the round goes on.
            store = self._caches.of(kind)
            known = store.get(key_in(body))
            if known is None or known.metadata.controller_uid != meta.uid:
                await self._taken.exists(kind, key_in(body), existing.cluster)
            name = body["metadata"]["name"]
            open_before = kind is kinds.BUDGETS and name.removeprefix(f"{meta.name}-") not in relaxed
            try:
                applied = await applier.apply(kind, body, store=store, expectations=expectations)
                # Another client may have changed it, also where the cache shows it as it should be.
                open_before = open_before and applied.outcome in (Outcome.CREATED, Outcome.CHANGED)
            finally:
                if open_before:  # Also if the answer was lost.
                    self._tightened[key] = self._clock.monotonic()
            wanted.add(f"{kind.kind}/{name}")
        await self._prune(existing, wanted, expectations, applier)
        gone = await delete_config_map(self._api, self._caches, existing)
        if gone is not None:
            applier.forget(kinds.CONFIG_MAPS, gone)

    def changes(self, existing: ClusterObjects, status: ClusterStatus, budgets: tuple[Budget, ...]) -> bool:
        """Return whether a status would change the objects: they contain the identity of the database."""
        later = replace(existing, cluster=msgspec.structs.replace(existing.cluster, status=status))
        objects = self._family.cluster_objects
        return status != existing.cluster.status and objects(later, budgets) != objects(existing, budgets)

    def forget(self, key: Key) -> None:
        """Drop what is known of a cluster that is gone."""
        self._budget_pace.forget(key)
        self._tightened.pop(key, None)
        self._appliers.pop(key, None)

    def _written(self, existing: ClusterObjects) -> dict[str, int]:
        """Return how many pods the cluster's budgets keep available as they are written now, by the budget's name."""
        meta = existing.cluster.metadata
        store = self._caches.of(kinds.BUDGETS)
        own = controlled_by(store.indexed("cluster", f"{meta.namespace}/{meta.name}"), meta.uid)
        return {
            each.metadata.name.removeprefix(f"{meta.name}-"): each.spec.min_available
            for each in own
            if isinstance(each.spec.min_available, int)
        }

    async def _prune(
        self, existing: ClusterObjects, wanted: set[str], expectations: Expectations, applier: Applier
    ) -> None:
        meta = existing.cluster.metadata
        store = self._caches.of(kinds.BUDGETS)
        for budget in controlled_by(store.indexed("cluster", f"{meta.namespace}/{meta.name}"), meta.uid):
            if f"{kinds.BUDGETS.kind}/{budget.metadata.name}" in wanted or budget.metadata.terminating:
                continue
            with suppress(NotFound):
                await self._api.delete(kinds.BUDGETS, key_of(budget), DeleteOptions(Preconditions.of(budget)))
            expectations.deleted(store, budget)
            applier.forget(kinds.BUDGETS, key_of(budget))
