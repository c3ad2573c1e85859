"""Members that are missing: since when, why, and what becomes of them, in `status` and in `explain`."""

import json
from typing import Any

import pytest

from stateward.cli.shared.absent import CAUSES
from stateward.planning.facts.missing_members import Cause
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster

NAME = "logs-hot-1"
ENABLED = {"replacement": {"enabled": True, "after": "1h"}}


def missing(cause: str = "NodeNotReady", spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """Return the cluster with a member that has been missing for half an hour."""
    document = cluster(**status)
    document["spec"] |= spec or {}
    state = document["status"]["memberStates"][1]
    state |= {"state": "Down", "missingReason": cause, "missingSinceTime": "2026-11-21T11:30:00Z", "reason": ""}
    return document


def wait(reason: str, end: str) -> dict[str, Any]:
    message = f"{NAME} is missing since 2026-11-21T11:30:00Z (node n1 is not ready or gone) and {end}"
    return {"waiting": [{"subject": NAME, "reason": reason, "message": message}]}


REMOVAL = {
    "name": NAME,
    "phase": "Draining",
    "startTime": "2026-11-21T11:40:00Z",
    "origin": "Automatic",
    "reason": "missing",
}
FATES = [
    (
        {},
        {},
        f"is not replaced automatically, because spec.replacement is not enabled; `replace {NAME}` replaces it now",
    ),
    (ENABLED, {}, "is replaced when it has been missing for 1h"),
    (
        ENABLED,
        wait("Missing", "is replaced at 12:30 unless it comes back"),
        "is replaced at 12:30 unless it comes back",
    ),
    (ENABLED, wait("ReplacementHeld", "is not replaced yet: b is (c)"), "is not replaced yet: b is (c)"),
    (ENABLED, {"pendingRemovals": [REMOVAL]}, "is being replaced since 2026-11-21T11:40:00Z: Draining"),
    (ENABLED | {"members": {"keep": [NAME]}}, {}, "is never replaced: spec.members.keep names it"),
]


@pytest.mark.parametrize(("spec", "status", "fate"), FATES)
def test_a_missing_member_is_reported_with_its_time_cause_and_outcome(
    run: Run, api: FakeApi, spec: dict[str, Any], status: dict[str, Any], fate: str
) -> None:
    api.add("osclusters", missing(spec=spec, **status))
    shown = run("status", "logs").output
    assert "MISSING     FOR  WHY           NEXT\n" in shown
    assert f"{NAME}  30m  NodeNotReady  {fate}\n" in shown
    told = run("explain", "logs", NAME).output
    assert f"It has been missing for 30m: its Kubernetes node is not ready, or gone.\n  It {fate}.\n" in told


def test_a_missing_member_is_part_of_the_explanation_of_its_cluster(run: Run, api: FakeApi) -> None:
    api.add("osclusters", missing(waiting=[]))
    told = run("explain", "logs").output
    assert f"{NAME} has been missing for 30m: its Kubernetes node is not ready, or gone.\n  It is not" in told
    assert "Nothing is" not in told


def test_a_member_that_stalls_its_cluster_is_explained_once(run: Run, api: FakeApi) -> None:
    document = missing("PodPending", waiting=[], conditions=[stalled(f"{NAME} does not start: x")])
    document["status"]["memberStates"][1]["reason"] = f"{NAME} does not start: x"
    api.add("osclusters", document)
    told = run("explain", "logs").output
    assert f"{NAME} does not start" in told
    assert "missing" not in told


@pytest.mark.parametrize(
    "message", [f"{NAME} runs, and its volume is from a lost cluster", f"{NAME}-0 is in doubt", ""]
)
def test_a_missing_member_is_explained_also_if_something_else_stalls_its_cluster(
    run: Run, api: FakeApi, message: str
) -> None:
    api.add("osclusters", missing(waiting=[], conditions=[stalled(message)]))
    assert f"{NAME} has been missing for 30m" in run("explain", "logs").output


def stalled(message: str) -> dict[str, str]:
    return {"type": "Stalled", "status": "True", "reason": "MemberDoesNotStart", "message": message}


@pytest.mark.parametrize("state", ["Down", "Starting", "Restarting"])
def test_a_member_that_a_step_has_stopped_is_not_called_missing(run: Run, api: FakeApi, state: str) -> None:
    document = missing("NotInCluster", waiting=[])
    stopped = {"state": state, "absence": "Planned", "notServingSinceTime": "2026-11-21T11:59:00Z"}
    document["status"]["memberStates"][1] |= stopped
    api.add("osclusters", document)
    shown = [run(*words).output for words in (("status", "logs"), ("explain", "logs"), ("explain", "logs", NAME))]
    assert json.loads(run("explain", "logs", NAME, "-o", "json").output)["member"]["whatHappens"] == ""
    assert "MISSING" not in shown[0]
    assert "missing for" not in "".join(shown)


def test_a_member_that_is_present_is_not_missing(run: Run) -> None:
    assert "MISSING" not in run("status", "logs").output
    assert "missing" not in run("explain", "logs", "logs-managers-0").output


def test_each_cause_has_a_meaning_and_one_that_is_newer_is_shown_as_it_is(run: Run, api: FakeApi) -> None:
    assert set(CAUSES) == set(Cause)
    api.add("osclusters", missing("NoMoon"))
    assert "It has been missing for 30m: NoMoon.\n" in run("explain", "logs", NAME).output
