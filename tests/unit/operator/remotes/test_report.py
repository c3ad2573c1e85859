"""The status of remote clusters: since when, how often it is looked at again, and what is said once."""

import pytest
from msgspec.structs import replace

from stateward.api.kinds.access.remote import RemoteAccessStatus, RemoteClusterStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.conditions import condition
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.remotes.reconcile import SETTLED_SECONDS, WAIT_SECONDS, Round, next_round
from stateward.operator.remotes.report import CONNECTED, WAITING, Reporter, dated
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.beside.recorded import RecordingApi, Said, tools

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


async def test_a_cluster_that_searches_no_other_is_not_written_again() -> None:
    live = replace(cluster(), status=ClusterStatus(remote_access=OPEN))
    said, api = Said(), RecordingApi(live)
    await Reporter(api, OPENSEARCH.resource, said, live).report({}, OPEN)  # type: ignore[arg-type]
    assert (said.reasons, api.patches) == ([], [])


@pytest.mark.parametrize(
    ("asked", "known", "place"),
    [
        ("events", None, "prod/events"),
        ("events", [JOINED], "prod/events"),
        # It is removed from the spec.
        (None, [replace(JOINED, cluster="prod/before")], "prod/before"),
    ],
)
async def test_a_failure_is_reported_for_the_cluster_that_an_entry_names_or_named(
    asked: str | None, known: list[RemoteClusterStatus] | None, place: str
) -> None:
    entries = None if asked is None else [{"name": "east", "cluster": {"name": asked}}]
    status = ClusterStatus(conditions=[condition("Ready", status=True, reason="Ready")], remote_clusters=known)
    live = replace(cluster(remoteClusters=entries), status=status)
    said, api = Said(), RecordingApi(live)
    await Round(tools(api, OPENSEARCH.resource, said), live, {}).fail("it fails")
    (patch,) = api.patches
    (written,) = next(each["value"] for each in patch if each["path"] == "/status/remoteClusters")
    assert (written["name"], written["cluster"], written["message"]) == ("east", place, "it fails")
    assert said.reasons == ["RemoteClusterReconcileFailing"]


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
