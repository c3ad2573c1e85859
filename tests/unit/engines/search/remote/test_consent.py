"""Two clusters are joined if one asks and the other admits it, each in its own spec; and why one is not searched."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.search import SearchCluster
from stateward.api.parse import InvalidDocumentError, convert_cluster
from stateward.api.validation import errors, validate, validate_access
from stateward.engines.opensearch import OPENSEARCH
from stateward.engines.search.configuration.configuration import render
from stateward.engines.search.configuration.security import inputs, member_name
from stateward.engines.search.remote.preview import remote_notes
from stateward.engines.search.remote.standing import standing
from stateward.engines.search.spec.consent import Place, admitted, candidates, joined, place_of
from stateward.engines.search.spec.pools import resolve


def cluster(
    place: str,
    *,
    searches: tuple[str, ...] = (),
    admits: tuple[str, ...] = (),
    kind: str = "OpenSearchCluster",
    secured: bool = True,
    **more: Any,
) -> SearchCluster:
    namespace, name = place.split("/")
    spec: dict[str, Any] = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 3}], **more}
    spec["security"] = {"enabled": secured}
    if searches:
        spec["remoteClusters"] = [{"name": f"a{i}", "cluster": other(text)} for i, text in enumerate(searches)]
    if admits:
        spec["remoteAccess"] = {"from": [other(text) for text in admits]}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": kind}
    status = {"security": {"enabled": secured}, "version": "2.19.5"}
    body = {**head, "metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": status}
    found = convert_cluster(body)
    assert isinstance(found, SearchCluster)
    return found


def other(text: str) -> dict[str, str]:
    namespace, _, name = text.rpartition("/")
    return {"name": name, **({"namespace": namespace} if namespace else {})}


@pytest.mark.parametrize(
    ("one", "two", "are_joined"),
    [
        (cluster("a/x", searches=("b/y",)), cluster("b/y", admits=("a/x",)), True),
        (cluster("a/x", admits=("b/y",)), cluster("b/y", searches=("a/x",)), True),
        (cluster("a/x", searches=("y",)), cluster("a/y", admits=("x",)), True),
        (cluster("a/x", searches=("b/y",)), cluster("b/y"), False),
        (cluster("a/x"), cluster("b/y", admits=("a/x",)), False),
        (cluster("a/x", searches=("b/y",)), cluster("b/y", searches=("a/x",)), False),
        (cluster("a/x", admits=("b/y",)), cluster("b/y", admits=("a/x",)), False),
        (cluster("a/x", searches=("b/y",)), cluster("b/y", admits=("x",)), False),
        (cluster("a/x", searches=("b/y",)), cluster("b/y", admits=("c/x",)), False),
        (cluster("a/x", searches=("a/x",), admits=("a/x",)), cluster("a/x", searches=("x",), admits=("x",)), False),
        (cluster("a/x", searches=("b/y",)), cluster("b/y", admits=("a/x",), kind="ElasticsearchCluster"), False),
    ],
)
def test_both_have_to_write_it(one: SearchCluster, two: SearchCluster, are_joined: bool) -> None:
    assert joined(one, two) is are_joined
    assert joined(two, one) is are_joined


PLACES = st.sampled_from(["a/x", "a/y", "b/x", "b/y", "x", "y"])
LISTS = st.lists(PLACES, max_size=3, unique=True).map(tuple)


@given(LISTS, LISTS, LISTS, LISTS)
def test_no_cluster_alone_joins_another(
    searches: tuple[str, ...], admits: tuple[str, ...], back: tuple[str, ...], lets: tuple[str, ...]
) -> None:
    """Whatever one writes about any cluster: without a word of the other, there is no trust."""
    one, two = cluster("a/x", searches=searches, admits=admits), cluster("b/y", searches=back, admits=lets)
    if joined(one, two):
        assert place_of(one) in candidates(two)
        assert place_of(two) in candidates(one)
    assert not joined(one, cluster("b/y"))
    assert place_of(one) not in candidates(one)


@pytest.mark.parametrize(
    ("theirs", "reason", "part"),
    [
        (None, "RemoteClusterNotAllowed", "add {name: x, namespace: a} to its spec.remoteAccess.from"),
        (cluster("b/y"), "RemoteClusterNotAllowed", "add {name: x, namespace: a} to its spec.remoteAccess.from"),
        (cluster("b/y", admits=("a/x",), secured=False), "RemoteClusterSecurityDiffers", "b/y is not secured"),
        (cluster("b/y", admits=("a/x",)), "", ""),
    ],
)
def test_why_a_cluster_is_not_searched(theirs: SearchCluster | None, reason: str, part: str) -> None:
    mine = cluster("a/x", searches=("b/y",))
    assert mine.spec.remote_clusters is not None
    found = standing(mine, mine.spec.remote_clusters[0], Place("b", "y"), theirs)
    assert found.reason == reason
    assert part in found.message


def test_a_cluster_without_consent_looks_like_one_that_does_not_exist() -> None:
    mine = cluster("a/x", searches=("b/y",))
    assert mine.spec.remote_clusters is not None
    (entry,) = mine.spec.remote_clusters
    there = [cluster("b/y"), cluster("b/y", secured=False), cluster("b/y", admits=("c/x", "b/x"))]
    assert {standing(mine, entry, Place("b", "y"), other) for other in there} == {
        standing(mine, entry, Place("b", "y"), None)
    }


@pytest.mark.parametrize(
    ("theirs", "reason", "text"),
    [
        (None, "RemoteClusterMissing", "there is no OpenSearchCluster a/y"),
        (cluster("a/y"), "RemoteClusterNotAllowed", "OpenSearchCluster a/y does not name this cluster: add "),
    ],
)
def test_in_the_same_namespace_a_wrong_name_is_told(theirs: SearchCluster | None, reason: str, text: str) -> None:
    mine = cluster("a/x", searches=("y",))
    assert mine.spec.remote_clusters is not None
    found = standing(mine, mine.spec.remote_clusters[0], Place("a", "y"), theirs)
    assert found.reason == reason
    assert found.message.startswith(text)


def test_members_of_exactly_the_admitted_clusters_are_accepted_as_members() -> None:
    guest = cluster("a/x")
    found = cluster("b/y", admits=("a/x", "b/y"))
    (pool,) = resolve(OPENSEARCH, found)
    (line,) = [each for each in render(pool, 0, "2.19.5").splitlines() if each.startswith("plugins.security.nodes_dn")]
    assert line == f'plugins.security.nodes_dn: ["CN={member_name(found)}", "CN={member_name(guest)}"]'
    assert dict(inputs(pool, "2.19.5"))["remoteAccess"] == [f"CN={member_name(guest)}"]


@pytest.mark.parametrize("found", [cluster("b/y"), cluster("b/y", admits=("a/x",), secured=False)])
def test_nothing_changes_without_guests_or_without_security(found: SearchCluster) -> None:
    (pool,) = resolve(OPENSEARCH, found)
    assert "remoteAccess" not in dict(inputs(pool, "2.19.5"))


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (cluster("a/x", searches=("a/x",)), "spec.remoteClusters[0].cluster.name"),
        (cluster("a/x", searches=("x",)), "spec.remoteClusters[0].cluster.name"),
        (cluster("a/x", admits=("x",)), "spec.remoteAccess.from[0].name"),
        (
            cluster(
                "a/x", searches=("b/y",), pools=[{"name": "all", "replicas": 3, "roles": ["cluster_manager", "data"]}]
            ),
            "spec.remoteClusters[0]",
        ),
        (
            cluster("a/x", remoteClusters=[{"name": "connect", "cluster": {"name": "y"}}]),
            "spec.remoteClusters[0].name",
        ),
    ],
)
def test_what_is_wrong_stops_remote_clusters_and_not_the_database(made: SearchCluster, path: str) -> None:
    assert [problem.path for problem in errors(validate_access(made))] == [path]
    assert errors(validate(made)) == []


def test_an_alias_is_listed_once() -> None:
    twice = [{"name": "e", "cluster": {"name": other}} for other in ("y", "z")]
    with pytest.raises(InvalidDocumentError, match=r"remoteClusters\[1\]\.name: 'e': must be listed once"):
        cluster("a/x", remoteClusters=twice)


@pytest.mark.parametrize("alias", ["a.b", "a:b", "*", "a b", "", "_local", "a" * 64, "a,b", "-a", "ü"])
def test_an_alias_is_a_part_of_names_of_settings_and_of_index_expressions(alias: str) -> None:
    with pytest.raises(Exception, match="remoteClusters"):
        cluster("a/x", remoteClusters=[{"name": alias, "cluster": {"name": "y"}}])


def test_a_plan_tells_what_begins_and_what_ends() -> None:
    found = list(remote_notes(cluster("a/x", searches=("b/y",), admits=("c/z",))))
    assert found == [
        "remote cluster a0: OpenSearchCluster b/y, once its spec.remoteAccess names this cluster",
        "c/z may search this cluster; they trust each other's CA with this cluster",
    ]
    assert admitted(cluster("a/x", admits=("c/z", "c/z"))) == {Place("c", "z")}
    assert list(remote_notes(cluster("a/x"))) == []
