"""A write that the database has accepted and not finished: `"acknowledged": false`, and a read of the old state."""

import asyncio

import msgspec
import pytest

from stateward.engines.connection.base import Answer
from stateward.simulation.opensearch.http import Wire
from tests.unit.operator.declared.world import World

PATH = "/_index_template/logs"
LATE = Answer(200, msgspec.json.encode({"acknowledged": False}))


CUT_OFF = Answer(200, LATE.body[:-1])


@pytest.mark.parametrize("answer", [LATE, CUT_OFF], ids=["not acknowledged", "cut off"])
@pytest.mark.parametrize("drift", ["Correct", "Report"])
async def test_an_object_that_is_not_stored_yet_is_neither_ready_nor_a_drift(drift: str, answer: Answer) -> None:
    world = World()
    world.database.refusals[PATH] = answer
    world.template(drift=drift)
    async with world.operator():
        await world.until(lambda: world.database.writes)
        await asyncio.sleep(1000)
        assert world.condition("Ready")["status"] == "False"
        assert not world.stalled()
        assert "DriftCorrected" not in world.told()
        world.database.refusals.clear()
        await world.until(world.is_ready)


async def test_a_write_whose_answer_is_cut_off_is_not_repeated_if_a_read_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next body may be another one: then it would not be known any more who has made the object."""
    world = World()
    world.template()
    wire, answered = world.database.wire, world.database.wire.body
    written, cut = list[str](), list[bytes]()
    wire.command_done = written.append

    def body(_wire: Wire, whole: bytes) -> bytes:
        """Cut off the answer to the first write."""
        if written and not cut:
            cut.append(whole)
            return whole[:-1]
        return answered(whole)

    monkeypatch.setattr(Wire, "body", body)
    async with world.operator():
        await world.until(world.is_ready)
    assert (len(cut), len(written)) == (1, 1)


async def test_a_deleted_object_that_is_still_stored_is_not_said_to_be_made_by_another_client() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.database.refusals[PATH] = LATE
        world.delete()
        await world.until(lambda: len(world.database.writes) > 1)
        await asyncio.sleep(10)
        assert "not all its nodes have it yet" in world.status()["activity"]
        world.database.refusals.clear()
        await world.until(lambda: not world.exists())
    assert world.database.objects.content(PATH) is None


async def test_an_answer_that_says_nothing_of_nodes_is_one_of_a_finished_write() -> None:
    """Plug-ins answer with a status alone, or with anything else."""
    world = World()
    world.declare(object="role/reader", body={"cluster_permissions": ["cluster_monitor"]})
    async with world.operator():
        await world.until(world.is_ready)
