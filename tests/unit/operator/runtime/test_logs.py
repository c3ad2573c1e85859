"""Logs: one JSON object a line, and no values of variables in a traceback."""

import json

import pytest
import structlog

from stateward.operator.runtime import logs


def test_a_traceback_in_the_log_shows_no_values(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")
    password = "correct horse"
    try:
        _ = {}[len(password)]
    except KeyError as error:
        structlog.get_logger().error("failed", exc_info=error)
    line = capsys.readouterr().err
    assert json.loads(line)["event"] == "failed"
    assert "KeyError" in line
    assert password not in line


def test_an_unknown_level_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'loud' is none of debug, info, warning, error"):
        logs.configure("loud")
