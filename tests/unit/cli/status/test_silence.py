"""Without an operator the status of a cluster stays as it was, green for example, so the commands warn."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.cli.fake_api import NOW, FakeApi, Run
from tests.unit.cli.samples import cluster

COMMANDS = pytest.mark.parametrize("words", [("status", "logs"), ("explain", "logs"), ("list",)], ids=str)


def lease(seconds: float, holder: str = "stateward-0", **meta: Any) -> dict[str, Any]:
    """Return a lease that was renewed so many seconds ago."""
    renewed = (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "metadata": {"name": "stateward", "namespace": "stateward-system", **meta},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
    }


@COMMANDS
def test_a_status_that_no_operator_keeps_up_to_date_is_named(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    api.add("leases", lease(720))
    result = run(*words)
    assert result.exit_code == 0
    assert "no operator has held the lease stateward in namespace stateward-system for 12m." in result.stderr
    assert "warning" not in result.stdout


@COMMANDS
def test_an_operator_that_has_ended_in_an_orderly_way_is_no_longer_there(
    run: Run, api: FakeApi, words: tuple[str, ...]
) -> None:
    api.add("leases", lease(720, holder="") | {})
    assert "What you see is its last report" in run(*words).stderr


@COMMANDS
@pytest.mark.parametrize("seconds", [-30, 0, 14, 70])
def test_an_operator_that_works_or_is_being_replaced_causes_no_warning(
    run: Run, api: FakeApi, words: tuple[str, ...], seconds: float
) -> None:
    api.add("leases", lease(seconds))
    assert run(*words).stderr == ""


@COMMANDS
def test_what_a_user_may_not_read_is_not_guessed(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    api.add("leases", lease(720))
    api.denied.add("leases")
    assert run(*words).stderr == ""


@COMMANDS
def test_the_operator_of_a_wave_has_another_lease(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    api.add("leases", lease(720))
    claimed = cluster()
    claimed["metadata"]["annotations"] = {"stateward.dev/managed-by-wave": "canary"}
    api.add("osclusters", claimed)
    assert run(*words).stderr == ""


def test_another_namespace_of_the_operator_can_be_named(run: Run, api: FakeApi) -> None:
    api.add("leases", lease(720, namespace="operators"))
    assert run("status", "logs").stderr == ""
    assert "in namespace operators for 12m" in run("status", "logs", "--operator-namespace", "operators").stderr


def test_documents_for_programs_stay_whole(run: Run, api: FakeApi) -> None:
    api.add("leases", lease(720))
    assert json.loads(run("status", "logs", "-o", "json").stdout)["name"] == "logs"
