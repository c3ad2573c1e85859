"""The image: its base is held by digest, everything that is installed by hashes, and no clock is in its layers."""

import re
import subprocess
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_LINES = re.sub(r"\\\n\s*", "", (_ROOT / "Dockerfile").read_text()).splitlines()


def _said(word: str) -> list[str]:
    return [line.removeprefix(f"{word} ") for line in _LINES if line.startswith(f"{word} ")]


def test_the_base_is_held_by_its_digest() -> None:
    (base,) = [line for line in _said("ARG") if line.startswith("BASE=")]
    assert re.fullmatch(r"BASE=docker\.io/library/python:3\.\d+-slim@sha256:[0-9a-f]{64}", base)
    assert {line.split()[0] for line in _said("FROM")} == {"${BASE}"}


def test_all_that_is_fetched_is_checked_against_a_hash() -> None:
    installs = [part for line in _said("RUN") for part in line.split("&&") if "pip --python" in part]
    assert len(installs) == 3
    for install in installs:
        # The other one installs the wheel that was made here, without a build environment of its own.
        assert "--require-hashes -r /" in install or install.split()[-2:] == ["--no-deps", "/dist/*.whl"], install


def test_nothing_is_compiled_with_the_times_of_files() -> None:
    runs = " && ".join(_said("RUN"))
    assert runs.count("pip --python /opt/stateward install") == runs.count("--no-compile")
    assert "compileall -q --invalidation-mode unchecked-hash /opt/stateward/lib" in runs


def test_all_that_is_copied_is_let_in() -> None:
    given = (_ROOT / ".dockerignore").read_text().splitlines()
    copied = [word for line in _said("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert copied
    assert {f"!{word}" for word in copied} <= set(given)
    known = subprocess.run(["git", "ls-files", *copied], cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    assert all(any(line.startswith(word) for line in known.splitlines()) for word in copied)
