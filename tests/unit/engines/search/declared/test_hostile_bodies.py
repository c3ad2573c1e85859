"""Bodies and answers that were made to keep the operator busy: the work grows with their size, and not faster."""

import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import pytest

from stateward.api.kinds.search_object import ClusterKindName, ClusterReference, SearchObjectSpec
from stateward.api.values.base import Json
from stateward.engines.search.declared import decision, desired, pointers, preview, refusals, writes
from stateward.engines.search.declared.comparison import contains, deviation, in_one_form, normal
from stateward.engines.search.declared.desired import Desired, Memory, Observed
from stateward.engines.search.declared.identity import declared, problems
from stateward.engines.search.declared.pointers import concealed
from stateward.engines.search.declared.refusals import field_in

MANY = 300
LONG, LEVELS = "k" * 50_000, 40


def spec(kind: ClusterKindName, body: Json | None = None, **named: Any) -> SearchObjectSpec:
    reference = ClusterReference(kind=kind, name="logs")
    return SearchObjectSpec(cluster=reference, body=body or {}, **named)


def counted(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[int]:
    """Return a list that gets an item for each call of a function of a module."""
    calls, usual = list[int](), getattr(module, name)

    def counting(*arguments: Any, **named: Any) -> object:
        calls.append(1)
        return usual(*arguments, **named)

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


def test_the_place_of_a_deviation_is_not_written_out_for_each_level_or_item() -> None:
    """Half a megabyte of a key and 200,000 items below it took 9 s of the event loop."""
    body = below_long_keys(1)
    assert peak(lambda: contains(body, below_long_keys(1))) < 5 << 20
    assert contains(body, below_long_keys(2)) == f"/{LONG}" * LEVELS


def test_the_places_of_defaults_are_not_written_out_for_each_item() -> None:
    """All of them were kept at a time: a key as long as the body, once for each of its items."""
    states = {"states": {LONG: {"actions": [{"retry": {"count": 4}}] * 2000}}}
    what = declared(spec(ClusterKindName.OPENSEARCH, object="ismPolicy/logs"))
    assert peak(lambda: deviation(what, {"policy": {}}, {"policy": states})) < 5 << 20


def test_the_place_that_a_refusal_names_is_written_out_once() -> None:
    body = below_long_keys({"last": 1})
    assert peak(lambda: field_in("unknown field [absent]", body)) < 5 << 20
    assert field_in("unknown field [last]", body) == f".{LONG}" * LEVELS + ".last"


def test_few_names_of_a_refusal_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body was searched for each name that a database told: all of a megabyte, fifty times."""
    searches = counted(monkeypatch, refusals, "_places")
    body = {str(i): 1 for i in range(100)}
    field_in(" ".join(f"unknown field [a{i}]" for i in range(30)), body)
    assert len(searches) < 10 * (len(body) + 1)


def test_a_preview_of_many_changes_ends_with_the_last_one_that_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = counted(monkeypatch, preview, "_changes")
    what = declared(spec(ClusterKindName.OPENSEARCH, object="ingestPipeline/logs"))
    body = {str(i): {"a": 1} for i in range(20 * preview.MOST)}
    wanted = Desired(what, body, body, "d", "prod/one", Memory("Owned", "d"))
    stored = {"logs": {str(i): {"a": 2} for i in range(20 * preview.MOST)}}
    found = preview.differences(wanted, Observed(stored, frozenset({"2.19.3"})))
    assert len(found) == preview.MOST
    assert len(compared) < 5 * preview.MOST


def below_long_keys(value: object) -> Json:
    """Return a body with a value below many long keys."""
    for _ in range(LEVELS):
        value = {LONG: value}
    return cast("Json", value)


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


def test_doubtful_settings_are_compared_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them were put into normal form for each one: 2,000 took 5 s, and a megabyte 20 minutes."""
    copies, readings = counted(monkeypatch, desired, "comparable"), counted(monkeypatch, desired, "settings_of")
    body: Json = {f"search.a{i}": 1 for i in range(MANY)}
    what = declared(spec(ClusterKindName.OPENSEARCH, object="clusterSettings"))
    mine = Desired(what, body, body, "d", "prod/one", Memory("Creating", settings=frozenset(body)))
    seen = Observed({"persistent": body}, frozenset({"2.19.3"}))
    decision.decide(mine, seen, "")
    decision.remove(mine, seen)
    assert len(copies) < 20
    assert len(readings) < 50


def test_a_quantity_with_more_digits_than_any_is_a_text() -> None:
    assert in_one_form(["1" * 5000 + "s", "24h"]) == ["1" * 5000 + "s", "1d"]


def test_items_of_a_filter_are_added_in_time_that_grows_with_their_number() -> None:
    """Each item was looked for in the whole list of the others: as many as here took minutes."""
    many = 100_000
    asked = spec(ClusterKindName.ELASTICSEARCH, path="/_ml/filters/safe")
    body: Json = {"items": [f"a{i}" for i in range(many)]}
    wanted = Desired(declared(asked), body, body, "d", "prod/one", Memory("Owned", "d"))
    answer = {"filters": [{"items": [f"b{i}" for i in range(many)]}]}
    made = writes.write(wanted, Observed(answer, frozenset({"8.19.4"})))
    assert made.body is not None
    assert [len(made.body[key]) for key in ("add_items", "remove_items")] == [many, many]


@pytest.mark.parametrize("levels", [500, 100_000])
def test_a_text_of_deeply_nested_json_is_compared_as_text(levels: int) -> None:
    """The admission webhook refuses deep bodies, but no deep texts in them."""
    what = declared(spec(ClusterKindName.OPENSEARCH, object="storedScript/find"))

    def script(inner: int) -> object:
        return normal(what, {"script": {"lang": "mustache", "source": '{"a":' * levels + f"{inner}" + "}" * levels}})

    assert deviation(what, script(1), script(1)) is None
    assert deviation(what, script(1), script(2)) == "/script/source"
