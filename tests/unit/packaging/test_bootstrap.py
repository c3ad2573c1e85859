"""`bin/bootstrap`, the first that runs on a new machine: what is missing there is one line, and later it goes on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_TOOLS = ("bash", "cat", "cut", "dirname", "env", "grep", "id", "mktemp", "rm", "sha256sum", "sleep", "tail", "mkdir")
_PYTHON = """\
#!/bin/bash
# Plays Python: $BROKEN is what does not work on this machine.
case "$*" in
--version) echo Python 3.12.1 ;;
*version_info*) [ "$BROKEN" != version ] ;;
*ensurepip*) [ "$BROKEN" != venv ] ;;
"-m venv"*) mkdir -p .venv/bin; for name in python uv; do cat "$0" > .venv/bin/$name; chmod 755 .venv/bin/$name; done ;;
*) echo "did: ${0##*/} $1 $2 $3" >> did; [ "$BROKEN" != "${0##*/}" ] || { echo "no route to host" >&2; exit 2; } ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a checkout on a machine with a few tools and a Python that is played."""
    (tmp_path / "checkout" / "bin").mkdir(parents=True)
    shutil.copy(_ROOT / "bin" / "bootstrap", tmp_path / "checkout" / "bin")
    shutil.copytree(_ROOT / "requirements", tmp_path / "checkout" / "requirements")
    shutil.copy(_ROOT / "pyproject.toml", tmp_path / "checkout")
    (tmp_path / "tools").mkdir()
    for name in (*_TOOLS, "chmod"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "tools" / name).symlink_to(found)
    (tmp_path / "tools" / "python3").write_text(_PYTHON)
    (tmp_path / "tools" / "python3").chmod(0o755)
    return tmp_path / "checkout"


def _bootstrap(checkout: Path, broken: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": str(checkout.parent / "tools"), "BROKEN": broken, "HOME": str(checkout.parent)}
    command = [str(checkout / "bin" / "bootstrap")]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("version", "no Python 3.11 or newer found; install one (apt-get install python3) or set PYTHON="),
        ("python", "pip could not install uv; is there a network? (it said: no route to host)"),
        ("uv", "uv could not install requirements/dev.lock; is there a network? (it said: no route to host)"),
    ],
)
def test_what_is_missing_is_one_line_and_it_continues_when_it_is_there(checkout: Path, broken: str, said: str) -> None:
    done = _bootstrap(checkout, broken)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1
    again = _bootstrap(checkout)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines()[-1].startswith("==> ready: .venv")
    assert "did: uv pip sync --quiet" in (checkout / "did").read_text()


def test_without_venv_it_is_installed_or_requested(checkout: Path) -> None:
    done = _bootstrap(checkout, "venv")
    assert done.returncode == 1
    if os.geteuid() == 0:
        assert done.stderr.startswith("error: apt-get could not install python3-venv; is there a network? (it said: ")
    else:
        assert done.stderr == "error: python3 has no venv module; install it (apt-get install python3-venv)\n"


def test_the_second_time_it_does_nothing(checkout: Path) -> None:
    assert _bootstrap(checkout).stdout
    (checkout / "did").unlink()
    again = _bootstrap(checkout)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert not (checkout / "did").exists()
