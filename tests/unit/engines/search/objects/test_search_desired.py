"""A spec as planning understands it."""

import pytest

from stateward.api.values.base import Json
from stateward.engines.opensearch import desired
from stateward.planning.model.observation import Effect, Growth, Pool, SoleCopy
from tests.unit.engines.search_clusters import SPEC, cluster, with_pool


def test_defaults_are_filled_in() -> None:
    managers, hot, gateway = desired(cluster()).pools
    assert (managers.voting, managers.data, managers.ephemeral, managers.volume_size) == (True, False, False, 1 << 30)
    assert (hot.voting, hot.data, hot.ephemeral, hot.volume_size) == (False, True, False, 20 << 30)
    assert hot.effects["storage"] is Effect.REPLACE
    # A node that holds nothing needs no volume.
    assert (gateway.voting, gateway.data, gateway.ephemeral, gateway.volume_size) == (False, False, True, 0)


def test_a_pool_without_roles_has_all_of_them_and_a_volume_of_ten_gibibytes() -> None:
    (pool,) = desired(cluster({"version": "2.19.5", "pools": [{"name": "all", "replicas": 1}]})).pools
    assert (pool.voting, pool.data, pool.volume_size) == (True, True, 10 << 30)


def test_a_coordinating_pool_gets_a_volume_where_one_is_requested() -> None:
    gateway = desired(cluster(with_pool("gateway", storage={"size": "5Gi"}))).pools[2]
    assert (gateway.ephemeral, gateway.volume_size) == (False, 5 << 30)


def test_growth_has_its_defaults_and_ephemeral_storage_none() -> None:
    hot = desired(cluster(with_pool("hot", storage={"size": "20Gi", "grow": {"max": "1Ti"}}))).pools[1]
    assert hot.growth == Growth(when=80, by=25, limit=1 << 40)
    chosen = {"max": "500Gi", "when": "70%", "by": "50%"}
    hot = desired(cluster(with_pool("hot", storage={"size": "20Gi", "grow": chosen}))).pools[1]
    assert hot.growth == Growth(when=70, by=50, limit=500 << 30)
    assert desired(cluster()).pools[1].growth is None


@pytest.mark.parametrize(("asked", "expected"), [(1, 1), (3, 3), ("1%", 1), ("50%", 3), ("99%", 6), ("100%", 7)])
def test_a_percentage_is_of_all_members_rounded_down_but_at_least_one(asked: int | str, expected: int) -> None:
    assert desired(cluster(update={"maxUnavailable": asked})).max_unavailable == expected


def test_the_update_policy_and_volume_policy_are_taken_over() -> None:
    update = {"paused": True, "order": ["hot"], "minLiveCopies": 2, "singleCopy": "Wait"}
    wanted = desired(cluster(update=update, volumes={"whenShrunk": "Refuse", "whenScaled": "Delete"}))
    assert (wanted.paused, wanted.order, wanted.min_live_copies) == (True, ("hot",), 2)
    assert (wanted.sole_copy, wanted.replace_on_shrink, wanted.delete_volumes) == (SoleCopy.WAIT, False, True)


def test_tiers_change_from_search_over_warm_to_data() -> None:
    pools = [{"name": role, "replicas": 1, "roles": [role]} for role in ("search", "warm", "data")]
    found = desired(cluster({"version": "3.4.0", "pools": [SPEC["pools"][0], *pools]})).pools[1:]
    assert [pool.tier for pool in found] == [0, 1, 2]
    assert all(pool.data for pool in found)


def test_a_refused_version_leaves_the_cluster_at_what_it_runs() -> None:
    wanted = desired(cluster(status={"version": "3.4.0"}))
    assert wanted.version == "3.4.0"
    (refusal,) = wanted.refusals
    assert (refusal.subject, refusal.everything) == ("spec.version", False)
    assert all(pool.inputs == pool.held_inputs for pool in wanted.pools)
    assert all(pool.inputs == before.inputs for pool, before in zip(wanted.pools, running("3.4.0"), strict=True))


def running(version: str) -> tuple[Pool, ...]:
    return desired(cluster(version=version, status={"version": version})).pools


def test_an_upgrade_keeps_the_old_version_of_members_that_are_not_next() -> None:
    wanted = desired(cluster(status={"version": "2.17.1"}))
    assert wanted.version == "2.19.5"
    assert not wanted.refusals
    for pool, before in zip(wanted.pools, running("2.17.1"), strict=True):
        assert pool.held_inputs == before.inputs
        assert {name for name in pool.inputs if pool.inputs[name] != pool.held_inputs[name]} == {"version"}


@pytest.mark.parametrize("image", ["own/search@sha256:" + "a" * 64, "own/search:stable"])
def test_an_upgrade_needs_an_image_that_shows_its_version(image: str) -> None:
    held: Json = {"version": "2.17.1"}
    (refusal,) = desired(cluster(image=image, status=held)).refusals
    assert refusal.subject == "spec.image"
    assert not desired(cluster(image=image, status={"version": "2.19.5"})).refusals
    assert not desired(cluster(image=image)).refusals


def test_a_refused_version_does_not_come_in_by_way_of_an_image_without_one() -> None:
    (refusal,) = desired(cluster(image="own/search@sha256:" + "a" * 64, status={"version": "3.4.0"})).refusals
    assert (refusal.subject, refusal.everything) == ("spec.version", True)
