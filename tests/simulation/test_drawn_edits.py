"""Edits that are made from the schema of the CRD: what it refuses is refused by its field, with all that is needed."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.api.base import API_VERSION, Json
from stateward.api.crd import CLUSTER_KINDS
from stateward.api.structure import check_structure
from stateward.simulation.drawn_edits import DrawnEdit, draw, faults

pytestmark = pytest.mark.simulation

SPECS: dict[str, Json] = {
    "OpenSearchCluster": {
        "version": "2.17.1",
        "pools": [
            {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
            {"name": "hot", "replicas": 2, "roles": ["data"], "config": {"indices.a": 1}},
        ],
        "update": {"maxUnavailable": 2, "order": ["hot"]},
        "members": {"replace": ["logs-hot-0"]},
    },
    "ElasticsearchCluster": {
        "version": "8.18.8",
        "pools": [{"name": "all", "replicas": 3, "storage": {"size": "1Gi"}}],
        "replacement": {"enabled": True, "onTaints": [{"key": "gone"}]},
    },
    "FoundationDBCluster": {
        "version": "7.1.57",
        "pools": [
            {"name": "storage", "processClass": "storage", "replicas": 5, "storage": {"size": "1Gi"}},
            {"name": "log", "processClass": "log", "replicas": 4},
        ],
    },
}
RECORDS = {kind.name: kind.record for kind in CLUSTER_KINDS}


@pytest.mark.parametrize("kind", sorted(SPECS))
def test_whatever_the_schema_refuses_is_refused_by_its_field_with_the_value_and_what_is_accepted(kind: str) -> None:
    met: set[str] = set()
    for edit in faults(kind, SPECS[kind]):
        problems = check_structure(document(kind, edit), RECORDS[kind])
        at = [problem for problem in problems if problem.path == edit.path]
        assert at, f"{edit} is refused at {[p.path for p in problems]}"
        assert at[0].value == edit.value
        assert len(at[0].message) > 10, f"{edit}: {at[0].message}"
        met.add(edit.path)
    assert len(met) > 80, f"{len(met)} fields"


@settings(max_examples=200, database=None)
@given(st.sampled_from(sorted(SPECS)), st.randoms(use_true_random=False))
def test_whatever_the_schema_accepts_can_be_read(kind: str, chance: random.Random) -> None:
    edit = draw(kind, SPECS[kind], chance)
    if edit.valid:
        assert not check_structure(document(kind, edit), RECORDS[kind]), edit
        msgspec.convert(document(kind, edit), RECORDS[kind])


def document(kind: str, edit: DrawnEdit) -> Json:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "logs"}, "spec": edit.spec}
