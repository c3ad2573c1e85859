"""Bodies and answers that were made to keep the operator busy: the work grows with their size, and not faster."""

import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from stateward.api.kinds.search_object import ClusterKindName, ClusterReference, SearchObjectSpec
from stateward.api.values.base import Json
from stateward.engines.search.declared import pointers, writes
from stateward.engines.search.declared.comparison import deviation
from stateward.engines.search.declared.desired import Desired, Memory, Observed
from stateward.engines.search.declared.identity import declared, problems
from stateward.engines.search.declared.pointers import concealed

MANY = 300


def spec(kind: ClusterKindName, body: Json | None = None, **named: Any) -> SearchObjectSpec:
    reference = ClusterReference(kind=kind, name="logs")
    return SearchObjectSpec(cluster=reference, body=body or {}, **named)


def counted(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[int]:
    """Return a list that gets an item for each call of a function of a module."""
    calls, usual = list[int](), getattr(module, name)

    def counting(*arguments: Any) -> object:
        calls.append(1)
        return usual(*arguments)

    monkeypatch.setattr(module, name, counting)
    return calls


def peak(work: Callable[[], object]) -> int:
    """Return the most bytes that work takes at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_names_of_settings_take_no_more_memory_than_a_body_of_their_size() -> None:
    """One long key above many short ones: 70 KB became 95 MiB, and the largest object that etcd takes 20 GiB."""
    body = {"k" * 50_000: {f"a{i}": 1 for i in range(2000)}}
    asked = spec(ClusterKindName.OPENSEARCH, body, object="clusterSettings")
    assert peak(lambda: list(problems(asked))) < 20 << 20


def test_a_value_of_a_secret_is_concealed_in_time_that_grows_with_the_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level doubled the work: a path of 40 keys never came to an end, and the operator with it."""
    calls, depth = counted(monkeypatch, pointers, "_concealed"), 14
    body: Json = {"secret": "geheim"}
    for _ in range(depth):
        body = {"a": body}
    concealed(body, f"{'/a' * depth}/secret")
    assert len(calls) < 20 * depth


def test_defaults_are_left_out_in_time_that_grows_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each default copied the whole body: a role with 28,000 indices takes minutes, in which no lease is renewed."""
    copies = counted(monkeypatch, pointers, "steps")  # Each copy begins with the steps of its pointer.
    body = {"indices": [{"allow_restricted_indices": False}] * MANY}
    what = declared(spec(ClusterKindName.ELASTICSEARCH, object="role/reader"))
    deviation(what, {"indices": []}, body)
    deviation(what, body, {"indices": []})
    assert len(copies) < 50


def test_items_of_a_filter_are_added_in_time_that_grows_with_their_number() -> None:
    """Each item was looked for in the whole list of the others: as many as here took minutes."""
    many = 100_000
    asked = spec(ClusterKindName.ELASTICSEARCH, path="/_ml/filters/safe")
    body: Json = {"items": [f"a{i}" for i in range(many)]}
    desired = Desired(declared(asked), body, body, "d", "prod/one", Memory("Owned", "d"))
    answer = {"filters": [{"items": [f"b{i}" for i in range(many)]}]}
    made = writes.write(desired, Observed(answer, frozenset({"8.19.4"})))
    assert made.body is not None
    assert [len(made.body[key]) for key in ("add_items", "remove_items")] == [many, many]
