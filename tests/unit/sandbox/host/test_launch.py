"""A process is started only after its record is on disk."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from sandbox.host.records import Records, alive, wait_until_gone
from sandbox.layout import sources


def _spec(directory: Path, *argv: str) -> dict[str, Any]:
    return {
        "argv": list(argv),
        "record": str(directory / "it.json"),
        "log": str(directory / "it.log"),
        "join": {},
        "unshare": [],
        "setup": [],
        "environment": {"WORD": "hello"},
        "directory": "/",
    }


def _launch(spec: dict[str, Any]) -> int:
    argv = [sys.executable, "-I", "-S", str(sources() / "host/launch.py"), json.dumps(spec)]
    return int(subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout)


def test_the_record_names_the_running_process(tmp_path: Path) -> None:
    pid = _launch(_spec(tmp_path, "/bin/sleep", "60"))
    record = Records(tmp_path).get("it")
    assert record is not None
    assert record.pid == pid
    assert alive(record)
    os.kill(pid, signal.SIGKILL)


def test_a_setup_that_fails_is_reported_in_the_log(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "/bin/sleep", "60")
    spec["setup"] = [["/bin/false"]]
    pid = _launch(spec)
    assert wait_until_gone([pid], 10) == []
    assert "launch: Command '['/bin/false']' returned non-zero" in (tmp_path / "it.log").read_text()


def test_nothing_runs_when_the_record_cannot_be_written(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "/bin/sh", "-c", f"touch {tmp_path}/ran")
    spec["record"] = str(tmp_path / "missing" / "it.json")
    argv = [sys.executable, "-I", "-S", str(sources() / "host/launch.py"), json.dumps(spec)]
    done = subprocess.run(argv, check=False, capture_output=True, timeout=30)
    assert done.returncode != 0
    assert not (tmp_path / "ran").exists()
