"""The kind of a change, from what its forecast does."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.forecast.change import Change, change_of
from stateward.forecast.forecast import run_forecast
from stateward.planning.model.observation import Observation
from tests.unit.cli.clusters import NOW, changed, new, running

Edit = Callable[[dict[str, Any]], object]


def pool(number: int, **changes: Any) -> Edit:
    return lambda spec: spec["pools"][number].update(changes)


def whole(**changes: Any) -> Edit:
    return lambda spec: spec.update(changes)


def both(first: Edit, second: Edit) -> Edit:
    return lambda spec: (first(spec), second(spec))


def kind(start: Observation) -> Change:
    start = replace(start, live=True)
    return change_of(start, run_forecast(start, NOW))


def test_a_cluster_that_does_not_exist_yet_is_created() -> None:
    assert kind(new()) is Change.CREATE


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (whole(version="2.19.5"), Change.UPGRADE),
        (both(whole(version="2.19.5"), pool(1, replicas=4)), Change.UPGRADE),
        (pool(1, replicas=4), Change.SCALE),
        (pool(1, replicas=2), Change.SCALE),
        (whole(config={"indices.recovery.max_bytes_per_sec": "80mb"}), Change.RESTART),
        (pool(1, storage={"size": "40Gi"}), Change.GROW),
        (pool(1, storage={"size": "20Gi", "storageClass": "fast"}), Change.REPLACE),
        (whole(), Change.OTHER),
    ],
)
def test_a_change_has_the_kind_of_its_strongest_effect(edit: Edit, expected: Change) -> None:
    before = running()
    members = tuple(
        replace(m, claim=m.claim and replace(m.claim, expandable=True, storage_class="slow")) for m in before.members
    )
    assert kind(changed(edit, replace(before, members=members))) is expected
