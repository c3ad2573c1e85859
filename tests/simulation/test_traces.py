"""The operator at work sends traces of what it does."""

from stateward.operator.runtime.traces import open_traces
from tests.simulation.scenario import Scenario
from tests.unit.operator.runtime.collector import collector, spans_of, text


async def test_a_cluster_is_traced_from_its_creation_on() -> None:
    scenario = Scenario()
    with collector() as (url, received), open_traces(url, "operator-1"), scenario.logged():
        await scenario.begin()
    found = spans_of(received)
    assert {"reconcile", "read live", "observe database", "plan", "action", "write status"} <= found.keys()
    assert text(found["reconcile"], "stateward.kind") == "OpenSearchCluster"
    assert text(found["action"], "stateward.why")
    assert found["plan"]["parentSpanId"]
