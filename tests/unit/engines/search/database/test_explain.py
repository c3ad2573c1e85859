"""Which unassigned copies are asked for, and what their explanations say of the others."""

from collections.abc import Mapping
from typing import Any, cast

from stateward.engines.search.database.explain import ENOUGH, MOST, with_explanations
from stateward.engines.search.database.session import Session
from stateward.engines.search.database.wire import Decision, Explanation, NodeDecision
from stateward.planning.model.observation import Copy, CopyState, Database, Health, Node, Unit

MANY = 3 * MOST
NO = Explanation("no", "", [NodeDecision("b", [Decision("disk_threshold", "NO", "the disk is full")])])


class Answering:
    """A session of which only explanations are asked."""

    def __init__(self, answers: Mapping[str, Explanation]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def call(self, _kind: object, _method: str, _path: str, _fields: object, body: Mapping[str, Any]) -> object:
        self.asked.append(body["index"])
        return self.answers.get(body["index"], NO)


def database(copies: int, *, moving: bool = False) -> Database:
    """Return a database that misses so many copies, the first one for the longest time."""
    nodes = {name: Node(name, "3.0.0", data=True, voting=True) for name in "abc"}
    target = "b" if moving else ""
    primary = Copy(CopyState.RELOCATING if moving else CopyState.STARTED, primary=True, member="a", target=target)
    units = [
        Unit(f"i{n}[0]", 2, (primary, Copy(CopyState.UNASSIGNED, in_sync=False, why="node left", since=float(n))))
        for n in range(copies)
    ]
    return Database("x", Health.YELLOW, nodes, tuple(units))


async def held(found: Database, answers: Mapping[str, Explanation] | None = None) -> tuple[list[str], list[str]]:
    """Return the units with copies that no node may take, and those that were asked for."""
    session = Answering(answers or {})
    explained = await with_explanations(cast("Session", session), found)
    return [u.name for u in explained.units if u.copies[1].held], session.asked


async def test_if_nothing_moves_and_no_copy_that_was_asked_for_has_a_node_the_others_have_none_either() -> None:
    """The disaster this prevents: a member with many copies is lost, and never replaced where disks are full."""
    found, asked = await held(database(MANY))
    assert len(found) == MANY
    assert len(asked) == MOST
    assert {"i0", f"i{MANY - 1}"} <= set(asked), "the oldest and the newest"


async def test_nothing_follows_of_others_if_one_may_get_a_node_or_copies_move() -> None:
    soon = Explanation("awaiting_info")
    found, asked = await held(database(MANY), {f"i{MANY - 1}": soon})
    assert len(found) == MOST - 1 == len(asked) - 1
    assert len((await held(database(MANY, moving=True)))[0]) == MOST


async def test_nothing_follows_from_a_few_answers() -> None:
    answers = dict.fromkeys((f"i{n}" for n in range(MANY)), Explanation("yes"))
    assert not (await held(database(MANY), answers))[0]
    assert ENOUGH < MOST
