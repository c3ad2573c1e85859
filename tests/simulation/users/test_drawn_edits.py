"""Edits that are drawn from the schema of the CRD: what is not valid is refused, and nothing blocks its own repair."""

import asyncio
import os
import random
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.api.schema.custom_resources import CLUSTER_KINDS
from stateward.api.schema.structure import check_structure
from stateward.api.values.base import API_VERSION, Json
from stateward.simulation.timing.loop import run_virtual
from stateward.simulation.users.drawn_edits import DrawnEdit, draw, faults, spec_schema
from tests.simulation.scenario import Scenario, hot, managers
from tests.simulation.steps import Steps

pytestmark = pytest.mark.simulation

EXAMPLES = int(os.environ.get("STATEWARD_SIMULATION_EXAMPLES", "10"))
"""The number of drawn scenarios; a nightly run has more."""
EXCLUDED_FIELDS = frozenset({"acceptDataLoss"})
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


async def test_a_server_refuses_whatever_the_schema_refuses_and_changes_nothing() -> None:
    # Also 1 where true stands, which is the same to Python, and a text where a list that merges has an object.
    spec = {**SPECS["OpenSearchCluster"], "replacement": {"enabled": True}}
    with Scenario().logged() as scenario:
        scenario.user.spec = spec
        scenario.user.create()
        for edit in faults("OpenSearchCluster", spec):
            scenario.user.apply_drawn_edit(edit)
        scenario.check()


@settings(max_examples=200, database=None)
@given(st.sampled_from(sorted(SPECS)), st.randoms(use_true_random=False))
def test_whatever_the_schema_accepts_can_be_read(kind: str, rng: random.Random) -> None:
    edit = draw(kind, SPECS[kind], rng)
    if edit.valid:
        assert not check_structure(document(kind, edit), RECORDS[kind]), edit
        msgspec.convert(document(kind, edit), RECORDS[kind])


def document(kind: str, edit: DrawnEdit) -> Json:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "logs"}, "spec": edit.spec}


async def test_a_cluster_that_exists_gets_no_beginning_because_the_api_server_refuses_it() -> None:
    with Scenario(managers(1), hot(1)).logged() as scenario:
        await scenario.begin()
        before = scenario.world.resource()
        assert before is not None
        origin = {"fromSnapshot": {"repository": "files", "snapshot": "nightly-*"}}
        spec = {**before.doc["spec"], "bootstrap": origin}
        scenario.user.apply_drawn_edit(DrawnEdit("spec.bootstrap", origin, True, spec))
        assert scenario.world.resource() == before
    rules = spec_schema("OpenSearchCluster")["x-kubernetes-validations"]
    assert any("!has(self.bootstrap)" in rule["rule"] and "oldSelf" in rule["rule"] for rule in rules)


@dataclass(frozen=True)
class Tale:
    """A small cluster, edits of it one after the other, with seconds between them, and a death of the operator."""

    edits: tuple[tuple[DrawnEdit, int], ...]
    agents: bool
    dies_after: int

    def __repr__(self) -> str:
        """Return one clause."""
        said = "; ".join(f"{edit}, for {seconds} s" for edit, seconds in self.edits)
        dies = f"; the operator dies after step {self.dies_after}" if self.dies_after else ""
        return f"a cluster {'with' if self.agents else 'without'} agents is given {said}{dies}"


@st.composite
def tales(draw_: st.DrawFn) -> Tale:
    spec = {"version": "2.17.1", "pools": [managers(3), hot(2)]}
    pauses = draw_(st.lists(st.integers(1, 600), min_size=1, max_size=3))
    chances = [draw_(st.randoms(use_true_random=False)) for _ in pauses]
    made = [draw("OpenSearchCluster", spec, rng, EXCLUDED_FIELDS) for rng in chances]
    return Tale(tuple(zip(made, pauses, strict=True)), draw_(st.booleans()), draw_(st.integers(0, 20)))


@settings(max_examples=EXAMPLES, database=None)
@given(tales())
def test_whatever_a_user_writes_breaks_nothing_and_can_be_reverted(tale: Tale) -> None:
    run_virtual(live(tale))


async def live(tale: Tale) -> None:
    with Scenario(managers(3), hot(2), agents=tale.agents).logged() as scenario:
        await scenario.begin(2)
        Steps(scenario, tale.dies_after)
        for edit, seconds in tale.edits:
            scenario.user.apply_drawn_edit(edit)
            await asyncio.sleep(seconds)
        scenario.check()
        scenario.user.request_satisfiable_spec()
        await scenario.settle(quiet=300.0)
