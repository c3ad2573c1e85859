"""Single decisions of a round of dashboards and routes."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.access.dashboards import Dashboards, DashboardsStatus
from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.conditions import condition
from stateward.operator.dashboards.reconcile import SETTLED_SECONDS, STOPPED_SECONDS, WAIT_SECONDS, Round, next_round
from stateward.operator.dashboards.report import Reporter, stopped
from stateward.operator.objects.kinds import OPENSEARCH
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.beside.recorded import RecordingApi, Said, tools

NOON, EARLIER = 43200.0, "1970-01-01T06:00:00Z"
STARTS = DashboardsStatus(available=False, reason="DashboardsStarting")
HELD = DashboardsStatus(available=True, reason="DashboardsInvalid")
SERVES = DashboardsStatus(available=True)
INVALID, LEADS = RoutesStatus(reason="RouteInvalid"), RoutesStatus(urls=["https://logs.example.com"])


@pytest.mark.parametrize(
    ("before", "since"),
    [
        (DashboardsStatus(reason="DashboardsFailing", version="2.19.3", since_time=EARLIER), EARLIER),
        (DashboardsStatus(reason="DashboardsFailing", version="2.19.3"), "1970-01-01T12:00:00Z"),
        (DashboardsStatus(reason="DashboardsSilent", version="2.19.3", since_time=EARLIER), "1970-01-01T12:00:00Z"),
        (DashboardsStatus(available=True, version="2.19.3", since_time=EARLIER), "1970-01-01T12:00:00Z"),
        (None, "1970-01-01T12:00:00Z"),
    ],
)
def test_a_state_keeps_the_time_since_which_it_lasts(before: DashboardsStatus | None, since: str) -> None:
    assert stopped(before, "DashboardsFailing", "no image", NOON).since_time == since


@pytest.mark.parametrize(
    ("dashboards", "routes", "seconds"),
    [
        (None, None, None),
        (SERVES, None, SETTLED_SECONDS),
        (None, LEADS, SETTLED_SECONDS),
        (SERVES, LEADS, SETTLED_SECONDS),
        (STARTS, LEADS, WAIT_SECONDS),
        (STARTS, INVALID, WAIT_SECONDS),
        (HELD, None, STOPPED_SECONDS),
        (None, INVALID, STOPPED_SECONDS),
        (SERVES, INVALID, STOPPED_SECONDS),
    ],
)
def test_the_next_round_comes_sooner_the_sooner_something_may_change(
    dashboards: DashboardsStatus | None, routes: RoutesStatus | None, seconds: float | None
) -> None:
    assert next_round(dashboards, routes) == seconds


@pytest.mark.parametrize(
    ("begun", "asked", "known", "written"),
    [
        (True, Dashboards(), None, True),
        (True, None, STARTS, True),
        (True, None, None, False),
        (False, Dashboards(), None, False),
    ],
)
async def test_a_failure_is_reported_of_dashboards_that_are_asked_for_or_left_once_the_cluster_has_a_status(
    begun: bool, asked: Dashboards | None, known: DashboardsStatus | None, written: bool
) -> None:
    base = cluster()
    conditions = [condition("Ready", status=True, reason="Ready")] if begun else []
    live = msgspec.structs.replace(
        base,
        spec=msgspec.structs.replace(base.spec, dashboards=asked),
        status=ClusterStatus(conditions=conditions, dashboards=known),
    )
    api, unused = RecordingApi(live), dict[str, Any]()
    await Round(tools(api, OPENSEARCH.resource, Said()), None, live, unused).fail("it fails")  # type: ignore[arg-type]
    assert bool(api.patches) is written


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, STARTS, ["DashboardsStarting"]),
        (HELD, STARTS, ["DashboardsStarting"]),
        (STARTS, msgspec.structs.replace(STARTS, message="0 of 2 are ready"), []),
        (STARTS, SERVES, ["DashboardsAvailable"]),
        (SERVES, msgspec.structs.replace(SERVES, ready=2), []),
        (SERVES, None, ["DashboardsRemoved"]),
    ],
)
async def test_a_state_of_dashboards_is_said_once(
    before: DashboardsStatus | None, after: DashboardsStatus | None, told: list[str]
) -> None:
    live = msgspec.structs.replace(cluster(), status=ClusterStatus(dashboards=before))
    said = Said()
    await Reporter(RecordingApi(live), OPENSEARCH.resource, said, live).report(after, None)  # type: ignore[arg-type]
    assert said.reasons == told


@pytest.mark.parametrize(("known", "secured"), [(None, False), (False, False), (True, True)])
async def test_routes_are_of_a_secured_database_if_it_is_known_to_be_one(known: bool | None, secured: bool) -> None:
    base = cluster()
    security = None if known is None else SecurityStatus(enabled=known)
    live = msgspec.structs.replace(base, status=ClusterStatus(security=security))
    api, unused = RecordingApi(live), dict[str, Any]()
    found = Round(tools(api, OPENSEARCH.resource, Said()), None, live, unused)  # type: ignore[arg-type]
    assert found._secured is secured
