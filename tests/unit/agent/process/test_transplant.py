"""The copy runs where there is nothing: no Python, no shell, no libraries."""

import marshal
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from stateward.agent import VERSION
from stateward.agent.process import handover, transplant
from tests.unit.agent.pod import ISOLATED, Pod

MEGABYTE = 1024 * 1024


def test_a_copy_is_small(release: Path) -> None:
    size = sum(path.lstat().st_size for path in release.rglob("*") if not path.is_symlink())
    assert size < 60 * MEGABYTE


def test_copying_again_changes_nothing_and_takes_little(release: Path) -> None:
    before = release.stat().st_ino
    used = os.times()
    assert transplant.copy(release.parent) == release
    now = os.times()
    assert release.stat().st_ino == before
    assert (release.parent / "current").resolve() == release
    assert sum(now[:4]) - sum(used[:4]) < 2  # seconds of processor, also those of the children


def test_a_module_that_was_compiled_in_another_way_is_no_damage(release: Path, tmp_path: Path) -> None:
    """The disaster this prevents: the copy that an agent runs from is removed although nothing in it differs."""
    subprocess.run(["cp", "-a", str(release), str(tmp_path)], check=True)
    (compiled,) = (tmp_path / release.name).glob("lib/python*/stateward/agent/__pycache__/agent.*.pyc")
    data = compiled.read_bytes()
    compiled.chmod(0o644)
    compiled.write_bytes(data[:16] + marshal.dumps(marshal.loads(data[16:]), 2))  # noqa: S302
    assert compiled.read_bytes() != data
    before = (tmp_path / release.name).stat().st_ino
    assert transplant.copy(tmp_path).stat().st_ino == before


@pytest.mark.parametrize(
    "name",
    ["ld.so", "lib/python*/stateward/agent/agent.py", "lib/python*/stateward/agent/__pycache__/agent.*.pyc"],
)
def test_a_copy_that_a_power_failure_has_damaged_is_replaced(release: Path, tmp_path: Path, name: str) -> None:
    subprocess.run(["cp", "-a", str(release), str(tmp_path)], check=True)
    damaged = next((tmp_path / release.name).glob(name)).resolve()
    whole = transplant._content(damaged)
    damaged.chmod(0o644)
    damaged.write_bytes(b"")
    assert transplant.copy(tmp_path) == tmp_path / release.name
    assert transplant._content(damaged) == whole


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root directory")
def test_it_runs_in_an_empty_root_directory(pod: Pod, release: Path) -> None:
    """Nothing but the copy, its files and /proc; the database is the copy's own interpreter. The memory is measured."""
    (pod.root / "proc").mkdir()
    (pod.root / "agent").mkdir()
    subprocess.run(["cp", "-al", str(release), str(pod.root / "agent" / "a")], check=True)
    pod.prefix = [*ISOLATED[:-2], f"--mount-proc={pod.root}/proc", "--kill-child", "chroot", str(pod.root)]
    pod.launcher = handover.command(Path("/agent/a"))
    python = [
        *handover.command(Path("/agent/a"))[:4],
        "-ISB",
        "-c",
        "print('up', flush=True); import signal; signal.pause()",
    ]
    arguments = pod.arguments
    pod.arguments = lambda *given: [word.replace(str(pod.root), "") for word in arguments(*given)]  # type: ignore[method-assign]
    pod.run(python).expect("up")
    for _ in range(5):
        assert pod.get()["state"] == "running"
    assert pod.get()["agentVersion"] == VERSION
    resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pod.pid}/status").read_text())
    assert resident is not None
    assert int(resident[1]) < 20 * 1024
    pod.signal(15)
    assert pod.wait() == 143


def test_only_the_newest_copies_are_left(release: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", str(release), str(tmp_path / "0.0.1-aaa")], check=True)
    subprocess.run(["cp", "-a", str(release), str(tmp_path / "0.0.2-bbb")], check=True)
    (tmp_path / "current").symlink_to("0.0.2-bbb")
    new = transplant.copy(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.0.2-bbb", new.name, "current"]


def test_a_start_is_fast(release: Path) -> None:
    begun = time.monotonic()
    done = subprocess.run([*handover.command(release), "version"], check=True, capture_output=True, env={})
    assert done.stdout.decode().strip() == VERSION
    assert time.monotonic() - begun < 10


def test_a_wrong_command_line_is_explained_by_the_copy(release: Path) -> None:
    words = [*handover.command(release), "run", "--grace", "x", "--", "/db"]
    done = subprocess.run(words, capture_output=True, env={}, check=False)
    assert done.returncode == 2
    assert b"'x' is not a number of seconds" in done.stderr
