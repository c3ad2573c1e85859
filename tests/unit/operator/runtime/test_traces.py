"""Traces: what a collector gets, and that nothing waits for one that is not there."""

import socket
import time
from contextlib import suppress
from typing import Any

import click
import pytest
from click.testing import CliRunner

from stateward.cli.run.operator import Endpoint
from stateward.operator.runtime.traces import CLOSING, HEADERS, headers, open_traces, span
from tests.unit.operator.runtime.collector import collector, spans_of, text


def test_a_collector_gets_the_parts_of_a_reconciliation_as_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADERS, "Authorization=Bearer%20abc")
    facts: dict[str, Any] = {"name": "logs", "urgent": True, "members": 3}
    with collector() as (url, received), open_traces(f"{url}/", "operator-1"), span("reconcile", **facts):
        with span("plan"):
            pass
        with suppress(ValueError), span("action", why="it is full"):
            raise ValueError("no room")
    path, sent, body = received[0]
    assert (path, sent["Authorization"]) == ("/v1/traces", "Bearer abc")
    resource = body["resourceSpans"][0]["resource"]
    assert (text(resource, "service.name"), text(resource, "service.instance.id")) == ("stateward", "operator-1")
    found = spans_of(received)
    root = found["reconcile"]
    assert text(root, "stateward.name") == "logs"
    assert {"key": "stateward.members", "value": {"intValue": "3"}} in root["attributes"]
    assert {"key": "stateward.urgent", "value": {"boolValue": True}} in root["attributes"]
    assert "parentSpanId" not in root
    for part in ("plan", "action"):
        assert (found[part]["traceId"], found[part]["parentSpanId"]) == (root["traceId"], root["spanId"])
    assert found["action"]["status"] == {"code": 2, "message": "ValueError: no room"}
    assert root["status"]["code"] == 0
    assert int(root["startTimeUnixNano"]) <= int(found["plan"]["startTimeUnixNano"])
    assert int(found["action"]["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])


@pytest.mark.parametrize("status", [None, 503])
def test_a_collector_that_is_not_there_or_refuses_loses_spans_and_stops_nothing(status: int | None) -> None:
    done = False
    if status is None:
        with open_traces("http://127.0.0.1:9", "operator-1"), span("reconcile"):
            done = True
    else:
        with collector(status) as (url, received):
            with open_traces(url, "operator-1"), span("reconcile"):
                done = True
            assert spans_of(received)
    assert done


def test_a_collector_that_does_not_answer_keeps_no_process_from_its_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with open_traces(f"http://127.0.0.1:{silent.getsockname()[1]}", "operator-1"), span("reconcile"):
            pass
        assert time.monotonic() - began < CLOSING + 3


def test_without_an_endpoint_nothing_is_recorded() -> None:
    with collector() as (_, received), open_traces("", "operator-1"), span("reconcile") as made:
        assert not made.is_recording()
    assert not received


def test_after_the_block_nothing_is_recorded_either() -> None:
    with collector() as (url, received):
        with open_traces(url, "operator-1"):
            pass
        with span("late") as made:
            assert not made.is_recording()
    assert not received


def test_headers_are_read_as_opentelemetry_writes_them() -> None:
    assert headers("") == {}
    assert headers("a=b, c = d%2Ce ,broken,=x") == {"a": "b", "c": "d,e"}


@pytest.mark.parametrize("url", ["collector:4318", "file:///etc/passwd", "http://", "ftp://collector"])
def test_the_flag_takes_urls_of_http_only(url: str) -> None:
    command = click.Command("x", params=[click.Option(["--traces-endpoint"], type=Endpoint())])
    told = CliRunner().invoke(command, ["--traces-endpoint", url])
    assert told.exit_code == 2
    assert "is not a URL such as http://collector:4318" in told.output
    assert CliRunner().invoke(command, ["--traces-endpoint", "https://collector.example/otlp"]).exit_code == 0
