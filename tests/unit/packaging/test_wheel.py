"""The wheel that users install: built as the documentation says, put into an empty environment, and run there."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_UV = Path(sys.executable).with_name("uv")


def _run(*words: str | Path, directory: Path, **more: str) -> str:
    # Nothing of the checkout is found by way of the environment.
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(word) for word in words],
        check=False,
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment | more,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the programs of an environment with nothing but the wheel and what it asks for."""
    scratch = tmp_path_factory.mktemp("wheel")
    # By way of the source distribution, as `python -m build` does it: so that one is complete, too.
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", scratch / "dist", _ROOT, directory=scratch)
    wheel = next((scratch / "dist").glob("stateward-*.whl"))
    venv.create(scratch / "empty", with_pip=False)
    install = [_UV, "pip", "install", "--quiet", f"--python={scratch}/empty/bin/python"]
    # The locked versions: bootstrap has just fetched them, so this needs no network.
    lock = _ROOT / "requirements" / "runtime.lock"
    _run(*install, "--require-hashes", "-r", lock, directory=scratch)
    _run(*install, "--no-deps", wheel, directory=scratch)
    _run(_UV, "pip", "check", "--quiet", f"--python={scratch}/empty/bin/python", directory=scratch)
    return scratch / "empty" / "bin"


@pytest.mark.parametrize("program", ["stateward", "kubectl-stateward"])
def test_both_programs_run_from_the_wheel_alone(installed: Path, program: str) -> None:
    assert "Usage:" in _run(installed / program, "--help", directory=installed)


def test_the_wheel_alone_prints_what_is_to_be_installed(installed: Path) -> None:
    printed = _run(installed / "stateward", "manifests", directory=installed)
    assert "kind: CustomResourceDefinition" in printed
    assert "kind: Deployment" in printed


def test_the_tour_plays_from_the_wheel_alone_and_serves_its_page(installed: Path) -> None:
    words = [installed / "stateward", "tour", "--speed", "1000"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(installed)}
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=installed, env=environment)
    assert done.returncode == 0, done.stderr
    assert "The page: http://127.0.0.1:" in done.stdout
    assert "documents acknowledged, all found again" in done.stdout


def test_the_same_source_makes_the_same_bytes_at_any_place_and_time(tmp_path: Path) -> None:
    made = [_built(tmp_path / name, mask, clock) for name, mask, clock in (("a", 0o022, 0), ("b/deeper", 0o077, 10**9))]
    assert made[0].keys() == made[1].keys()
    assert len(made[0]) == 2
    for name, content in made[0].items():
        assert content == made[1][name], f"{name} differs"


def _built(place: Path, mask: int, clock: int) -> dict[str, bytes]:
    """Return wheel and source distribution of a copy of the sources with another mask and times of its files."""
    words = ["git", "-C", str(_ROOT), "ls-files", "-z", "--", "pyproject.toml", "README.md", "LICENSE", "charts", "src"]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, listed):
        target = place / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((_ROOT / name).read_bytes())
        target.chmod(0o666 & ~mask | (_ROOT / name).stat().st_mode & 0o100)
        os.utime(target, (10**9 + clock, 10**9 + clock))
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", place / "source")
    _run(*build, directory=place, SOURCE_DATE_EPOCH="1700000000")
    return {each.name: each.read_bytes() for each in (place / "dist").iterdir()}
