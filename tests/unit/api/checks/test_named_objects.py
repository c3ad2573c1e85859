"""How many objects the pods of a cluster may name: each of them is read, in each round of the cluster."""

from typing import Any

import pytest

from stateward.api.validation import errors, validate, validate_access
from tests.unit.api.documents import cluster, foundationdb_cluster
from tests.unit.api.findings import found, only, pool

SOURCES = ["configMap", "secret"]


def variables(source: str, numbers: range) -> dict[str, Any]:
    env = [{"name": f"V{n}", "valueFrom": {f"{source}KeyRef": {"name": f"named-{n}", "key": "a"}}} for n in numbers]
    return {"spec": {"containers": [{"name": "opensearch", "env": env}]}}


def files(source: str, numbers: range) -> dict[str, Any]:
    """Return a template with one volume for each other object, and one projected volume with the rest."""
    name = "secretName" if source == "secret" else "name"
    volumes = [{"name": f"v{n}", source: {name: f"named-{n}"}} for n in numbers[::2]]
    projected = {"sources": [{source: {"name": f"named-{n}"}} for n in numbers[1::2]]}
    return {"spec": {"volumes": [*volumes, {"name": "rest", "projected": projected}]}}


def whole(source: str, numbers: range) -> dict[str, Any]:
    from_all = [{f"{source}Ref": {"name": f"named-{n}"}} for n in numbers]
    return {"spec": {"initContainers": [{"name": "first", "envFrom": from_all}]}}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("template", [variables, files, whole])
def test_pods_name_few_enough_objects_to_read_them_all(template: Any, source: str) -> None:
    """Sixteen thousand were read one by one in each round: one tenant kept every worker from the others."""
    assert found(cluster(podTemplate=template(source, range(500)))) == []
    path, said = only(cluster(podTemplate=template(source, range(501))))
    assert (path, said) == ("spec.podTemplate", "names too much: the pods of a cluster may name 500 objects")


def test_the_names_of_all_pools_count_and_each_once() -> None:
    def pools(*numbers: range) -> list[dict[str, Any]]:
        return [pool(f"p{i}", podTemplate=variables("configMap", each)) for i, each in enumerate(numbers)]

    assert found(cluster(pools=pools(range(400), range(300)))) == []
    assert only(cluster(pools=pools(range(400), range(300, 600))))[0] == "spec.pools[1].podTemplate"


def test_pods_beside_the_database_have_the_same_limit() -> None:
    many = whole("configMap", range(501))
    for made in (
        cluster(dashboards={"podTemplate": many}),
        cluster(metrics={"podTemplate": many}),
        foundationdb_cluster(metrics={"podTemplate": many}),
    ):
        assert errors(validate(made)) == []
        assert [problem.value for problem in errors(validate_access(made))] == [501]
