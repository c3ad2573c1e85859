"""The programs for releases, in an environment of their own: what they depend on is nothing that Stateward needs."""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements/supply.lock"
HOME = ROOT / ".artifacts/supply"
SECONDS = 300


class MissingToolsError(Exception):
    """The programs are not there and could not be fetched."""


def program(name: str) -> Path:
    """Return a program of the locked environment, which is made when it is not there; raises MissingToolsError."""
    stamp, want = HOME / "stamp", hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != want:
        uv = Path(sys.executable).with_name("uv")
        install = [uv, "pip", "sync", "--quiet", "--python", HOME / "bin/python", "--require-hashes", LOCK]
        for words in ([uv, "venv", "--quiet", "--clear", HOME], install):
            try:
                done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise MissingToolsError(str(error)) from error
            if done.returncode:
                raise MissingToolsError((done.stderr.strip().splitlines() or ["no reason was given"])[-1])
        stamp.write_text(want)
    return HOME / "bin" / name
