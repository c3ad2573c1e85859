"""Single decisions of a round of a cluster; what rounds lead to is simulated."""

from types import SimpleNamespace
from typing import Any

import pytest

from stateward.engines.connection.base import Speed, Target
from stateward.kube.objects.errors import ServerTimeout
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.act.perform import Outcome
from stateward.operator.clusters import reconcile
from stateward.operator.clusters.controller import Controller
from stateward.operator.clusters.memory import Memory
from stateward.operator.clusters.reconcile import Reconciler
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.objects.waves import Turn
from stateward.planning.model.observation import Unknown
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.stand_ins import Recorded, always, soon

KEY = Key("prod", "logs")
GOING = SimpleNamespace(metadata=SimpleNamespace(deletion_timestamp="2026-01-01T00:00:00Z"))
STAYS = SimpleNamespace(metadata=SimpleNamespace(deletion_timestamp=None, uid="u", resource_version="7"))


class Done(Exception):  # noqa: N818 - no error
    """The round has come as far as is tested."""


class Loop(Reconciler):
    """A reconciler of the named parts alone."""

    def __init__(self, **parts: Any) -> None:
        self.forgotten: list[Key] = []
        self._memory = Memory((self.forgotten.append,))
        for name, part in parts.items():
            setattr(self, f"_{name}", part)

    async def secured(self, existing: ClusterObjects) -> None:
        await self._secured(existing)

    async def hand_over(self, whose: Turn) -> None:
        found: Any = STAYS
        await self._hand_over(KEY, found, whose)


@pytest.mark.parametrize("found", [None, SimpleNamespace(cluster=GOING)])
async def test_secrets_without_an_owner_go_once_the_cluster_is_gone_and_not_while_it_is_being_deleted(
    found: Any,
) -> None:
    gone: list[Key] = []

    async def keeper_gone(key: Key) -> None:
        gone.append(key)

    loop = Loop(status=Recorded(), caches=Recorded(cluster_objects=found), keeper=SimpleNamespace(gone=keeper_gone))
    assert await loop.reconcile(KEY) is None
    assert loop.forgotten == [KEY]
    assert gone == ([KEY] if found is None else [])


def named(uid: str) -> Any:
    meta = SimpleNamespace(deletion_timestamp=None, uid=uid, annotations={}, labels={})
    return SimpleNamespace(cluster=SimpleNamespace(metadata=meta))


@pytest.mark.parametrize("live", [True, False])
async def test_nothing_is_remembered_of_an_earlier_cluster_with_the_same_name(
    monkeypatch: pytest.MonkeyPatch, *, live: bool
) -> None:
    """The disaster this prevents: a cluster is created again between two looks; what was read before still counts."""
    monkeypatch.setattr(reconcile, "turn", always(Turn.MANAGE))

    class Once(Loop):
        async def _round(self, key: Key, existing: Any) -> float:
            return 0.0

        async def see(self, uid: str) -> list[Key]:
            """Look at the cluster with an identity; returns what has been dropped until now."""
            found = named(uid)
            monkeypatch.setattr(reconcile, "read_live", soon(found))
            self._caches = SimpleNamespace(cluster_objects=always(found), wave="")
            await (self._live(KEY) if live else self.reconcile(KEY))
            return self.forgotten

    kind = SimpleNamespace(resource=SimpleNamespace(kind="OpenSearchCluster"))
    loop = Once(status=Recorded(), kind=kind, limit=Recorded(), api=None)
    assert [list(await loop.see(uid)) for uid in ("first", "first", "second", "second")] == [[], [], [KEY], [KEY]]


@pytest.mark.parametrize(("whose", "claims"), [(Turn.LEAVE, []), (Turn.CLAIM, ["canary"]), (Turn.RELEASE, [None])])
async def test_a_cluster_of_another_operator_is_not_written_to(whose: Turn, claims: list[str | None]) -> None:
    written: list[str | None] = []

    async def patch(_kind: Any, _key: Any, body: Any, **_: Any) -> None:
        written.extend(body["metadata"]["annotations"].values())

    loop = Loop(api=SimpleNamespace(patch=patch), caches=SimpleNamespace(wave="canary"), kind=Recorded())
    await loop.hand_over(whose)
    assert (written, loop.forgotten) == (claims, [KEY])


