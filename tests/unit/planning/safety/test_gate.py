"""The health gate: wait for conditions that time improves, and for nothing else."""

from msgspec import structs

from stateward.planning.model import observation as o
from stateward.planning.safety.health_gate import HELD_PATIENCE, lost_units, unit_problem

NOW = 10_000.0
NODES = ("a", "b", "c")


def database(
    *, versions: tuple[str, ...] = ("2.0.0",) * 3, allocation: o.Allocation = o.Allocation.ALL, limited: bool = False
) -> o.Database:
    nodes = {n: o.Node(n, v, data=True, voting=False) for n, v in zip(NODES, versions, strict=True)}
    return o.Database("x", o.Health.YELLOW, nodes, allocation=allocation, limited=limited)


def started(member: str, *, primary: bool = False) -> o.Copy:
    return o.Copy(o.CopyState.STARTED, primary=primary, member=member)


def missing(*, held: bool = False, since: float = 0.0, why: str = "NODE_LEFT") -> o.Copy:
    return o.Copy(o.CopyState.UNASSIGNED, in_sync=False, why=why, held=held, since=since)


def problem(base: o.Database, *copies: o.Copy) -> str | None:
    return unit_problem(base, o.Unit("logs[0]", len(copies), copies), NOW)


def test_a_whole_unit_is_no_problem() -> None:
    assert problem(database(), started("a", primary=True), started("b")) is None


def test_a_unit_on_the_move_is_no_problem() -> None:
    moving = o.Copy(o.CopyState.RELOCATING, primary=True, member="a", target="b")
    assert problem(database(), moving, started("c")) is None


def test_a_copy_that_is_recovered_is_waited_for() -> None:
    coming = o.Copy(o.CopyState.INITIALIZING, member="b")
    assert "is being recovered" in (problem(database(), started("a", primary=True), coming) or "")


def test_a_unit_without_a_started_copy_is_waited_for() -> None:
    assert problem(database(), missing()) == "shard logs[0] has no started copy"


def test_a_copy_that_may_be_placed_is_waited_for_with_the_reason() -> None:
    assert "(NODE_LEFT)" in (problem(database(), started("a", primary=True), missing()) or "")


def test_a_copy_that_only_newer_nodes_may_take_is_not_waited_for() -> None:
    """Right after the first node of an upgrade the primary of a new index can have no replica."""
    base = database(versions=("2.1.0", "2.0.0", "2.0.0"))
    assert problem(base, started("a", primary=True), missing()) is None
    two = database(versions=("2.1.0", "2.1.0", "2.0.0"))
    assert problem(two, started("a", primary=True), missing()) is not None


def test_more_copies_than_nodes_are_not_waited_for() -> None:
    assert problem(database(), started("a", primary=True), started("b"), started("c"), missing()) is None


def test_a_copy_that_only_a_drained_node_could_take_is_not_waited_for() -> None:
    """A member that leaves is no place: a change would wait for its data to come back to it."""
    base = structs.replace(database(), draining=frozenset({"c"}))
    assert problem(base, started("a", primary=True), started("b"), missing()) is None
    assert problem(database(), started("a", primary=True), started("b"), missing()) is not None


def test_the_verdict_of_the_database_is_believed_only_after_a_while() -> None:
    young = missing(held=True, since=NOW - HELD_PATIENCE + 1)
    old = missing(held=True, since=NOW - HELD_PATIENCE - 1)
    assert problem(database(), started("a", primary=True), young) is not None
    assert problem(database(), started("a", primary=True), old) is None


def test_the_verdict_is_not_believed_while_the_allocation_is_limited() -> None:
    limited = database(allocation=o.Allocation.PRIMARIES, limited=True)
    assert problem(limited, started("a", primary=True), missing(held=True)) is not None


def test_a_limit_that_another_user_has_set_is_named() -> None:
    base = database(allocation=o.Allocation.NONE)
    assert "another client has limited the allocation to none" in (
        problem(base, started("a", primary=True), missing()) or ""
    )


def test_a_copy_that_fell_behind_is_no_live_copy() -> None:
    stale = o.Copy(o.CopyState.STARTED, primary=True, member="a", in_sync=False)
    base = o.Database("x", o.Health.RED, {}, (o.Unit("logs[0]", 1, (stale,)),))
    assert lost_units(base) == ["logs[0]"]


def test_a_limit_of_the_operators_own_is_not_reported_as_another_clients() -> None:
    own = database(allocation=o.Allocation.PRIMARIES, limited=True)
    said = problem(own, started("a", primary=True), missing()) or ""
    assert "another client" not in said
    assert "NODE_LEFT" in said


def test_a_copy_that_its_index_allows_on_no_other_node_is_not_waited_for() -> None:
    """A tier of one node cannot have two copies; the database explains this of a few copies only."""
    copies = (started("a", primary=True), missing())
    unit = o.Unit("logs[0]", 2, copies, places=frozenset("a"))
    assert unit_problem(database(), unit, NOW) is None
    assert unit_problem(database(), structs.replace(unit, places=frozenset("ab")), NOW) is not None
