"""Objects that the decoder cannot read, because they are nested too deeply or no text, hide no others."""

import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.kube.client.decoding import decode_event, decode_object, decode_page
from stateward.kube.client.depth import LEVELS, shallow
from stateward.kube.objects.errors import DecodeError
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.watching import Modified, Unreadable


def nested(levels: int, around: str = '{"a":%s}') -> str:
    opening, closing = around.split("%s")
    return opening * levels + '"]}"' + closing * levels


def cluster(name: str, levels: int = 1, around: str = '{"a":%s}') -> str:
    head = f'{{"metadata":{{"name":"{name}","namespace":"data","resourceVersion":"7"}}'
    template = f'{{"spec":{nested(levels, around)}}}'
    spec = f'{{"version":"2.19.5","pools":[{{"name":"a","replicas":1}}],"podTemplate":{template}}}'
    return f'{head},"spec":{spec}}}'


def page(*items: str) -> bytes:
    return f'{{"kind":"List","metadata":{{"resourceVersion":"9"}},"items":[{",".join(items)}]}}'.encode()


@pytest.mark.parametrize("around", ['{"a":%s}', "[%s]", '{"{\\"[":[%s]}'])
@pytest.mark.parametrize("levels", [1200, 9000])
def test_the_others_of_a_list_are_read_and_the_deep_one_is_named(around: str, levels: int) -> None:
    found = decode_page(OpenSearchCluster, page(cluster("a"), cluster("deep", levels, around), cluster("b")))
    assert [item.metadata.name for item in found.items] == ["a", "b"]
    assert [str(each.key) for each in found.unreadable] == ["data/deep"]
    assert (found.unreadable[0].reason, found.resource_version) == (f"it is nested deeper than {LEVELS} levels", "9")
    assert found.unreadable[0].metadata.resource_version == "7"


def test_a_list_in_which_something_else_is_wrong_too_is_read_as_well() -> None:
    wrong = cluster("wrong").replace('"2.19.5"', "7")
    found = decode_page(OpenSearchCluster, page(wrong, cluster("deep", 5000), cluster("b")))
    assert [item.metadata.name for item in found.items] == ["b"]
    assert [each.metadata.name for each in found.unreadable] == ["wrong", "deep"]


def test_a_watch_continues_after_a_deep_object() -> None:
    for levels in (1200, 9000):
        found = decode_event(OpenSearchCluster, f'{{"type":"ADDED","object":{cluster("deep", levels)}}}'.encode())
        assert isinstance(found, Unreadable)
        assert (str(found.key), found.deleted) == ("data/deep", False)
        found = decode_event(OpenSearchCluster, f'{{"type":"DELETED","object":{cluster("deep", levels)}}}'.encode())
        assert isinstance(found, Unreadable)
        assert found.deleted
    line = f'{{"type":"MODIFIED","object":{cluster("deep")}}}'.encode()
    assert isinstance(decode_event(OpenSearchCluster, line), Modified)


def test_metadata_that_is_too_deep_still_says_which_object_it_is() -> None:
    marks = f'"labels":{nested(3000)},"name":"x"'
    found = decode_event(OpenSearchCluster, f'{{"type":"ADDED","object":{{"metadata":{{{marks}}}}}}}'.encode())
    assert isinstance(found, Unreadable)
    assert found.metadata.name == "x"


def test_one_object_that_is_too_deep_is_an_error_of_its_own() -> None:
    with pytest.raises(DecodeError, match="nested deeper"):
        decode_object(OpenSearchCluster, cluster("deep", 3000).encode())


def test_nothing_is_cut_off_what_is_not_too_deep() -> None:
    for body in (page(cluster("a", 40)), b"[]", b'"{"', page()):
        assert shallow(body) == (body, frozenset())


def test_a_text_without_an_end_is_looked_through_once() -> None:
    """Anyone who reaches the webhook may send one: its quotes were each taken for the begin of a text, for hours."""
    for end in (b"", b"\\"):
        assert shallow(b'{"a":"' + b'\\"' * 500_000 + end)[1] == frozenset()


def test_a_text_that_is_not_utf_8_makes_one_object_unreadable() -> None:
    bad = b'{"metadata": {"name": "a", "labels": {"x": "\xff"}}}'
    whole = decode_page(Pod, b'{"items": [{"metadata": {"name": "b"}}, ' + bad + b"]}")
    assert [pod.metadata.name for pod in whole.items] == ["b"]
    assert [each.metadata.name for each in whole.unreadable] == ["a"]
    found = decode_event(Pod, b'{"type": "ADDED", "object": ' + bad + b"}")
    assert isinstance(found, Unreadable)
    assert found.metadata.name == "a"
    with pytest.raises(DecodeError, match="utf-8"):
        decode_object(Pod, bad)
