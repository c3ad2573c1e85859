"""The stand-in's programs are single files that run by themselves, wherever they are copied to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.foundationdb.programs import program
from tests.support.own import lasting_port


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Both programs of 7.3.63 in a directory that has nothing else."""
    for name in ("fdbserver", "fdbcli"):
        (tmp_path / name).write_bytes(program(name, "7.3.63"))
    return tmp_path


def run(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-IB", str(directory / words[0]), *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_same_sources_give_the_same_program() -> None:
    assert program("fdbcli", "7.1.67") == program("fdbcli", "7.1.67")
    assert program("fdbcli", "7.1.67") != program("fdbcli", "7.3.63")
    assert program("fdbcli", "7.1.67").startswith(b"#!/usr/bin/python3")


def test_the_objects_are_labelled_with_their_purpose(copied: Path) -> None:
    for name in ("fdbserver", "fdbcli"):
        assert run(copied, name, "--version").stdout.startswith("FoundationDB 7.3 (v7.3.63)")


def test_without_coordinators_there_is_a_status_and_nothing_else(copied: Path) -> None:
    file = copied / "fdb.cluster"
    file.write_text(f"test:first@127.0.0.1:{lasting_port()}\n")
    done = run(copied, "fdbcli", "-C", str(file), "--exec", "status json")
    assert done.returncode == 0
    assert not json.loads(done.stdout)["client"]["database_status"]["available"]
    done = run(copied, "fdbcli", "-C", str(file), "--timeout", "1", "--exec", "exclude 10.0.0.1:4500")
    assert (done.returncode, done.stderr.strip()) == (1, "Specified timeout reached -- exiting...")


def test_a_process_with_wrong_options_ends_and_says_why(copied: Path) -> None:
    done = run(copied, "fdbserver", "--class", "storage")
    assert (done.returncode, "public address" in done.stderr) == (1, True)