@pytest.mark.parametrize(("sets", "pods"), [(0, 0), (1, 0), (0, 1), (1, 1)])
async def test_a_cluster_is_new_to_its_security_only_without_any_member(sets: int, pods: int) -> None:
    """The disaster this prevents: the status is lost, and a cluster without security gets it under its members."""
    told: list[bool] = []

    async def keep(_: Any, *, alone: bool) -> Any:
        told.append(alone)
        raise Done

    each: Any = SimpleNamespace()
    existing = ClusterObjects(cluster(), (each,) * sets, (each,) * pods, (), (), {}, {})
    with pytest.raises(Done):
        await Loop(keeper=SimpleNamespace(keep=keep)).secured(existing)
    assert told == [not sets and not pods]


def planned(*, needs_live: bool) -> Any:
    return SimpleNamespace(plan=SimpleNamespace(needs_live=needs_live, actions=()))


class Reading(Loop):
    """A loop whose plans are given, and that counts live reads."""

    live = 0
    needs_live = True

    async def _decide(self, existing: Any, *_: Any) -> Any:
        return planned(needs_live=self.needs_live)

    async def _live(self, key: Key, cached: Any = None) -> Any:
        self.live += 1
        return SimpleNamespace(live=True, cluster=STAYS)

    async def decided(self, existing: Any) -> Any:
        return await self._decided(KEY, existing)


@pytest.mark.parametrize(
    ("live", "needs_live", "reads"), [(False, True, 1), (True, True, 0), (False, False, 0), (True, False, 0)]
)
async def test_a_plan_that_needs_live_reads_is_made_of_them_once(
    monkeypatch: pytest.MonkeyPatch, live: bool, needs_live: bool, reads: int
) -> None:
    monkeypatch.setattr(reconcile, "suspected", always(False))
    clock, cached = VirtualClock(), SimpleNamespace(live=live, cluster=STAYS)
    kept = Recorded(begin=clock.monotonic(), is_old=False)
    loop = Reading(reads=kept, clock=clock, caches=Recorded(cluster_objects=None))
    loop.needs_live = needs_live
    await loop.decided(cached)
    assert loop.live == reads
    if reads:
        assert kept.calls["take"] == (KEY, cached), "a cluster that the cache has lost meanwhile is as it was read"


@pytest.mark.parametrize("taken", [True, False])
async def test_a_read_that_is_relied_on_again_began_when_it_was_made(
    monkeypatch: pytest.MonkeyPatch, *, taken: bool
) -> None:
    """A budget may have been tightened since, in a round in which the database did not answer."""
    monkeypatch.setattr(reconcile, "suspected", always(False))
    monkeypatch.setattr(reconcile, "is_restart", always(True))
    cached = SimpleNamespace(live=False, cluster=STAYS)
    kept = Recorded(begin=7.0, is_old=False, take=(5.0, cached) if taken else None)
    began, *_ = await Reading(reads=kept, clock=VirtualClock(), caches=Recorded(cluster_objects=None)).decided(cached)
    assert began == (5.0 if taken else 7.0)


@pytest.mark.parametrize("failure", [None, KeyError("x")])
async def test_a_live_read_is_relied_on_again_only_after_a_round_without_a_failure(
    monkeypatch: pytest.MonkeyPatch, failure: Exception | None
) -> None:
    existing = SimpleNamespace(live=True, cluster=STAYS)
    turn = SimpleNamespace(plan=SimpleNamespace(actions=(), disrupts=False), existing=existing, observed=None)

    class Performing(Loop):
        async def _decided(self, key: Key, existing: Any) -> Any:
            return 0.0, existing, turn

        async def _administrator_created(self, turn: Any) -> Any:
            raise Done

        async def round(self) -> None:
            found: Any = existing
            await self._round(KEY, found)

    monkeypatch.setattr(reconcile, "ending", always(()))
    reads, performer = Recorded(), SimpleNamespace(perform=soon(Outcome(failure=failure)))
    status = SimpleNamespace(record_first=soon(turn), write=soon(), failed=always(None))
    loop = Performing(status=status, performer=performer, reads=reads, exit_watch=Recorded())
    with pytest.raises(Done if failure is None else KeyError):
        await loop.round()
    assert reads.done == (["keep"] if failure is None else [])


