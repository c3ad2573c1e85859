"""Volumes of the simulated cluster, where they follow what Kubernetes does."""

import pytest

from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Event
from stateward.simulation.cluster.volumes import CLASSES
from tests.simulation.scenario import CLAIMS, PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


async def test_a_claim_whose_class_vanishes_before_it_is_bound_is_bound_when_the_class_is_back() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        store, classes = scenario.world.store, scenario.world.store.all(CLASSES)

        def remove_classes(kind: str, event: Event) -> None:
            if kind == PODS and event.new is not None and event.new.doc["spec"].get("nodeName"):
                store.subscribers.remove(remove_classes)
                for found in classes:
                    store.remove(found)

        store.subscribers.append(remove_classes)
        scenario.process.start()
        scenario.user.create()
        assert await scenario.until(lambda: store.all(PODS) and not store.all(CLASSES))
        assert not await scenario.until(lambda: _bound(scenario), seconds=60.0)
        for found in classes:
            meta = {name: found.meta[name] for name in ("name", "annotations") if name in found.meta}
            scenario.world.server.create(CLASSES, "", {**found.doc, "metadata": meta})
        await scenario.settle()


def _bound(scenario: Scenario) -> bool:
    return any(part(claim.doc, "status").get("phase") == "Bound" for claim in scenario.world.store.all(CLAIMS))
