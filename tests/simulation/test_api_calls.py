"""How many requests to the API server each operation takes: a table, so that none of them grows unnoticed."""

from collections import Counter

import pytest

from stateward.api.values.base import Json
from tests.simulation.scenario import CLAIMS, PODS, SECRETS, SETS, Scenario, hot, managers
from tests.support.requests import counted_requests

pytestmark = pytest.mark.simulation

STATUS = "stateward.dev/osclusters status"
READ_HISTORY, WRITE_HISTORY = "get /configmaps history", "apply /configmaps history"
BUDGETS, EVENTS = "policy/poddisruptionbudgets", "events.k8s.io/events"

SMALLER: Json = {"resources": {"limits": {"memory": "3Gi"}, "requests": {"memory": "3Gi"}}}
SETTING: Json = {"config": {"indices.query.bool.max_clause_count": 2000}}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the operator's requests, except watches and the requests of leader election."""
    return counted_requests(monkeypatch, "stateward")


def within(calls: Counter[str], limits: dict[str, int], live_reads: int) -> None:
    """Assert the limit of each kind of request, and that there is no other kind.

    A live read is five requests, all of them of that cluster; nodes and storage classes are known from watches.
    """
    kinds = (PODS, SETS, CLAIMS, SECRETS)
    allowed = {**{f"list {kind}": live_reads for kind in kinds}, "get stateward.dev/osclusters": live_reads}
    allowed |= limits
    over = {request: count for request, count in calls.items() if count > allowed.get(request, 0)}
    assert not over, f"more than allowed: {over}\nall requests: {dict(calls)}"


async def test_a_new_cluster_takes_a_write_for_each_object_and_two_reads_for_each_kind(calls: Counter[str]) -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin(indices=0)
        written = {f"apply {SECRETS}": 13, f"apply {CLAIMS}": 6, f"apply {SETS}": 6, f"apply {BUDGETS}": 4}
        written |= {"apply /services": 3, "apply /configmaps": 4}
        # Whether an object of another owner has the name: one read of the first, and one list of the names of all.
        names = {f"{verb} {kind}": 1 for verb in ("get", "list") for kind in (BUDGETS, "/services", "/configmaps")}
        names |= {f"get {SECRETS}": 2, f"get {CLAIMS}": 1, f"get {SETS}": 1}
        rest = {f"patch {STATUS}": 13, f"create {EVENTS}": 9, f"patch {PODS}": 1}
        # Each claim is marked as holding state or data: the cluster is known if it is created again.
        # That of the manager that forms it is marked before, and once more when its version is known.
        rest |= {READ_HISTORY: 1, WRITE_HISTORY: 1, f"patch {CLAIMS}": 7}
        # A database that is not formed lets questions end late, so the pods are read again before one may form it.
        rest |= {f"list {PODS}": 4}
        within(calls, {**written, **names, **rest}, live_reads=3)
        assert calls.total() <= 91


async def test_new_pods_for_three_members_take_one_live_read_and_three_writes_each_and_one_read_for_the_budgets(
    calls: Counter[str],
) -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        calls.clear()
        scenario.pools(managers(), hot(**SMALLER))
        await scenario.settle()
        each = {f"apply {SECRETS}": 3, f"apply {SETS}": 3, f"delete {PODS}": 3}
        told = {f"patch {STATUS}": 15, f"create {EVENTS}": 3, WRITE_HISTORY: 4}
        # After the budgets are tightened, everything is read again before the first member stops.
        within(calls, {**each, **told, f"apply {BUDGETS}": 4}, live_reads=4)
        assert calls.total() <= 54


async def test_three_restarts_in_kept_pods_take_four_live_reads_and_six_writes_each_and_one_read_for_the_budgets(
    calls: Counter[str],
) -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        calls.clear()
        scenario.pools(managers(), hot(**SETTING))
        await scenario.settle()
        each = {f"apply {SECRETS}": 3, f"apply {SETS}": 3, f"patch {PODS}": 12}
        told = {f"patch {STATUS}": 16, f"create {EVENTS}": 6, WRITE_HISTORY: 4}
        within(calls, {**each, **told, f"apply {BUDGETS}": 6}, live_reads=13)


async def test_a_replaced_member_takes_four_live_reads(calls: Counter[str]) -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        calls.clear()
        scenario.edit(members={"replace": ["logs-hot-1"]})
        await scenario.settle()
        objects = {f"{verb} {kind}": 1 for verb in ("get", "apply") for kind in (CLAIMS, SETS)}
        secrets = {f"get {SECRETS}": 2, f"apply {SECRETS}": 2, f"delete {SECRETS}": 2}
        # Its claim is marked as left; if it was the one of its pool that is marked as holding data, another one is.
        removed = {f"patch {SETS}": 1, f"delete {SETS}": 1, f"patch {CLAIMS}": 2}
        told = {f"patch {STATUS}": 12, f"create {EVENTS}": 9, f"apply {BUDGETS}": 6, WRITE_HISTORY: 2}
        within(calls, {**objects, **secrets, **removed, **told}, live_reads=5)
