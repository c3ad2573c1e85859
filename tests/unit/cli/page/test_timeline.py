"""The live timeline of the page grows with each state of a cluster, and continues the operator's history."""

import copy
from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.cli.page.timeline import KEPT, Seen, drawn, grown
from stateward.timeline.phases import Phase
from tests.unit.cli.samples import CLUSTER

NOW = 1795262400.0


def state(member: dict[str, Any] | None = None, **status: Any) -> Cluster:
    """Return the sample, with another state of its member hot-1 and other parts of the status."""
    document = copy.deepcopy(CLUSTER)
    document["metadata"] = {"name": "logs", "namespace": "default"}
    document["status"]["memberStates"][1] |= member or {}
    document["status"] |= status
    return convert_cluster(document)


def phases(seen: Seen, cluster: Cluster, row: str = "logs-hot-1") -> list[Phase]:
    return [span.phase for span in drawn(seen, cluster, NOW + 60).spans if span.row == row]


STOPPING = {"state": "Down", "pending": "recreate", "absence": "Planned"}


def test_each_present_member_has_a_row_by_pool_even_without_a_phase() -> None:
    cluster = state()
    rows = [row.name for row in drawn(grown(Seen(), None, cluster, NOW), cluster, NOW).rows]
    assert rows == ["logs-hot-0", "logs-hot-1", "logs-managers-0"]


def test_a_member_that_stops_for_its_change_is_in_that_step_and_not_down() -> None:
    stopping = state(STOPPING)
    assert phases(grown(Seen(), None, stopping, NOW), stopping) == [Phase.UPGRADE]


def test_a_member_with_a_pending_change_that_is_evicted_is_not_in_that_step() -> None:
    evicted = state({**STOPPING, "absence": "Unplanned"})
    assert phases(grown(Seen(), None, evicted, NOW), evicted) == [Phase.DOWN]


def test_a_member_that_stops_because_it_leaves_is_not_in_a_step() -> None:
    leaving = [{"name": "logs-hot-1", "reason": "missing", "origin": "Automatic"}]
    stopping = state(STOPPING, pendingRemovals=leaving)
    assert Phase.UPGRADE not in phases(grown(Seen(), None, stopping, NOW), stopping)


def test_changes_are_the_news_since_the_first_look_and_bounded() -> None:
    first, second = state(), state({"state": "Ready"})
    seen = grown(Seen(), None, first, NOW)
    assert seen.changes == ()
    for step in range(2 * KEPT):
        before, after = (first, second) if step % 2 == 0 else (second, first)
        seen = grown(seen, before, after, NOW + step)
    assert len(seen.changes) == KEPT
    assert seen.changes[-1].text.startswith("logs-hot-1: Restarting")
    assert seen.begin == NOW
