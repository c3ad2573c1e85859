"""What the watches of companions meet is a metric.

The disaster this prevents: after an upgrade without the new CRDs, the schedule of a cluster's snapshots cannot be
decoded, no snapshot is taken any more, and no alert says it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.operator import controls
from stateward.operator.assembly import Operator
from stateward.operator.companion import Companion
from tests.unit.operator.test_process import Written, api, operator

__all__ = ["api"]
NOTHING = cast("Any", None)
COMPANIONS: dict[str, Callable[[Operator], Companion]] = {
    "searchsnapshotschedules": lambda found: controls.declared_control(found, {}),
    "poolscales": controls.scaling_control,
    "deployments": lambda found: controls.exporters_control(found, NOTHING),
    "installations": lambda found: controls.installation_control(found, NOTHING, NOTHING),
    "ConfigMap": controls.restart_control,
}


@pytest.mark.parametrize("watched", COMPANIONS)
async def test_the_watches_of_companions_are_observed(
    api: Written, monkeypatch: pytest.MonkeyPatch, watched: str
) -> None:
    made: dict[str, object] = {}
    begin = Reflector.__init__

    def noted(self: Any, api: Any, resource: Any, selection: Any, store: Any, options: ReflectorOptions) -> None:
        made[store.name] = options.observer
        begin(self, api, resource, selection, store, options)

    monkeypatch.setattr(Reflector, "__init__", noted)
    found = operator(api, leader_elect=False)
    made.clear()
    running = asyncio.create_task(COMPANIONS[watched](found).run())
    for _ in range(500):
        if watched in made:
            break
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert watched in made
    assert {id(observer) for observer in made.values()} == {id(found.metrics)}
