"""The demo's writer stays within its limits, and its ledger records the acknowledged writes."""

import asyncio
from typing import Any

import pytest

from demo.database import NotAcknowledgedError
from demo.ledger import Ledger
from demo.writer import Bounds, Writer, missing
from stateward.kube.timing.clock import SystemClock


class Shelf:
    """A store in memory; `down` makes it refuse, `forgets` names documents that it loses after it promised them."""

    def __init__(self, *, forgets: frozenset[str] = frozenset(), slow: float = 0.0) -> None:
        self.documents: dict[str, Any] = {}
        self.down = False
        self.forgets = forgets
        self.slow = slow

    async def put(self, identity: str, document: dict[str, Any]) -> None:
        await asyncio.sleep(self.slow)
        if self.down:
            raise NotAcknowledgedError("503")
        if identity not in self.forgets:
            self.documents[identity] = document

    async def find(self, identities: list[str]) -> set[str]:
        if self.down:
            raise NotAcknowledgedError("503")
        return self.documents.keys() & set(identities)


class Hurried(SystemClock):
    """A clock whose time is what was slept."""

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


async def test_a_writer_ends_at_its_number_and_keeps_its_rate() -> None:
    clock, shelf = Hurried(), Shelf()
    writer = Writer(shelf, Bounds(per_second=10, most=50), clock=clock)
    await writer.run()
    assert len(writer.ledger.acknowledged) == len(shelf.documents) == 50
    assert clock.time == pytest.approx(105.0)
    assert writer.ledger.longest_gap == pytest.approx(0.1)


async def test_a_writer_ends_after_its_time() -> None:
    clock = Hurried()
    writer = Writer(Shelf(), Bounds(per_second=10, seconds=2), clock=clock)
    await writer.run()
    assert clock.time == pytest.approx(102.1, abs=0.2)


async def test_what_is_refused_is_not_owed() -> None:
    shelf = Shelf()
    shelf.down = True
    writer = Writer(shelf, Bounds(per_second=10, most=5), clock=Hurried())
    await writer.run()
    assert (writer.ledger.acknowledged, writer.ledger.refused, writer.ledger.last_refusal) == (set(), 5, "503")


async def test_a_write_that_hangs_is_given_up_and_not_owed() -> None:
    writer = Writer(Shelf(slow=60), Bounds(per_second=1000, most=2, patience=0.01))
    await writer.run()
    assert (writer.ledger.acknowledged, writer.ledger.refused) == (set(), 2)


async def test_an_acknowledged_document_that_is_gone_is_found_out() -> None:
    shelf = Shelf(forgets=frozenset({"d3"}))
    writer = Writer(shelf, Bounds(per_second=10, most=30, reading=1000), clock=Hurried())
    await writer.run()
    assert await missing(shelf, writer.ledger, batch=7) == {"d3"}


async def test_reading_back_notices_a_loss_while_it_continues() -> None:
    writer = Writer(Shelf(forgets=frozenset({"d0"})), Bounds(per_second=10, most=1, reading=1), clock=Hurried())
    await writer.run()
    assert writer.ledger.unread == 1


async def test_a_store_that_stays_away_is_no_proof_of_a_loss() -> None:
    shelf = Shelf()
    writer = Writer(shelf, Bounds(per_second=10, most=3), clock=Hurried())
    await writer.run()
    shelf.down = True
    with pytest.raises(NotAcknowledgedError):
        await missing(shelf, writer.ledger, clock=Hurried())


async def test_writing_ends_with_its_block_and_counts_the_last_gap() -> None:
    shelf = Shelf()
    writer = Writer(shelf, Bounds(per_second=200))
    async with writer.writing() as ledger:
        await asyncio.sleep(0.05)
        shelf.down = True
        await asyncio.sleep(0.05)
    assert ledger.acknowledged
    assert ledger.longest_gap >= 0.05


def test_the_rate_is_that_of_late() -> None:
    ledger = Ledger()
    ledger.begin(0.0)
    for number in range(10):
        ledger.acknowledge(f"d{number}", number * 0.5)
    assert ledger.rate(5.0) == pytest.approx(2.0)
    assert ledger.rate(60.0) == 0.0
