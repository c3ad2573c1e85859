"""Requests for many indices: documents are counted of all of them or not at all, and names fit into one path."""

from typing import Any
from urllib.parse import unquote

import pytest
from yarl import URL

from stateward.engines.connection.base import GarbledError
from stateward.engines.search.declared.requests import batches
from stateward.engines.search.snapshots.requests import documents_of


class Searched:
    """A session whose database gives one answer to each search."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    async def call(self, *_: object) -> dict[str, Any]:
        return self._answer


def answer(*counts: tuple[str, int], failed: int = 0, timed_out: bool = False) -> dict[str, Any]:
    buckets = [{"key": name, "doc_count": count} for name, count in counts]
    return {"_shards": {"failed": failed}, "timed_out": timed_out, "aggregations": {"indices": {"buckets": buckets}}}


async def test_documents_are_counted_and_an_index_without_any_has_none() -> None:
    session: Any = Searched(answer(("logs-1", 3)))
    assert await documents_of(session, ["logs-1", "logs-2"]) == {"logs-1": 3, "logs-2": 0}


@pytest.mark.parametrize(
    "partial",
    [
        answer(("logs-1", 3), failed=1),
        answer(("logs-1", 3), timed_out=True),
        answer(("logs-1", 3), ("elsewhere", 4)),
    ],
    ids=["failed", "timed out", "of another index"],
)
async def test_a_count_that_is_not_of_exactly_these_indices_is_no_count(partial: dict[str, Any]) -> None:
    session: Any = Searched(partial)
    with pytest.raises(GarbledError, match="cannot be counted yet"):
        await documents_of(session, ["logs-1"])


def test_a_path_has_at_most_2000_characters_of_names() -> None:
    long = "a" * 1000
    assert list(batches([long, "b" * 999])) == [f"{long},{'b' * 999}"]
    assert list(batches([long, "b" * 1000])) == [long, "b" * 1000]
    assert list(batches(["c" * 3000])) == ["c" * 3000]
    assert list(batches([])) == []


def test_names_of_any_letters_fit_into_the_first_line_of_a_request_and_reach_the_database_as_they_are() -> None:
    """OpenSearch and Elasticsearch refuse a first line of more than 4096 characters."""
    names = [f"{'订单日志' * 18}-{i:04}" for i in range(40)] + ["sale-50%25", "a%2cb", "%{type}-2026"]
    paths = [URL(f"http://10.0.0.1:9200/{batch}/_close").raw_path for batch in batches(names)]
    assert max(map(len, paths)) < 4000
    assert [unquote(name) for path in paths for name in path.split("/")[1].split(",")] == names
