"""Places in a body."""

from typing import Any

import pytest

from stateward.engines.search.declared.pointers import (
    GONE,
    NoPlaceError,
    concealed,
    found,
    moving,
    placed,
    places,
    replaced_beside,
    without,
)


def test_a_star_stands_for_all_items_and_keys() -> None:
    body = {"a": [{"b": 1}, {"b": 2}, {"c": 3}]}
    assert list(found(body, "/a/*/b")) == [1, 2]
    assert list(found(body, "/x/*")) == []
    assert list(found(body, "")) == [body]


def test_places_are_named_one_by_one() -> None:
    body = {"a": [{"b": 1}, {"b": 2}, {"c/d": 3}]}
    assert list(places(body, "/a/*/b")) == [("/a/0/b", 1), ("/a/1/b", 2)]
    assert list(places(body, "/a/2/*")) == [("/a/2/c~1d", 3)]


def test_escaped_characters_are_part_of_a_key() -> None:
    assert list(found({"a/b": {"c~d": 1}}, "/a~1b/c~0d")) == [1]


def test_what_another_document_has_at_the_same_place_is_seen() -> None:
    def lacking(value: object, there: object) -> object:
        return GONE if there is GONE else value

    body = {"a": [{"b": 1}, {"b": 2}, {"b": 3}], "*": {"b": 4}, "c": {"b": 5}}
    assert replaced_beside(body, {"a": [{"b": 0}, {"c": 0}]}, "/a/*/b", lacking) == {**body, "a": [{"b": 1}, {}, {}]}
    assert replaced_beside(body, {"*": {"b": 0}}, "/*/b", lacking) == {**body, "c": {}}


def test_a_value_is_placed_and_the_body_stays_as_it_was() -> None:
    body: dict[str, Any] = {"a": [{"b": 1}]}
    assert placed(body, "/a/0/c", 2) == {"a": [{"b": 1, "c": 2}]}
    assert placed(body, "/x/y", 2) == {"a": [{"b": 1}], "x": {"y": 2}}
    assert body == {"a": [{"b": 1}]}


@pytest.mark.parametrize("pointer", ["/a/1/c", "/a/x", "/t/c"])
def test_a_value_has_no_place_beyond_a_list_or_inside_of_a_text(pointer: str) -> None:
    with pytest.raises(NoPlaceError):
        placed({"a": [{}], "t": "text"}, pointer, 1)


@pytest.mark.parametrize(
    ("body", "moved"),
    [
        ({"pivot": {"size": 1}}, {"pivot": {}, "settings": {"size": 1}}),
        ({"pivot": {"size": 1}, "settings": {"size": 2}}, {"pivot": {}, "settings": {"size": 2}}),
        ({"settings": {"size": 2}}, {"settings": {"size": 2}}),
        ({"pivot": {"size": 1}, "settings": "text"}, {"pivot": {"size": 1}, "settings": "text"}),
        ([{"size": 1}], [{"size": 1}]),
    ],
)
def test_a_value_moves_to_its_place_unless_one_is_there_or_none_can_be(body: Any, moved: Any) -> None:
    assert moving("/pivot/size", "/settings/size")(body) == moved


def test_what_is_taken_out_is_gone_and_the_rest_stays() -> None:
    assert without({"a": {"b": 1, "c": 2}}, "/a/b") == {"a": {"c": 2}}
    assert without({"a": 1}, "/x/y") == {"a": 1}
    assert without({"a": [1]}, "/a/0/b") == {"a": [1]}
    assert without({"a": [1, {"b": 2}]}, "/a/1/b") == {"a": [1, {}]}
    assert without({"a": [1, 2]}, "/a/0") == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("document", "pointer", "left"),
    [
        ({"a": {"b": "s", "c": 2}}, "/a/b", {"a": {"c": 2}}),
        ({"a": [{"b": "s", "c": 2}]}, "/a/0/b", {"a": [{"c": 2}]}),
        ({"a": [{"c": 1}, {"b": "s"}, {"b": "s"}]}, "/a/0/b", {"a": [{"c": 1}, {}, {}]}),
        ({"a": [{"x": [{"b": "s"}, {"c": 1}]}]}, "/a/3/x/1/b", {"a": [{"x": [{}, {"c": 1}]}]}),
        ({"a": ["x", "s"], "c": 1}, "/a/1", {"c": 1}),
        ({"a": "s", "c": 1}, "/a/0", {"c": 1}),
        ({"a": {"b": "s", "c": 1}}, "/a/0/b", {"a": {"c": 1}}),
        ({"a": [{"b": "s"}]}, "/a/b", {"a": [{}]}),
        ({"a": ["b=s"], "c": 1}, "/a/0/b", {"c": 1}),
        ({"a": "b=s", "c": 1}, "/a/b", {"c": 1}),
        ({"a.b": "s", "c": 1}, "/a/b", {"c": 1}),
        ({"a": {"b": "s"}, "c": 1}, "/a.b", {"a": {}, "c": 1}),
        ({"a": {"b.c": ["s"]}}, "/a/b/c/0", {"a": {}}),
        ({"a": {"index.b": "s", "c": 1}}, "/a/b", {"a": {"c": 1}}),
        ({"a": {"b": "s", "c": 1}}, "/a/index/b", {"a": {"c": 1}}),
        ({"a": {"index": {"b": "s", "c": 1}}}, "/a/b", {"a": {"index": {"c": 1}}}),
        ({"a": {"c": 1}}, "/a/b", {"a": {"c": 1}}),
        ({"a": {"c": 1}}, "/b", {"a": {"c": 1}}),
        ({"a": {"index": "s", "c": 1}}, "/a/index", {"a": {"c": 1}}),
        ({"a": [[["b=s"], {"b": "s", "c": 1}]]}, "/a/0/0/b", {"a": [[[], {"c": 1}]]}),
    ],
)
def test_a_secret_is_taken_out_in_each_form_in_which_a_database_may_store_it(
    document: Any, pointer: str, left: Any
) -> None:
    assert concealed(document, pointer) == left


@pytest.mark.parametrize("pointer", ["/a/1/b", "/a/0/b", "/a/0", "/c", "/d/e/0/f"])
def test_a_secret_is_taken_out_wherever_it_can_be_placed(pointer: str) -> None:
    body: dict[str, Any] = {"a": [{"b": 1}, {}], "c": "text", "d": {}}
    if pointer.startswith("/d"):
        body["d"] = {"e": [{}]}
    with_secret = placed(body, pointer, "geheim-77")
    assert "geheim-77" not in str(concealed(with_secret, pointer))
    for name, inner in with_secret.items():
        if isinstance(inner, list):
            with_secret = {**with_secret, name: [{"new": 1}, *reversed(inner), {"new": 2}]}
    assert "geheim-77" not in str(concealed(with_secret, pointer))
