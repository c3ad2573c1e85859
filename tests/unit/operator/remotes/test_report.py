"""The status of remote clusters: since when, how often it is looked at again, and what is said once."""

import pytest
from msgspec.structs import replace

from stateward.api.kinds.access.remote import RemoteAccessStatus, RemoteClusterStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.remotes.reconcile import SETTLED_SECONDS, WAIT_SECONDS, next_round
from stateward.operator.remotes.report import CONNECTED, WAITING, Reporter, dated
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.beside.recorded import RecordingApi, Said

THEN, NOW = "1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"
JOINED = RemoteClusterStatus(name="east", state=CONNECTED, since_time=THEN)
WAITS = RemoteClusterStatus(name="east", state=WAITING, reason="RemoteClusterConnecting", since_time=THEN)
OPEN, TAKEN = RemoteAccessStatus(address="logs-remote:9300"), RemoteAccessStatus(reason="RemoteAccessNameTaken")
INVALID = RemoteAccessStatus(reason="RemoteAccessInvalid")


@pytest.mark.parametrize(
    ("before", "after", "since"),
    [
        (None, JOINED, NOW),
        (JOINED, JOINED, THEN),
        (WAITS, JOINED, NOW),
        (WAITS, replace(WAITS, reason="RemoteClusterMissing"), NOW),
        (replace(JOINED, since_time=""), JOINED, NOW),
    ],
)
def test_the_time_of_a_state_stays_while_state_and_reason_stay(
    before: RemoteClusterStatus | None, after: RemoteClusterStatus, since: str
) -> None:
    assert dated(before, replace(after, since_time=""), 120.0).since_time == since


@pytest.mark.parametrize(
    ("found", "access", "seconds"),
    [
        ({}, None, None),
        ({"east": JOINED}, None, SETTLED_SECONDS),
        ({}, OPEN, SETTLED_SECONDS),
        ({"east": WAITS}, OPEN, WAIT_SECONDS),
        ({"east": JOINED, "west": WAITS}, None, WAIT_SECONDS),
        ({"east": JOINED}, TAKEN, WAIT_SECONDS),
    ],
)
def test_what_waits_is_looked_at_sooner(
    found: dict[str, RemoteClusterStatus], access: RemoteAccessStatus | None, seconds: float | None
) -> None:
    assert next_round(found, access) == seconds


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, TAKEN, ["RemoteAccessNameTaken"]),
        (OPEN, TAKEN, ["RemoteAccessNameTaken"]),
        (INVALID, TAKEN, ["RemoteAccessNameTaken"]),
        (TAKEN, TAKEN, []),
        (TAKEN, OPEN, []),
        (TAKEN, None, []),
    ],
)
async def test_why_others_cannot_reach_the_cluster_is_said_once(
    before: RemoteAccessStatus | None, after: RemoteAccessStatus | None, told: list[str]
) -> None:
    live = replace(cluster(), status=ClusterStatus(remote_access=before, remote_clusters=[JOINED]))
    said, api = Said(), RecordingApi(live)
    reporter = Reporter(api, OPENSEARCH.resource, said, live)  # type: ignore[arg-type]
    await reporter.report({"east": replace(JOINED, cluster="moved")}, after)
    assert said.reasons == told
    assert len(api.patches) == 1
