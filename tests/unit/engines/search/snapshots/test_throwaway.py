"""The throw-away cluster in which a snapshot is verified, and the next step: decided without any I/O."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.search import OpenSearchCluster, Pool
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.verification import SnapshotVerification
from stateward.engines.search.snapshots import throwaway
from stateward.engines.search.snapshots.verification import Do, Part, Seen, Wanted, decide, refused
from stateward.planning.model.times import parse_time
from tests.unit.operator.declared.snapshots.verifying import VERIFY
from tests.unit.operator.declared.world import CLUSTER, HOME

SCHEDULE: dict[str, Any] = {
    "metadata": {"name": "hourly", "namespace": HOME, "uid": "u"},
    "spec": {
        "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
        "repository": "files",
        "schedule": "0 * * * *",
        "verify": VERIFY,
    },
}


@pytest.mark.parametrize(
    ("known", "asked", "secured"),
    [
        (True, None, True),
        (None, True, True),
        (False, True, True),
        (True, False, True),
        (False, None, False),
        (None, False, False),
        (None, None, None),
    ],
)
def test_it_is_secured_wherever_the_source_is_or_is_to_be(
    known: bool | None, asked: bool | None, secured: bool | None
) -> None:
    status = {} if known is None else {"security": {"enabled": known}}
    spec = {**CLUSTER["spec"], "security": {"enabled": asked}}
    cluster = msgspec.convert({**CLUSTER, "spec": spec, "status": status}, OpenSearchCluster)
    source = throwaway.Source(cluster, spec)
    schedule = msgspec.convert(SCHEDULE, SearchSnapshotSchedule)
    assert schedule.spec.verify is not None
    made = throwaway.cluster(schedule, schedule.spec.verify, source)["spec"]
    assert made.get("security") == (None if secured is None else {"enabled": secured})


@pytest.mark.parametrize(
    ("snapshot", "asked", "size"),
    [
        (None, None, "1Gi"),
        (100 << 20, None, "1Gi"),
        (3 << 30, None, "5Gi"),
        (3 << 30, "2Gi", "2Gi"),
    ],
)
def test_the_volume_has_room_for_the_snapshot(snapshot: int | None, asked: str | None, size: str) -> None:
    pool = msgspec.convert(CLUSTER["spec"]["pools"][0], Pool)
    verify = SnapshotVerification(schedule="0 0 * * *", storage_size=asked)
    assert throwaway.storage_size(verify, pool, snapshot) == {"size": size}


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True))
def test_every_schedule_has_a_valid_cluster_name_of_its_own(name: str) -> None:
    found = throwaway.cluster_name(name)
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", found)
    assert len(found) <= throwaway.LONGEST
    assert throwaway.cluster_name(f"{name}a") != found


def test_a_repository_that_is_no_longer_declared_is_named_while_the_cluster_is_there() -> None:
    running = {"snapshot": "hourly-1", "startTime": "2026-01-01T00:00:00Z"}
    schedule = msgspec.convert({**SCHEDULE, "status": {"verification": running}}, SearchSnapshotSchedule)
    began = parse_time("2026-01-01T00:00:00Z")
    assert began is not None
    step = decide(Wanted(schedule, began + 60), Seen(allowed=True, cluster=Part("uid", ours=True)))
    assert step.do is Do.WAIT
    assert step.status.reason == "RepositoryNotDeclared"


@pytest.mark.parametrize(("minutes", "ended"), [(59, False), (61, True)])
def test_a_step_that_is_refused_ends_at_the_time_limit_like_any_other(minutes: int, ended: bool) -> None:
    running = {"snapshot": "hourly-1", "startTime": "2026-01-01T00:00:00Z"}
    spec = {**SCHEDULE["spec"], "verify": {**VERIFY, "timeLimit": "1h"}}
    schedule = msgspec.convert({**SCHEDULE, "spec": spec, "status": {"verification": running}}, SearchSnapshotSchedule)
    began = parse_time("2026-01-01T00:00:00Z")
    assert began is not None
    found = refused(Wanted(schedule, began + minutes * 60), "exceeded quota")
    assert (found.ended, found.reason) == (ended, "" if ended else "VerificationRefused")
    assert (found.last_failure is not None) is ended
