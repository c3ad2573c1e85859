"""Logs: one JSON object a line, and no values of variables in a traceback."""

import json
import re
from io import StringIO

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


HOSTILE = 'a\n{"event": "forged"}\x1b[2J\x9b\u202e\u2028\r'


def test_no_text_forges_a_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")
    structlog.get_logger().error(HOSTILE, name=HOSTILE, exc_info=ValueError(HOSTILE), found=[HOSTILE])
    line = capsys.readouterr().err
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert json.loads(line)["name"] == HOSTILE


def test_no_text_makes_a_terminal_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    logs.configure("info")
    structlog.get_logger().error(HOSTILE, name=HOSTILE, exc_info=ValueError(HOSTILE), found=[HOSTILE])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written.getvalue())
    assert all(line.isprintable() for line in plain.splitlines())
    assert len([line for line in plain.splitlines() if "[error" in line]) == 1


def test_an_unknown_level_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'loud' is none of debug, info, warning, error"):
        logs.configure("loud")
