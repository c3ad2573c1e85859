"""No deletion relies on a cache that has not received our own last write."""

import pytest

from stateward.kube.cache.expectations import Expectations
from stateward.kube.cache.store import Store
from stateward.kube.objects.metadata import Key, ObjectMeta
from stateward.kube.objects.pods import Pod
from stateward.kube.timing.virtual_time import VirtualClock

A = Key("ns", "a")


def pod(version: int | str, *, name: str = "a", uid: str = "1") -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=uid, resource_version=str(version)))


def synced(version: int | str = 5) -> Store[Pod]:
    store = Store[Pod]("pods")
    store.feed().replace([pod(3), pod(4, name="b", uid="2")], str(version))
    return store


async def test_a_write_is_expected_until_the_watch_reports_it() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.wrote(store, pod(8))
    assert not ours.caught_up
    store.feed().heard(pod(7, name="b", uid="2"))
    assert str(ours.unmet()[0]) == "the cache of pods has not seen our write to ns/a of 0.0 s ago"
    store.feed().heard(pod(8))
    assert ours.caught_up


async def test_progress_past_the_write_is_enough() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.wrote(store, pod(8))
    store.feed().progressed("9")
    assert ours.caught_up


async def test_a_deletion_is_expected_until_the_watch_reports_it_whatever_else_it_says() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.deleted(store, pod(3))
    assert store.get(A) is None
    store.feed().heard(pod(7))
    assert store.get(A) is None
    assert not ours.caught_up
    store.feed().heard_end(pod(8))
    assert ours.caught_up


async def test_an_answer_that_comes_after_the_event_expects_nothing() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    store.feed().heard(pod(8))
    ours.wrote(store, pod(8))
    store.feed().heard_end(pod(9))
    ours.deleted(store, pod(8))
    assert ours.caught_up


async def test_a_late_answer_of_a_deletion_is_recognized_although_versions_cannot_be_compared() -> None:
    store, ours = synced("m"), Expectations(VirtualClock())
    store.feed().heard_end(pod("x"))
    store.feed().heard(pod("y", name="b", uid="2"))
    ours.wrote(store, pod("x"))
    assert store.get(A) is None
    assert ours.caught_up


async def test_an_object_that_the_watch_never_reported_is_not_waited_for() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    store.feed().replace([], "9")
    ours.deleted(store, pod(8, name="brief", uid="7"))
    assert ours.caught_up


async def test_a_write_that_changed_nothing_expects_nothing() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.wrote(store, pod(3))
    assert ours.caught_up


@pytest.mark.parametrize("listed", [[], [pod(9)]])
async def test_a_newer_list_meets_all_expectations(listed: list[Pod]) -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.wrote(store, pod(8))
    store.feed().replace(listed, "9")
    assert ours.caught_up


async def test_a_list_from_before_the_write_does_not_meet_it() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.wrote(store, pod(8))
    store.feed().replace([pod(3)], "6")
    assert not ours.caught_up
    assert store.get(A) == pod(8)


async def test_versions_that_cannot_be_compared_are_waited_for_by_name() -> None:
    store, ours = synced("x"), Expectations(VirtualClock())
    ours.wrote(store, pod("abc"))
    store.feed().heard(pod("other", name="b", uid="2"))
    assert not ours.caught_up
    store.feed().heard(pod("abc"))
    assert ours.caught_up


async def test_what_one_cluster_waits_for_does_not_hold_another() -> None:
    store, ours, others = synced(), Expectations(VirtualClock()), Expectations(VirtualClock())
    ours.wrote(store, pod(8))
    assert others.caught_up
    assert not ours.caught_up


async def test_the_age_of_an_expectation_can_be_read() -> None:
    store, ours = synced(), Expectations(VirtualClock())
    ours.wrote(store, pod(8))
    await VirtualClock().sleep(90)
    assert ours.unmet()[0].age == pytest.approx(90)
