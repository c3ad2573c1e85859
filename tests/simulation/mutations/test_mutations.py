"""Each guard that is removed is noticed: a simulation that finds nothing proves nothing until this has been seen."""

import pytest

from tests.simulation.mutations.catalog import MUTATIONS, Mutation

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[f"{m.number} {m.removes}" for m in MUTATIONS])
async def test_a_removed_guard_is_noticed(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.remove(monkeypatch)
    with pytest.raises(AssertionError):
        await mutation.caught_by()
