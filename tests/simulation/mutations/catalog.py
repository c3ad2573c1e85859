# pyright: reportUnknownLambdaType=false
"""The guards, each with a way to remove it and the scenario that fails then.

A mutation replaces one function of the product. A sentence says what it removes, for the next
person to change that function.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tests.simulation.failures import test_crashes as crashes
from tests.simulation.failures import test_database as database
from tests.simulation.failures import test_failures as failures
from tests.simulation.failures import test_stale_reads as stale
from tests.simulation.inputs import test_secrets as data
from tests.simulation.membership import test_surge as surges
from tests.simulation.membership import test_volume_growth as growth
from tests.simulation.mutations import without
from tests.simulation.restarts import test_in_place as in_place
from tests.simulation.users import test_edits as people

Scenario = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Mutation:
    """A guard that is removed: its number, what is removed, how, and who must notice."""

    number: str
    removes: str
    remove: Callable[[pytest.MonkeyPatch], None]
    caught_by: Scenario


MUTATIONS = (
    Mutation(
        "38",
        "members leave only after others have joined in their places",
        without.successors,
        surges.test_a_misspelt_class_of_managers_costs_no_vote,
    ),
    Mutation(
        "38",
        "room is made only where that cures what the scheduler says",
        without.scheduler_reasons,
        surges.test_no_room_is_made_for_a_storage_class_that_does_not_exist,
    ),
    Mutation(
        "38",
        "no second member makes room before the new one has joined",
        without.one_absence,
        surges.test_where_the_user_prefers_it_members_make_room_one_at_a_time,
    ),
    Mutation(
        "01",
        "deletes name UID and resourceVersion",
        without.unpinned,
        stale.test_08_own_deletions_count_before_the_cache_shows_them,
    ),
    Mutation(
        "02",
        "the live read before any member is released",
        without.cached,
        stale.test_03_the_volume_of_a_new_member_does_not_go_with_the_pod_of_the_old,
    ),
    Mutation(
        "03",
        "pods are deleted on live reads only",
        without.cached,
        stale.test_08_own_deletions_count_before_the_cache_shows_them,
    ),
    Mutation(
        "04",
        "nothing is collected because its owner is not in the cache",
        without.collecting,
        stale.test_04_secrets_of_a_living_cluster_stay_when_the_cache_has_lost_its_owner,
    ),
    Mutation(
        "06",
        "objects are looked at before they are made",
        without.any_owner,
        stale.test_06_a_dead_cluster_is_not_brought_back,
    ),
    Mutation(
        "07",
        "what is wanted is not pruned",
        without.pruning_all,
        stale.test_07_restarts_and_late_watches_make_and_delete_nothing_again,
    ),
    Mutation(
        "08",
        "nothing is taken down while caches have not seen the operator's own deletions",
        without.never_caught_up,
        stale.test_08_own_deletions_count_before_the_cache_shows_them,
    ),
    Mutation(
        "08",
        "who was in the cluster is forgotten on a live read only",
        without.forgetting,
        stale.test_08_a_member_that_an_old_cache_does_not_show_is_not_forgotten,
    ),
    Mutation(
        "11",
        "the volume of a member that left is deleted in the end",
        without.leaking,
        lambda: crashes.test_11_a_crash_while_a_member_leaves_leaks_no_volume("patch", "apps/statefulsets", 1),
    ),
    Mutation(
        "12",
        "each object of a member is ensured by itself",
        without.first_only,
        without.any_crash,
    ),
    Mutation(
        "14",
        "what was set in the database is undone",
        without.left_behind,
        lambda: crashes.test_14_the_allocation_is_given_back_after_a_crash("PUT /_cluster/settings"),
    ),
    Mutation(
        "16",
        "members are released after a live read",
        without.never_caught_up,
        lambda: crashes.test_16_scale_events_that_were_missed_end_the_same(20.0, 20.0),
    ),
    Mutation(
        "17",
        "unknown is not absent",
        without.absent_when_unknown,
        lambda: database.test_17_a_database_that_does_not_answer_is_unknown_and_not_empty("error"),
    ),
    Mutation(
        "21",
        "members that are to leave are upgraded too",
        without.without_leaving,
        database.test_21_members_that_are_to_leave_are_upgraded_too,
    ),
    Mutation(
        "22",
        "a fresh look before each disruption",
        without.remembered_health,
        database.test_22_every_disruption_has_a_fresh_check_behind_it,
    ),
    Mutation(
        "23",
        "what is broken may be repaired",
        without.no_repair,
        people.test_23_a_selector_that_fits_no_node_and_its_revert_converge,
    ),
    Mutation(
        "24",
        "a copy that cannot be placed does not hold the change",
        without.strict_gate,
        people.test_24_a_replica_that_only_the_upgrade_can_place_does_not_hold_the_upgrade_up,
    ),
    Mutation(
        "25",
        "a wrong member is reported, and is no error in the operator",
        without.strict_names,
        people.test_25_a_wrong_name_in_the_replace_list_is_reported_and_the_rest_continues,
    ),
    Mutation(
        "25",
        "a wrong pool is passed over, and is no error in the operator",
        without.strict_order,
        people.test_25_a_wrong_name_in_the_order_of_pools_stops_nothing_else,
    ),
    Mutation(
        "26",
        "objects are made by apply, so that fields can be pruned",
        without.made_by_create,
        people.test_26_a_variable_that_is_removed_is_removed_from_the_pods,
    ),
    Mutation(
        "27",
        "another storage class is a new member",
        without.no_replacement,
        people.test_27_another_storage_class_replaces_member_by_member_and_other_clusters_continue,
    ),
    Mutation(
        "28",
        "who only starts is left alone",
        without.impatient,
        failures.test_28_a_change_that_waits_disturbs_no_member_that_starts_after_an_outage,
    ),
    Mutation(
        "28",
        "a first crash of all at once is no reason for a repair",
        without.no_second_start,
        failures.test_28_a_change_that_is_made_in_the_first_back_off_of_all_members_waits_until_they_are_back,
    ),
    Mutation(
        "28",
        "who waits for a configuration that was overwritten is being recreated",
        without.left_waiting,
        failures.test_28_a_member_that_was_about_to_restart_when_its_node_failed_does_not_wait_for_it,
    ),
    Mutation(
        "30",
        "the number of members is in no template",
        without.scale_in_template,
        people.test_30_scaling_out_restarts_no_member,
    ),
    Mutation(
        "31",
        "no member stops in the round that tightens a budget",
        without.tightened_budgets,
        failures.test_31_while_a_member_is_evicted_as_a_rollout_begins_no_other_one_stops,
    ),
    Mutation(
        "31",
        "versions wait for the turn of their pool",
        without.all_at_once,
        failures.test_31_an_evicted_member_of_a_pool_that_is_not_next_keeps_its_version,
    ),
    Mutation(
        "32", "one budget for the whole cluster", without.budget_of_each, people.test_32_pools_by_zone_share_one_budget
    ),
    Mutation(
        "34",
        "no member leaves while others are down",
        without.no_waiting,
        failures.test_34_two_members_fail_while_a_third_is_upgraded_and_no_other_member_is_taken,
    ),
    Mutation(
        "35",
        "a process starts on the configuration its pod was made for",
        without.any_configuration,
        failures.test_35_a_process_starts_on_the_configuration_its_pod_was_made_for,
    ),
    Mutation(
        "35",
        "a process is started in its pod on the configuration that was written for it",
        without.any_checksum,
        in_place.test_35_a_process_is_started_on_its_new_configuration_however_late_that_arrives,
    ),
    Mutation(
        "36",
        "what was staged and taken back is staged back",
        without.never_staged_back,
        people.test_36_a_change_reverted_half_way_ends_like_the_beginning,
    ),
    Mutation(
        "37",
        "no restart begins while data changes",
        without.unsettled,
        data.test_37_a_burst_of_changes_of_several_secrets_is_one_restart_of_each_member,
    ),
    Mutation(
        "39",
        "a volume changes once in six hours",
        without.pauses_of_volumes,
        growth.test_39_the_limit_is_named_and_a_higher_one_continues_the_growth,
    ),
    Mutation(
        "39",
        "volumes grow up to the limit",
        without.limit_of_growth,
        growth.test_39_the_limit_is_named_and_a_higher_one_continues_the_growth,
    ),
    Mutation(
        "39",
        "a volume that has grown by itself is not too large",
        without.record_of_growth,
        growth.test_39_a_pool_that_has_grown_keeps_its_size_in_new_members_and_through_smaller_edits,
    ),
    Mutation(
        "39",
        "the next size includes what is written until a volume may change again",
        without.forecast_of_growth,
        growth.test_39_disks_that_fill_for_a_day_and_a_half_never_reach_the_watermark,
    ),
)
