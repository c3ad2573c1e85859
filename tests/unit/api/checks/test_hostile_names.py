"""Names in a spec that were made to fill the operator's memory: no name is written out for each value below it."""

import tracemalloc
from typing import Any

import pytest

from stateward.api.validation import validate
from tests.unit.engines.search_clusters import cluster

LONG = "k" * 50_000


@pytest.mark.parametrize("below", [[0] * 2000, {f"a{i}": 1 for i in range(2000)}])
@pytest.mark.parametrize("field", ["config", "podTemplate"])
def test_a_long_name_above_many_values_takes_little_memory(field: str, below: Any) -> None:
    """60 KB took 100 MiB, and a cluster of a megabyte some GiB: its author ended the operator of all tenants."""
    made = cluster(**{field: {LONG: below}})
    tracemalloc.start()
    try:
        validate(made)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < 20 << 20
