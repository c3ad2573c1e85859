"""What a FoundationDB cluster may be: its classes, its counts, its knobs."""

from typing import Any

import msgspec
import pytest
import yaml

from stateward.api.kinds.foundationdb import FoundationDBCluster, replicas
from stateward.api.parse import InvalidDocumentError, convert_cluster
from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import FOUNDATIONDB
from stateward.api.validation import validate
from stateward.api.values.problem import Problem, Severity
from tests.unit.engines.foundationdb_model import POOLS, cluster


def found(severity: Severity = Severity.ERROR, **spec: Any) -> list[Problem]:
    return [problem for problem in validate(cluster(**spec)) if problem.severity is severity]


def only(**spec: Any) -> Problem:
    (problem,) = found(**spec)
    return problem


def pool(kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": kind, "processClass": kind, **fields}


def counts(**spec: Any) -> dict[str, int]:
    of = cluster(pools=[pool("storage"), pool("log"), pool("stateless")], **spec)
    return {p.name: replicas(of.spec, p) for p in of.spec.pools}


def test_the_kind_has_its_names() -> None:
    names = crd(FOUNDATIONDB)["spec"]["names"]
    assert (names["kind"], names["shortNames"]) == ("FoundationDBCluster", ["swfdb"])


def test_the_example_of_the_reference_is_right() -> None:
    of = convert_cluster(yaml.safe_load(FOUNDATIONDB.example))
    assert isinstance(of, FoundationDBCluster)
    assert validate(of) == []


def test_counts_follow_from_the_failures_that_are_borne() -> None:
    assert counts() == {"storage": 3, "log": 4, "stateless": 9}
    assert counts(redundancy="triple") == {"storage": 5, "log": 5, "stateless": 10}
    assert counts(redundancy="single") == {"storage": 1, "log": 3, "stateless": 8}


def test_several_processes_in_a_pod_make_for_fewer_pods_but_never_too_few() -> None:
    of = cluster(pools=[pool("storage"), pool("log", processesPerMember=4), pool("stateless", processesPerMember=4)])
    assert [replicas(of.spec, p) for p in of.spec.pools] == [3, 3, 3]


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"version": "6.3.25"}, "spec.version", "7.1.0 or later"),
        ({"image": "mine/foundationdb:latest"}, "spec.image", "7.1.67-ours"),
        ({"redundancy": "triple", "pools": [*POOLS[1:], pool("storage", replicas=2)]}, "spec.pools", "needs 3 storage"),
        ({"pools": POOLS[:1]}, "spec.pools", "needs 2 log"),
        ({"knobs": {"knob_x": "1"}}, "spec.knobs.knob_x", "without knob_"),
        ({"knobs": {"x": "1 --datadir /"}}, "spec.knobs.x", "a number, true, false or a word"),
        ({"security": {"certificateLifetime": "4m"}}, "spec.security.certificateLifetime", "5m or longer"),
        ({"security": {"enabled": False, "caSecretName": "ca"}}, "spec.security.enabled", "leave caSecretName out"),
        ({"update": {"maxUnavailable": 2}}, "spec.update.maxUnavailable", "must be 1"),
        ({"update": {"order": ["nobody"]}}, "spec.update.order[0]", "the name of a pool"),
        (
            {"pools": [pool("storage", replicas=3, storage={"ephemeral": True}), *POOLS[1:]]},
            "spec.pools[0].storage.ephemeral",
            "need volumes",
        ),
        (
            {"podTemplate": {"spec": {"containers": [{"name": "foundationdb", "command": ["sh"]}]}}},
            "spec.podTemplate.spec.containers[foundationdb].command",
            "Stateward starts",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: dict[str, Any], path: str, words: str) -> None:
    problem = only(**spec)
    assert problem.path == path
    assert words in problem.message


def test_resources_are_checked_as_those_of_search_clusters() -> None:
    wrong = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    problem = only(pools=[pool("storage", resources=wrong), pool("log")])
    assert (problem.path, problem.message) == (
        "spec.pools[0].resources.requests.memory",
        "must not be more than the limit, 1Gi",
    )


def test_counts_that_bear_too_little_are_reported() -> None:
    (problem,) = found(Severity.WARNING, pools=[pool("storage", replicas=2), *POOLS[1:]])
    assert "no member takes over from a failed one:" in problem.message


def test_the_cluster_file_in_a_status_of_before_can_be_read() -> None:
    of = msgspec.json.decode(msgspec.json.encode({"connection": "a:b@c:1"}), type=type(cluster().status))
    assert of.connection == "a:b@c:1"


def test_users_that_are_requested_are_refused_and_not_left_out() -> None:
    """The database has none."""
    spec = {"version": "7.1.67", "pools": POOLS, "security": {"enabled": True, "adminSecretName": "ada"}}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster", "metadata": {"name": "ledger"}}
    with pytest.raises(InvalidDocumentError, match=r"spec\.security\.adminSecretName: .*not a known field"):
        convert_cluster({**head, "spec": spec})
