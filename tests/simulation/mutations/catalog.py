# pyright: reportUnknownLambdaType=false
"""The guards, each with a way to remove it and the scenario that fails then.

A mutation replaces one function of the product. What it removes is said in a sentence, so that whoever changes that
function knows what they hold in their hands.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stateward.engines.search import driver, inputs, pod
from stateward.kube.client import DeleteOptions, Preconditions
from stateward.kube.metadata import Key
from stateward.operator import act, furnish, reconcile, wanted
from stateward.planning import choice, facts, gate, plan, repair, replacement, roll, scale
from stateward.planning.intent import Part
from stateward.planning.observation import Database, Health, Unknown
from tests.simulation import test_scenarios_crashes as crashes
from tests.simulation import test_scenarios_database as database
from tests.simulation import test_scenarios_failures as failures
from tests.simulation import test_scenarios_people as people
from tests.simulation import test_scenarios_stale_reads as stale

Scenario = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Mutation:
    """A guard that is removed: its number, what is removed, how, and who must notice."""

    number: str
    removes: str
    remove: Callable[[pytest.MonkeyPatch], None]
    caught_by: Scenario


def _unpinned(patch: pytest.MonkeyPatch) -> None:
    def options(pinned: Preconditions) -> DeleteOptions:
        return DeleteOptions(Preconditions(pinned.uid))

    patch.setattr(act, "DeleteOptions", options)


def _cached(patch: pytest.MonkeyPatch) -> None:
    for kind in (*plan.Action.__subclasses__(),):
        patch.setattr(kind, "destructive", False)


def _forgetting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "forgets", lambda *_: False)


def _never_caught_up(patch: pytest.MonkeyPatch) -> None:
    _cached(patch)
    patch.setattr(plan, "trusted", lambda _obs, actions: actions)


def _any_owner(patch: pytest.MonkeyPatch) -> None:
    async def there(*_: Any) -> bool:
        return True

    for module in (act, furnish):
        patch.setattr(module, "exists", there)


def _collecting(patch: pytest.MonkeyPatch) -> None:
    original = reconcile.Reconciler.reconcile

    async def collect(self: Any, key: Key) -> float | None:
        if self._caches.holdings(key) is None:
            for secret in self._caches.owned["secrets"].indexed("cluster", f"{key.namespace}/{key.name}"):
                meta = secret.metadata
                options = DeleteOptions(Preconditions(meta.uid, meta.resource_version))
                await self._api.delete(act.kinds.SECRETS, Key(meta.namespace, meta.name), options)
        return await original(self, key)

    patch.setattr(reconcile.Reconciler, "reconcile", collect)


def _pruning_all(patch: pytest.MonkeyPatch) -> None:
    original = furnish.Furnisher._prune

    async def prune(self: Any, holdings: Any, _wanted: set[str], expectations: Any) -> None:
        await original(self, holdings, set(), expectations)

    patch.setattr(furnish.Furnisher, "_prune", prune)


def _leaking(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> None:
        return

    patch.setattr(act.Actor, "_delete_volume", nothing)


def _first_only(patch: pytest.MonkeyPatch) -> None:
    original = act.Actor._create

    async def create(self: Any, action: Any, holdings: Any) -> None:
        if any(s.metadata.name == action.member for s in holdings.secrets):
            return
        await original(self, action, holdings)

    patch.setattr(act.Actor, "_create", create)


def _left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "undo", lambda *_args, **_kwargs: ())


def _absent_when_unknown(patch: pytest.MonkeyPatch) -> None:
    original = driver.SearchEngine.observe

    async def observe(self: Any, target: Any) -> Any:
        found = await original(self, target)
        return Database(identity="", health=Health.GREEN, nodes={}) if isinstance(found, Unknown) else found

    patch.setattr(driver.SearchEngine, "observe", observe)


def _without_leaving(patch: pytest.MonkeyPatch) -> None:
    original = roll.pending

    def pending(found: Any, taken: frozenset[str]) -> Any:
        surplus = frozenset(scale.scale(found, {}).leaving)
        return original(found, taken | surplus)

    patch.setattr(roll, "pending", pending)


def _remembered_health(patch: pytest.MonkeyPatch) -> None:
    original = driver.SearchEngine.observe
    kept: dict[str, tuple[float, Any]] = {}

    async def observe(self: Any, target: Any) -> Any:
        now = driver.asyncio.get_running_loop().time()
        if target.name not in kept or now - kept[target.name][0] > 60 or isinstance(kept[target.name][1], Unknown):
            kept[target.name] = (now, await original(self, target))
        return kept[target.name][1]

    patch.setattr(driver.SearchEngine, "observe", observe)


def _no_repair(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "repair", lambda *_: Part())


def _strict_gate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "placeable", lambda *_: True)


def _strict_names(patch: pytest.MonkeyPatch) -> None:
    original = replacement.asked_for

    def asked_for(found: Any, listed: Any) -> Any:
        for name in found.obs.desired.replacement.replace:
            assert found.members[name]
        return original(found, listed)

    patch.setattr(replacement, "asked_for", asked_for)


def _impatient(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repair, "broken", lambda *_: True)


def _strict_order(patch: pytest.MonkeyPatch) -> None:
    original = wanted.validate

    def validate(cluster: Any) -> Any:
        update = cluster.spec.update
        if update is not None and set(update.order or ()) - {pool.name for pool in cluster.spec.pools}:
            raise KeyError(update.order)
        return original(cluster)

    patch.setattr(wanted, "validate", validate)


def _made_by_create(patch: pytest.MonkeyPatch) -> None:
    async def ensure(self: Any, kind: Any, body: Any, _: Any) -> None:
        made = await self._api.create(kind, body, namespace=body["metadata"]["namespace"])
        self._wrote(kind, made)

    patch.setattr(act.Actor, "_ensure", ensure)


def _no_replacement(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scale, "to_replace", lambda *_: None)


def _scale_in_template(patch: pytest.MonkeyPatch) -> None:
    original = inputs._asked

    def asked(pool: Any, version: str) -> Any:
        yield from original(pool, version)
        yield "template/members", pool.spec.replicas

    patch.setattr(inputs, "_asked", asked)


def _all_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(facts, "versions", lambda obs, *_: {pool.name: obs.desired.version for pool in obs.desired.pools})


def _budget_of_each(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(choice, "room_left", lambda _facts, candidates: candidates)
    patch.setattr(choice, "conflicts", lambda _facts, able: [0] * len(able))
    patch.setattr(choice, "member_problem", lambda *_: None)


def _no_waiting(patch: pytest.MonkeyPatch) -> None:
    _budget_of_each(patch)
    patch.setattr(roll, "unready", lambda _: None)


def _any_configuration(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pod, "_config_digest", lambda *_: "")


async def _any_crash() -> None:
    for nth in range(1, 19):
        await crashes.test_12_a_crash_after_any_write_of_the_creation_leaves_nothing_undone(nth)


def _never_staged_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "templates", lambda *_: Part())


MUTATIONS = (
    Mutation(
        "01",
        "deletes name UID and resourceVersion",
        _unpinned,
        stale.test_08_own_deletions_count_before_the_cache_shows_them,
    ),
    Mutation(
        "02",
        "the live read before anything is let go",
        _cached,
        stale.test_03_the_volume_of_a_new_member_does_not_go_with_the_pod_of_the_old,
    ),
    Mutation(
        "03",
        "pods are deleted on live reads only",
        _cached,
        stale.test_08_own_deletions_count_before_the_cache_shows_them,
    ),
    Mutation(
        "04",
        "nothing is collected because its owner is not in the cache",
        _collecting,
        stale.test_04_secrets_of_a_living_cluster_stay_when_the_cache_has_lost_its_owner,
    ),
    Mutation(
        "06", "objects are looked at before they are made", _any_owner, stale.test_06_a_dead_cluster_is_not_brought_back
    ),
    Mutation(
        "07",
        "what is wanted is not pruned",
        _pruning_all,
        stale.test_07_restarts_and_late_watches_make_and_delete_nothing_again,
    ),
    Mutation(
        "08",
        "nothing is taken down while caches have not seen the operator's own deletions",
        _never_caught_up,
        stale.test_08_own_deletions_count_before_the_cache_shows_them,
    ),
    Mutation(
        "08",
        "who was in the cluster is forgotten on a live read only",
        _forgetting,
        stale.test_08_a_member_that_an_old_cache_does_not_show_is_not_forgotten,
    ),
    Mutation(
        "11",
        "the volume of a member that left is deleted in the end",
        _leaking,
        lambda: crashes.test_11_a_crash_while_a_member_leaves_leaks_no_volume("patch", "apps/statefulsets", 1),
    ),
    Mutation(
        "12",
        "each object of a member is ensured by itself",
        _first_only,
        _any_crash,
    ),
    Mutation(
        "14",
        "what was set in the database is undone",
        _left_behind,
        lambda: crashes.test_14_the_allocation_is_given_back_after_a_crash("PUT /_cluster/settings"),
    ),
    Mutation(
        "16",
        "members are let go on a live read",
        _never_caught_up,
        crashes.test_16_scale_events_that_were_missed_end_the_same,
    ),
    Mutation(
        "17",
        "unknown is not absent",
        _absent_when_unknown,
        lambda: database.test_17_a_database_that_does_not_answer_is_unknown_and_not_empty("error"),
    ),
    Mutation(
        "21",
        "members that are to leave are upgraded too",
        _without_leaving,
        database.test_21_members_that_are_to_leave_are_upgraded_too,
    ),
    Mutation(
        "22",
        "a fresh look before each disruption",
        _remembered_health,
        database.test_22_every_disruption_has_a_fresh_look_behind_it,
    ),
    Mutation(
        "23",
        "what is broken may be repaired",
        _no_repair,
        people.test_23_a_selector_that_fits_no_node_and_its_revert_converge,
    ),
    Mutation(
        "24",
        "a copy that cannot be placed does not hold the change",
        _strict_gate,
        people.test_24_a_replica_that_only_the_upgrade_can_place_does_not_hold_the_upgrade_up,
    ),
    Mutation(
        "25",
        "a wrong member is reported, and is no error in the operator",
        _strict_names,
        people.test_25_a_wrong_name_in_the_replace_list_is_reported_and_the_rest_goes_on,
    ),
    Mutation(
        "25",
        "a wrong pool is passed over, and is no error in the operator",
        _strict_order,
        people.test_25_a_wrong_name_in_the_order_of_pools_stops_nothing_else,
    ),
    Mutation(
        "26",
        "objects are made by apply, so that fields can be pruned",
        _made_by_create,
        people.test_26_a_variable_that_is_removed_is_removed_from_the_pods,
    ),
    Mutation(
        "27",
        "another storage class is a new member",
        _no_replacement,
        people.test_27_another_storage_class_replaces_member_by_member_and_other_clusters_go_on,
    ),
    Mutation(
        "28",
        "who only starts is left alone",
        _impatient,
        failures.test_28_a_change_that_waits_disturbs_nobody_who_starts_after_an_outage,
    ),
    Mutation(
        "30", "the number of members is in no template", _scale_in_template, people.test_30_scaling_out_restarts_nobody
    ),
    Mutation(
        "31",
        "versions wait for the turn of their pool",
        _all_at_once,
        failures.test_31_an_evicted_member_of_a_pool_whose_turn_has_not_come_keeps_its_version,
    ),
    Mutation("32", "one budget for the whole cluster", _budget_of_each, people.test_32_pools_by_zone_share_one_budget),
    Mutation(
        "34",
        "nobody goes while others are down",
        _no_waiting,
        failures.test_34_two_members_fail_while_a_third_is_upgraded_and_nobody_else_is_taken,
    ),
    Mutation(
        "35",
        "a process starts on the configuration its pod was made for",
        _any_configuration,
        failures.test_35_a_process_starts_on_the_configuration_its_pod_was_made_for,
    ),
    Mutation(
        "36",
        "what was staged and taken back is staged back",
        _never_staged_back,
        people.test_36_a_change_taken_back_half_way_ends_like_the_beginning,
    ),
)
