"""What is restored, and under which names."""

from typing import Any

import pytest

from stateward.api.kinds.search_object import ClusterKindName, ClusterReference
from stateward.api.kinds.snapshots.restore import SearchRestoreSpec
from stateward.engines.search.snapshots.records import Snapshot
from stateward.engines.search.snapshots.selection import SelectionError, has_any, pattern_problems, selected

SNAPSHOT = Snapshot(
    "nightly",
    "u",
    "SUCCESS",
    indices=["logs-1", "logs-2", "orders", ".kibana", ".ds-events-000001"],
    data_streams=["events"],
)


def spec(**fields: Any) -> SearchRestoreSpec:
    cluster = ClusterReference(kind=ClusterKindName.OPENSEARCH, name="logs")
    return SearchRestoreSpec(cluster=cluster, repository="files", snapshot="nightly", **fields)


def names(**fields: Any) -> list[tuple[str, str]]:
    return [(each.source, each.name) for each in selected(spec(**fields), SNAPSHOT)]


def same(*of: str) -> list[tuple[str, str]]:
    return [(each, each) for each in of]


def test_all_indices_and_data_streams_are_chosen_but_not_those_of_the_database_itself() -> None:
    assert names() == same("events", "logs-1", "logs-2", "orders")
    assert [each.data_stream for each in selected(spec(), SNAPSHOT)] == [True, False, False, False]


def test_patterns_choose_and_leave_out() -> None:
    assert names(indices=["logs-*", "orders"]) == same("logs-1", "logs-2", "orders")
    assert names(indices=["*", "-logs-*"]) == same("events", "orders")
    assert list(pattern_problems(["-logs-1"]))
    assert not list(pattern_problems(["*", "-logs-1"]))


def test_what_the_snapshot_does_not_have_is_an_error() -> None:
    with pytest.raises(SelectionError, match="has no missing"):
        names(indices=["logs-1", "missing"])
    with pytest.raises(SelectionError, match="has no such index"):
        names(indices=["x-*"])


@pytest.mark.parametrize(
    ("pattern", "text", "made"),
    [
        ("(.+)", "restored-$1", "restored-logs-1"),
        ("^", "restored-", "restored-logs-1"),
        ("^logs-(.+)$", "old.$1-$1", "old.1-1"),
        ("logs", "old", "old-1"),
        ("(.+)-(.+)", "$2-$1", "1-logs"),
    ],
)
def test_names_are_made_as_the_databases_make_them(pattern: str, text: str, made: str) -> None:
    assert names(indices=["logs-1"], rename_pattern=pattern, rename_replacement=text) == [("logs-1", made)]


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        ("(.+)", "one", "would both be named one"),
        ("(.+)", ".$1", "which is reserved"),
        ("(.+)", "x-$2", "invalid group"),
    ],
)
def test_names_that_cannot_be_are_refused(pattern: str, text: str, said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        names(indices=["logs-*"], rename_pattern=pattern, rename_replacement=text)


@pytest.mark.parametrize(
    ("indices", "found"),
    [(None, True), (["logs-*"], True), (["events"], True), (["other"], False), ([".kibana"], False)],
)
def test_a_snapshot_counts_if_it_has_any_of_what_is_asked_for(indices: list[str] | None, found: bool) -> None:
    assert has_any(spec(indices=indices), SNAPSHOT) is found


def test_a_snapshot_of_what_belongs_to_the_database_alone_has_nothing() -> None:
    assert not has_any(spec(), Snapshot("nightly", "u", "SUCCESS", indices=[".kibana", ".ds-events-000001"]))
