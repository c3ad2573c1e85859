"""A cluster has so many members at most that a plan for it holds up no other cluster."""

import pytest

from stateward.api.kinds.scaling.limits import MOST_IN_ALL, MOST_MEMBERS
from stateward.api.validation import validate
from tests.unit.api.documents import Document, cluster, document, foundationdb_cluster
from tests.unit.api.findings import only

TEXT = "all pools together may have 1000 members; a pool that scales counts with its max"


def pools(*more: Document) -> list[Document]:
    return [*document()["spec"]["pools"], *more]


def hot(name: str, replicas: int, **more: object) -> Document:
    return {"name": name, "replicas": replicas, "roles": ["data"], **more}


def test_a_thousand_members_are_accepted() -> None:
    there = sum(pool["replicas"] for pool in pools())
    more = [hot("one", MOST_MEMBERS), hot("two", MOST_IN_ALL - MOST_MEMBERS - there)]
    assert validate(cluster(pools=pools(*more))) == []


@pytest.mark.parametrize("scaling", [None, {"min": 1, "max": 500}])
def test_more_are_refused_also_those_of_pools_that_scale(scaling: Document | None) -> None:
    last = hot("three", 100, **({"scaling": scaling} if scaling else {}))
    replicas = 450 if scaling is None else 300
    found = only(cluster(pools=pools(hot("one", replicas), hot("two", replicas), last)))
    assert found == ("spec.pools", TEXT)


def test_more_are_refused_of_foundationdb_too() -> None:
    kinds = ("storage", "log", "stateless")
    found = foundationdb_cluster(pools=[{"name": kind, "processClass": kind, "replicas": 400} for kind in kinds])
    assert only(found) == ("spec.pools", TEXT)
