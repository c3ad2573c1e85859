# pyright: reportUnknownLambdaType=false
"""How each guard is removed: one function of the product is replaced by one that does not guard."""

from typing import Any

import pytest
from msgspec import structs

from stateward.api.kinds.cluster import Storage
from stateward.engines.search.database import driver
from stateward.engines.search.objects import desired, inputs, pod
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.operator.act import act, shared_objects
from stateward.operator.clusters import reconcile
from stateward.operator.objects import ownership, translate
from stateward.operator.observe import desired_state
from stateward.planning import plan
from stateward.planning.facts import facts
from stateward.planning.model.intent import StepResult
from stateward.planning.model.observation import Database, Growth, Health, Unknown
from stateward.planning.safety import health_gate, safe_set
from stateward.planning.steps.membership import replacement, scale, surge
from stateward.planning.steps.rollout import prepare, restart_one, rolling_change
from stateward.planning.steps.upkeep import repair, volume_growth
from tests.simulation.failures import test_crashes as crashes


def unpinned(patch: pytest.MonkeyPatch) -> None:
    def options(pinned: Preconditions) -> DeleteOptions:
        return DeleteOptions(Preconditions(pinned.uid))

    patch.setattr(act, "DeleteOptions", options)


def cached(patch: pytest.MonkeyPatch) -> None:
    for kind in (*plan.Action.__subclasses__(),):
        patch.setattr(kind, "needs_live", False)
    patch.setattr(plan.Plan, "needs_live", property(lambda made: made.forgets))


def forgetting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "loses_record", lambda *_: False)


def never_caught_up(patch: pytest.MonkeyPatch) -> None:
    cached(patch)
    patch.setattr(plan, "allowed_on_these_reads", lambda _obs, actions: actions)


def any_owner(patch: pytest.MonkeyPatch) -> None:
    async def there(*_: Any) -> bool:
        return True

    patch.setattr(ownership.TakenNames, "exists", there)


def tightened_budgets(patch: pytest.MonkeyPatch) -> None:
    original = shared_objects.SharedObjects.close

    async def close(self: shared_objects.SharedObjects, *rest: Any, **more: Any) -> bool:
        await original(self, *rest, **more)
        return True

    patch.setattr(shared_objects.SharedObjects, "close", close)


def collecting(patch: pytest.MonkeyPatch) -> None:
    original = reconcile.Reconciler.reconcile

    async def collect(self: Any, key: Key) -> float | None:
        if self._caches.cluster_objects(key) is None:
            for secret in self._caches.owned["secrets"].indexed("cluster", f"{key.namespace}/{key.name}"):
                meta = secret.metadata
                options = DeleteOptions(Preconditions(meta.uid, meta.resource_version))
                await self._api.delete(act.kinds.SECRETS, Key(meta.namespace, meta.name), options)
        return await original(self, key)

    patch.setattr(reconcile.Reconciler, "reconcile", collect)


def pruning_all(patch: pytest.MonkeyPatch) -> None:
    original = shared_objects.SharedObjects._prune

    async def prune(self: Any, existing: Any, _wanted: set[str], *given: Any) -> None:
        await original(self, existing, set(), *given)

    patch.setattr(shared_objects.SharedObjects, "_prune", prune)


def leaking(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> None:
        return

    patch.setattr(act.Actor, "_delete_volume", nothing)


def first_only(patch: pytest.MonkeyPatch) -> None:
    original = act.Actor._create

    async def create(self: Any, action: Any, existing: Any) -> None:
        if any(s.metadata.name == action.member for s in existing.secrets):
            return
        await original(self, action, existing)

    patch.setattr(act.Actor, "_create", create)


def left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "revert_settings", lambda *_args, **_kwargs: StepResult())


def absent_when_unknown(patch: pytest.MonkeyPatch) -> None:
    original = driver.SearchEngine.observe

    async def observe(self: Any, target: Any) -> Any:
        found = await original(self, target)
        return Database(identity="", health=Health.GREEN, nodes={}) if isinstance(found, Unknown) else found

    patch.setattr(driver.SearchEngine, "observe", observe)


def without_leaving(patch: pytest.MonkeyPatch) -> None:
    original = rolling_change.pending

    def pending(found: Any, taken: frozenset[str]) -> Any:
        surplus = frozenset(scale.scale(found, {}).leaving)
        return original(found, taken | surplus)

    patch.setattr(rolling_change, "pending", pending)


