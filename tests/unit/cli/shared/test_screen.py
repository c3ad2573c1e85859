"""What is printed: square brackets as they are, and no message when the reader of a pipe has gone."""

import os
import subprocess
import sys

import pytest

from stateward.cli.shared.output import plural_of
from stateward.cli.shared.picture import columns
from stateward.cli.shared.screen import show

RUN = "from stateward.cli.main import main; main()"


def test_square_brackets_are_text_and_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    table = columns("FIELD")
    table.add_row("spec.pools[hot].storage[0] must be [1, 9]")
    show(table)
    show("logs[0] waits")
    printed = capsys.readouterr().out
    assert "spec.pools[hot].storage[0] must be [1, 9]" in printed
    assert "logs[0] waits" in printed


def test_without_a_terminal_each_row_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    table = columns("CLUSTER", "DOING")
    table.add_row("logs", "waits for a long reason " * 40)
    table.add_row("audit", "the cluster matches its spec")
    show(table)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_kinds_have_their_plural() -> None:
    assert [plural_of(kind) for kind in ("Node", "StorageClass", "NetworkPolicy")] == [
        "Nodes",
        "StorageClasses",
        "NetworkPolicies",
    ]


def test_a_reader_that_stops_early_gets_no_error_message() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", RUN, "manifests", "--image", "registry.example/stateward:1"]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 1
