"""`logs`: what the operator decided about one cluster, and what a member's database writes."""

import json
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from stateward.cli.diagnosis.logs import followed_together
from stateward.cli.shared.failures import ExitCode
from stateward.cli.shared.session import Session
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from tests.unit.cli.diagnosis.objects import MEMBER_LOG, OPERATOR_LOG, with_operator
from tests.unit.cli.fake_api import FakeApi, Run


def test_the_log_of_the_operator_has_only_entries_about_the_cluster(run: Run, api: FakeApi) -> None:
    with_operator(api)
    assert run("logs", "logs").output == (
        "2026-11-21T11:59:40Z info    action  member=h1\n2026-11-21T11:59:42Z warning looking again\n"
    )
    assert run("logs", "logs", "--tail", "1").output == "2026-11-21T11:59:42Z warning looking again\n"
    entries = [json.loads(line) for line in run("logs", "logs", "-o", "json").output.splitlines()]
    assert [entry["event"] for entry in entries] == ["action", "looking again"]


def test_the_log_of_a_member_is_that_of_its_database_process(run: Run, api: FakeApi) -> None:
    api.requests[MEMBER_LOG] = "started\nready\n"
    assert run("logs", "logs", "hot-1", "--tail", "5", "--since", "10m", "-p").output == "started\nready\n"
    query = {"container": "opensearch", "tailLines": "5", "sinceSeconds": "600", "previous": "true"}
    assert api.queries == [(MEMBER_LOG, query)]
    assert run("logs", "logs", "hot-1", "-f").output == "started\nready\n"


def test_a_member_without_a_pod_and_options_without_a_member_are_told(run: Run) -> None:
    assert "logs-hot-1 has no pod now; `explain logs logs-hot-1` says why" in run("logs", "logs", "hot-1").stderr
    assert run("logs", "logs", "-p").exit_code == ExitCode.USAGE
    assert "has no member 'cold-9'" in run("logs", "logs", "cold-9").stderr


def test_what_keeps_the_operators_log_away_is_told(run: Run, api: FakeApi) -> None:
    assert "there is no operator in namespace 'stateward-system'" in run("logs", "logs").stderr
    api.denied = {"pods"}
    said = run("logs", "logs")
    assert said.exit_code == 1
    assert "ask for the right to get pods/log there, or name a MEMBER" in said.stderr


def test_a_followed_log_shows_only_entries_about_the_cluster(run: Run, api: FakeApi) -> None:
    with_operator(api)
    said = run("logs", "logs", "-f", "--tail", "1").output
    assert said.count("looking again") == 2  # the last entry, and the log that the server then sends
    assert "prod/logs" not in said
    assert [query for path, query in api.queries if path == OPERATOR_LOG][-1]["follow"] == "true"


def test_the_log_is_followed_in_all_pods_of_the_operator_because_only_one_of_them_works(run: Run, api: FakeApi) -> None:
    with_operator(api)
    with_operator(api, name="stateward-1")
    api.requests[OPERATOR_LOG] = "this process stands by\n"
    said = run("logs", "logs", "-f", "--tail", "1").output
    assert said.count("looking again") == 2  # the last entry, and the log that the server then sends


def test_a_pod_of_the_operator_that_does_not_start_hides_no_log_of_the_others(run: Run, api: FakeApi) -> None:
    with_operator(api)
    with_operator(api, name="stateward-1")
    del api.requests[OPERATOR_LOG.replace("stateward-0", "stateward-1")]
    for words in ((), ("-f",)):
        result = run("logs", "logs", *words)
        assert (result.exit_code, "looking again" in result.stdout) == (0, True)
        assert "not included: the log of stateward-1: " in result.stderr


async def test_an_error_of_one_followed_log_is_told() -> None:
    async def refused(request: RawRequest) -> AsyncGenerator[bytes]:
        yield b"first"
        raise NotFound(f"{request.path} is gone")

    session = Session(cast("Api", FakeApi()), "default", lines=refused)
    lines = followed_together(session, [Key("ns", "pod")], {})
    assert await anext(lines) == "first"
    with pytest.raises(NotFound, match="is gone"):
        await anext(lines)