def remembered_health(patch: pytest.MonkeyPatch) -> None:
    original = driver.SearchEngine.observe
    kept: dict[str, tuple[float, Any]] = {}

    async def observe(self: Any, target: Any) -> Any:
        now = driver.asyncio.get_running_loop().time()
        if target.name not in kept or now - kept[target.name][0] > 60 or isinstance(kept[target.name][1], Unknown):
            kept[target.name] = (now, await original(self, target))
        return kept[target.name][1]

    patch.setattr(driver.SearchEngine, "observe", observe)


def no_repair(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "repair", lambda *_: StepResult())


def strict_gate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(health_gate, "placeable", lambda *_: True)


def strict_names(patch: pytest.MonkeyPatch) -> None:
    original = replacement.asked_for

    def asked_for(found: Any, listed: Any) -> Any:
        for name in found.obs.desired.replacement.replace:
            assert found.members[name]
        return original(found, listed)

    patch.setattr(replacement, "asked_for", asked_for)


def impatient(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repair, "broken", lambda *_: True)


def no_second_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repair, "restarts_with_all", lambda *_: False)


def left_waiting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repair, "configuration_is_lost", lambda *_: False)


def strict_order(patch: pytest.MonkeyPatch) -> None:
    original = desired_state.validate

    def validate(cluster: Any) -> Any:
        update = cluster.spec.update
        if update is not None and set(update.order or ()) - {pool.name for pool in cluster.spec.pools}:
            raise KeyError(update.order)
        return original(cluster)

    patch.setattr(desired_state, "validate", validate)


def made_by_create(patch: pytest.MonkeyPatch) -> None:
    async def ensure(self: Any, kind: Any, body: Any, _: Any) -> None:
        made = await self._api.create(kind, body, namespace=body["metadata"]["namespace"])
        self._wrote(kind, made)

    patch.setattr(act.Actor, "_ensure", ensure)


def no_replacement(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scale, "to_replace", lambda *_: None)


def scale_in_template(patch: pytest.MonkeyPatch) -> None:
    original = inputs._asked

    def asked(pool: Any, version: str) -> Any:
        yield from original(pool, version)
        yield "template/members", pool.spec.replicas

    patch.setattr(inputs, "_asked", asked)


def all_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        facts, "creation_versions", lambda obs, *_: {pool.name: obs.desired.version for pool in obs.desired.pools}
    )


def budget_of_each(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(safe_set, "room_left", lambda _facts, candidates: candidates)
    patch.setattr(safe_set, "conflicts", lambda _facts, able: [0] * len(able))
    patch.setattr(safe_set, "member_problem", lambda *_: None)


def no_waiting(patch: pytest.MonkeyPatch) -> None:
    budget_of_each(patch)
    patch.setattr(rolling_change, "health_problem", lambda _: None)


def any_configuration(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pod, "files_digest", lambda *_: "")


def any_checksum(patch: pytest.MonkeyPatch) -> None:
    def start(_facts: Any, member: Any, _process: Any) -> StepResult:
        anything = structs.replace(restart_one.start_process(member), checksum="")
        return StepResult(actions=(anything,), intents=restart_one.restart_intent(member, "is being started").intents)

    patch.setattr(restart_one, "start", start)
    patch.setattr(prepare, "agent_problem", lambda *_: None)


async def any_crash() -> None:
    for nth in range(1, 19):
        await crashes.test_12_a_crash_after_any_write_of_the_creation_leaves_nothing_undone(nth)


def unsettled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rolling_change, "is_settling", lambda *_: False)


def never_staged_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "templates", lambda *_: StepResult())


def successors(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(surge, "members_to_spare", lambda _facts, leaving, _counted: frozenset(m.name for m in leaving))


def scheduler_reasons(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(surge, "frees_place", lambda _member, _trouble: True)


def one_absence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(surge, "complete", lambda _facts: True)


def pauses_of_volumes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(volume_growth, "INTERVAL", 0.0)


def limit_of_growth(patch: pytest.MonkeyPatch) -> None:
    original = desired.growth

    def without_limit(storage: Storage) -> Growth | None:
        found = original(storage)
        return None if found is None else structs.replace(found, limit=1 << 60)

    patch.setattr(desired, "growth", without_limit)


def record_of_growth(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(translate, "size_in", lambda _: 0)


def forecast_of_growth(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(volume_growth, "expected_bytes", lambda *_: 0)
