"""The cache ends in the server's state, whatever comes late, twice, out of order or from our own writes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stateward.kube.cache.deltas import Change, Delta, by_controller, by_label
from stateward.kube.cache.store import Store
from stateward.kube.objects.metadata import Key, ObjectMeta, OwnerReference
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.versions import is_older, reaches
from stateward.kube.objects.watching import Unreadable

A = Key("ns", "a")


def pod(version: int | str, *, name: str = "a", uid: str = "1", **meta: Any) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=uid, resource_version=str(version), **meta))


def synced(*pods: Pod, version: int = 5) -> Store[Pod]:
    store = Store[Pod]("pods", indexes={"app": by_label("app"), "owner": by_controller})
    store.feed().replace(pods, str(version))
    return store


def version(store: Store[Pod], key: Key = A) -> str:
    found = store.get(key)
    return found.metadata.resource_version if found else ""


def test_versions_are_compared_as_numbers_where_they_are_numbers() -> None:
    assert is_older("9", "10") is True
    assert is_older("10", "9") is False
    assert is_older("7", "7") is False
    assert is_older("abc", "10") is None
    assert is_older("abc", "abc") is False
    assert not reaches("", "1")


def test_our_own_write_is_seen_at_once_and_not_replaced_by_what_is_older() -> None:
    store = synced(pod(3))
    store.wrote(pod(8))
    assert version(store) == "8"
    store.feed().heard(pod(7))
    assert version(store) == "8"
    store.feed().heard(pod(9))
    assert version(store) == "9"


def test_a_late_answer_does_not_replace_what_the_watch_has_reported() -> None:
    store = synced(pod(3))
    store.feed().heard(pod(9))
    store.wrote(pod(8))
    assert version(store) == "9"


def test_a_deleted_object_does_not_come_back_with_a_late_event() -> None:
    store = synced(pod(3))
    store.deleted(pod(3))
    store.feed().heard(pod(4))
    assert store.get(A) is None


def test_a_successor_of_the_same_name_is_another_object() -> None:
    store = synced(pod(3))
    deltas: list[tuple[Change, str]] = []
    store.subscribe(lambda delta: deltas.append((delta.change, (delta.new or delta.old or pod(0)).metadata.uid)))
    store.feed().heard(pod(7, uid="2"))
    store.feed().heard_end(pod(6, uid="1"))
    assert version(store) == "7"
    assert deltas == [(Change.ADDED, "1"), (Change.REMOVED, "1"), (Change.ADDED, "2")]


def test_an_object_that_left_the_selection_may_enter_it_again() -> None:
    store = synced(pod(3))
    store.feed().heard_end(pod(6))
    assert store.get(A) is None
    store.feed().heard(pod(5))
    assert store.get(A) is None
    store.feed().heard(pod(8))
    assert version(store) == "8"


def test_a_list_shows_objects_deleted_while_no_watch_was_open() -> None:
    store = synced(pod(3), pod(4, name="b", uid="2"))
    removed: list[Delta[Pod]] = []
    store.subscribe(lambda delta: removed.append(delta) if delta.change is Change.REMOVED else None)
    store.feed().replace([pod(4, name="b", uid="2")], "9")
    assert [delta.key for delta in removed] == [A]
    store.wrote(pod(8))
    assert store.get(A) is None, "an answer from before the list must not raise the dead"


def test_what_we_created_after_the_list_was_made_is_not_missing_in_it() -> None:
    store = synced(version=5)
    store.wrote(pod(12))
    store.feed().replace([], "10")
    assert version(store) == "12"


def test_what_we_wrote_and_someone_deleted_before_the_watch_began_is_not_brought_in_by_the_late_answer() -> None:
    store = synced(version=12)
    store.wrote(pod(11))
    assert store.get(A) is None
    assert not store.lags(A, "1")


def test_an_unreadable_object_keeps_its_last_version_and_is_marked_until_it_can_be_read() -> None:
    store = synced(pod(3))
    changes: list[Change] = []
    store.subscribe(lambda delta: changes.append(delta.change))
    trouble = Unreadable(ObjectMeta(name="a", namespace="ns", uid="1", resource_version="7"), "spec: expected int")
    store.feed().heard_trouble(trouble)
    assert store.unreadable == {A: trouble}
    assert version(store) == "3"
    store.feed().heard(pod(9))
    assert store.unreadable == {}
    assert changes == [Change.ADDED, Change.UNREADABLE, Change.CHANGED]


def test_the_end_of_an_unreadable_object_is_understood() -> None:
    store = synced(pod(3))
    meta = ObjectMeta(name="a", namespace="ns", uid="1", resource_version="7")
    store.feed().heard_trouble(Unreadable(meta, "bad"))
    store.feed().heard_trouble(Unreadable(meta, "bad", deleted=True))
    assert store.get(A) is None
    assert store.unreadable == {}


def test_an_object_without_a_name_is_kept_in_view_until_the_next_list() -> None:
    store = synced()
    store.feed().heard_trouble(Unreadable(ObjectMeta(), "not even metadata"))
    assert list(store.unreadable) == [Key("", "")]
    store.feed().replace([], "9")
    assert store.unreadable == {}


def test_indexes_follow_labels_and_owners() -> None:
    owner = OwnerReference(kind="StatefulSet", name="s", uid="owner", controller=True)
    store = synced(pod(3, labels={"app": "x"}, owner_references=(owner,)))
    assert [found.metadata.name for found in store.indexed("app", "ns/x")] == ["a"]
    assert [found.metadata.name for found in store.indexed("owner", "owner")] == ["a"]
    store.feed().heard(pod(7, labels={"app": "y"}))
    assert store.indexed("app", "ns/x") == ()
    assert len(store.indexed("app", "ns/y")) == 1
    store.feed().heard_end(pod(8, labels={"app": "y"}))
    assert store.indexed("app", "ns/y") == ()
    with pytest.raises(KeyError):
        store.indexed("nope", "x")


def test_several_namespaces_feed_one_store_and_leave_each_others_objects_alone() -> None:
    store = Store[Pod]("pods", namespaces=("ns", "other"))
    elsewhere = Pod(metadata=ObjectMeta(name="a", namespace="other", uid="9", resource_version="2"))
    store.feed("ns").replace([pod(3)], "5")
    assert not store.has_synced
    store.feed("other").replace([elsewhere], "5")
    assert store.has_synced
    store.feed("ns").replace([], "9")
    assert store.all() == (elsewhere,)
    assert (store.version("ns"), store.version("other")) == ("9", "5")
    with pytest.raises(KeyError):
        store.feed("third")


def test_writes_outside_of_its_namespaces_are_not_taken_in() -> None:
    store = Store[Pod]("pods", namespaces=("other",))
    store.wrote(pod(3))
    assert len(store) == 0


def test_a_failing_subscriber_stops_neither_the_others_nor_the_cache() -> None:
    store = synced()
    heard: list[Key] = []

    def fail(_: Delta[Pod]) -> None:
        raise RuntimeError("bug")

    store.subscribe(fail)
    store.subscribe(lambda delta: heard.append(delta.key))
    store.feed().heard(pod(7))
    assert heard == [A]
    store.unsubscribe(fail)


class LaggingCache(RuleBasedStateMachine):
    """A store between a server, a watch that lags, and answers to our writes that come in any order.

    The model is the server. At any time the cache may be behind, but never goes back to an older version of an object
    and never brings a deleted one back; once the watch has caught up, the cache equals the server.
    """

    def __init__(self) -> None:
        super().__init__()
        self.store = Store[Pod]("pods")
        self.revision = 10
        self.server: dict[str, Pod] = {}
        self.log: list[tuple[str, Pod]] = []
        self.sent = 0
        self.answers: list[tuple[str, Pod]] = []
        self.newest: dict[str, int] = {}
        self.store.feed().replace([], "10")

    def change(self, kind: str, obj: Pod) -> Pod:
        self.log.append((kind, obj))
        return obj

    @rule(name=st.sampled_from("ab"))
    def someone_writes(self, name: str) -> None:
        self.write(name)

    @rule(name=st.sampled_from("ab"))
    def we_write(self, name: str) -> None:
        self.answers.append(("write", self.write(name)))

    def write(self, name: str) -> Pod:
        self.revision += 1
        uid = self.server[name].metadata.uid if name in self.server else f"{name}-{self.revision}"
        self.server[name] = pod(self.revision, name=name, uid=uid)
        return self.change("set", self.server[name])

    @precondition(lambda self: self.server)
    @rule(ours=st.booleans())
    def something_is_deleted(self, ours: bool) -> None:
        self.revision += 1
        last = self.server.pop(min(self.server))
        self.change("end", pod(self.revision, name=last.metadata.name, uid=last.metadata.uid))
        if ours:
            self.answers.append(("delete", last))

    @precondition(lambda self: self.answers)
    @rule(which=st.integers(0, 5))
    def an_answer_arrives(self, which: int) -> None:
        kind, obj = self.answers.pop(which % len(self.answers))
        if kind == "write":
            self.store.wrote(obj)
        else:
            self.store.deleted(obj)

    @precondition(lambda self: self.sent < len(self.log))
    @rule(repeat=st.booleans())
    def the_watch_sends(self, repeat: bool) -> None:
        self.send(self.sent)
        self.sent += 1
        if repeat:
            self.send(max(0, self.sent - 2))

    def send(self, position: int) -> None:
        kind, obj = self.log[position]
        feed = self.store.feed()
        (feed.heard if kind == "set" else feed.heard_end)(obj)

    @rule()
    def the_watch_starts_again(self) -> None:
        self.store.feed().replace(list(self.server.values()), str(self.revision))
        self.sent = len(self.log)

    @rule()
    def everything_arrives(self) -> None:
        while self.sent < len(self.log):
            self.the_watch_sends(repeat=False)
        while self.answers:
            self.an_answer_arrives(0)
        assert {obj.metadata.name: obj for obj in self.store.all()} == self.server
        assert not any(self.store.lags(Key("ns", obj.metadata.name), obj.metadata.uid) for _, obj in self.log)

    @invariant()
    def nothing_goes_back(self) -> None:
        for obj in self.store.all():
            at = int(obj.metadata.resource_version)
            assert at >= self.newest.get(obj.metadata.uid, 0)
            self.newest[obj.metadata.uid] = at


TestLaggingCache = LaggingCache.TestCase
TestLaggingCache.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9)), max_size=12), st.randoms())
def test_the_order_of_arrival_does_not_matter(versions: list[tuple[str, int]], rng: Any) -> None:
    one, other = synced(version=0), synced(version=0)
    for name, number in versions:
        one.feed().heard(pod(number, name=name, uid=name))
    rng.shuffle(versions)
    for name, number in versions:
        other.feed().heard(pod(number, name=name, uid=name))
    assert set(map(repr, one.all())) == set(map(repr, other.all()))