async def test_a_plan_whose_preparation_took_long_is_made_again_soon_from_new_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    existing = SimpleNamespace(live=True, cluster=STAYS)
    turn = SimpleNamespace(plan=SimpleNamespace(actions=("stop",), disrupts=False), existing=existing, observed=None)

    class Performing(Loop):
        async def _decided(self, key: Key, existing: Any) -> Any:
            return 0.0, existing, turn

        async def _administrator_created(self, turn: Any) -> Any:
            return turn, None

        async def round(self) -> float | None:
            found: Any = existing
            return await self._round(KEY, found)

    monkeypatch.setattr(reconcile, "ending", always(()))
    reads, watch = Recorded(), Recorded()
    status = SimpleNamespace(record_first=soon(turn), write=soon())
    performer = SimpleNamespace(perform=soon(Outcome(late=True)))
    loop = Performing(status=status, performer=performer, reads=reads, exit_watch=watch)
    assert await loop.round() == reconcile.EDITED_SECONDS
    assert reads.done == ["forget"]
    assert watch.done == []


async def test_an_administrator_whose_secret_lost_its_password_during_the_round_fails_after_the_status_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconcile, "Database", SimpleNamespace)

    async def administrator(_: Any) -> Any:
        raise KeyError("password")

    known = SimpleNamespace(enabled=True, administrator=False, faults={})
    observed = SimpleNamespace(protection=known, database=SimpleNamespace(secured=True))
    turn: Any = SimpleNamespace(observed=observed, existing=SimpleNamespace(cluster=STAYS))

    class Creating(Loop):
        async def created(self) -> tuple[Any, Exception | None]:
            return await self._administrator_created(turn)

    found, error = await Creating(keeper=SimpleNamespace(administrator=administrator)).created()
    assert (found, type(error)) == (turn, KeyError)


class Stopping(Loop):
    """A loop whose plan stops a member."""

    async def _decided(self, key: Key, existing: Any) -> Any:
        plan = SimpleNamespace(actions=(), disrupts=True, budgets=(), settled=False)
        return 0.0, existing, SimpleNamespace(plan=plan, existing=existing, observed=None)

    async def round(self) -> float | None:
        found: Any = SimpleNamespace(live=True, cluster=STAYS)
        return await self._round(KEY, found)


async def test_after_a_budget_was_tightened_everything_is_read_again_and_soon_the_status_says_so() -> None:
    """Nothing is recorded before: a departure that is recorded and did not begin would hold the next one back."""

    async def perform(*_: Any, began: float, failure: object) -> Any:
        assert (began, failure) == (0.0, None)
        raise Done

    reads, performer = Recorded(), SimpleNamespace(perform=perform)
    opened = SimpleNamespace(close=soon(value=False))
    loop = Stopping(performer=performer, reads=reads, shared_objects=opened)
    for _ in range(reconcile.NOT_KEPT - 1):
        assert await loop.round() == reconcile.EDITED_SECONDS
    with pytest.raises(Done):
        await loop.round()
    assert reads.done == ["forget"] * reconcile.NOT_KEPT


@pytest.mark.parametrize("error", [ServerTimeout("later"), NotOwnedError("it is not ours")])
async def test_members_do_not_stop_in_a_round_in_which_a_budget_could_not_be_written(error: Exception) -> None:
    """The disaster this prevents: the second write succeeds, and an eviction was allowed before it."""

    async def perform(*_: Any, began: float, failure: object) -> Any:
        assert (began, failure) == (0.0, error)
        raise Done

    async def refused(*_: object, **__: object) -> bool:
        raise error

    parts = {"performer": SimpleNamespace(perform=perform), "shared_objects": SimpleNamespace(close=refused)}
    with pytest.raises(Done):
        await Stopping(**parts).round()


@pytest.mark.parametrize("target", [None, Target((), "logs")])
async def test_who_looks_at_a_database_reaches_it_as_its_last_round_did(target: Target | None) -> None:
    reads: Any = Recorded(report=soon(Unknown("x"))(), speed=soon(Speed())())

    class Reporting(Controller):
        def __init__(self) -> None:
            known: Any = SimpleNamespace(target=always(target))
            self._reconciler, self._reads = known, reads

    assert await Reporting().report(KEY) == Unknown("x")
    assert await Reporting().speed(KEY) == Speed()
    assert reads.calls == {"report": (KEY, target), "speed": (KEY, target)}
