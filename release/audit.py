"""`python -m release.audit`: says which weaknesses are known of what Stateward runs with.

What was answered last is kept, so that a machine without a network goes by it, and says how old it is. A package of
which nothing could be learned is never one without weaknesses.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from release.tools import ROOT, MissingToolsError, program

RUNTIME = ROOT / "requirements/runtime.lock"
CACHE = ROOT / ".artifacts/audit.json"
DAY = 86400.0
SECONDS = 120


class UnansweredError(Exception):
    """The database of weaknesses could not be asked."""


class Weakness(Struct, frozen=True):
    """What is known of one version of a package."""

    id: str
    fix_versions: tuple[str, ...] = ()


class Package(Struct, frozen=True):
    """A package, and what is known of its version; without one, why nothing is."""

    name: str
    version: str = ""
    vulns: tuple[Weakness, ...] = ()
    skip_reason: str = ""


class Report(Struct, frozen=True):
    """What pip-audit prints."""

    dependencies: tuple[Package, ...]


class Known(Struct, frozen=True):
    """What was answered, by `name==version`, and when in seconds since 1970."""

    asked: float
    weaknesses: Mapping[str, tuple[Weakness, ...]]


Ask = Callable[[], Report]


def ask() -> Report:
    """Return what the database knows now; raises UnansweredError."""
    try:
        words = [program("pip-audit"), "--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json"]
    except MissingToolsError as error:
        raise UnansweredError(f"pip-audit could not be fetched: {error}") from error
    words += ["-r", RUNTIME]
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnansweredError(f"pip-audit could not be run: {error}") from error
    try:
        return msgspec.json.decode(done.stdout, type=Report)
    except msgspec.DecodeError as error:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise UnansweredError(f"pip-audit says {said[:300]}") from error


def audited(asked: Ask, locked: frozenset[str], cache: Path, now: float) -> tuple[int, list[str]]:
    """Return the exit code and what to say of packages, given as `name==version`."""
    said: list[str] = []
    try:
        known = learned(asked(), locked, now)
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_bytes(msgspec.json.encode(known))
    except UnansweredError as error:
        said.append(f"the database of weaknesses was not asked: {error}")
        try:
            known = msgspec.json.decode(cache.read_bytes(), type=Known)
        except (OSError, msgspec.DecodeError):
            said.append("nothing is kept of an earlier answer: it is NOT KNOWN whether dependencies have weaknesses")
            return 0, said
        said.append(f"what it answered {(now - known.asked) / DAY:.1f} days ago counts")
    found = [(name, each) for name in sorted(locked) for each in known.weaknesses.get(name, ())]
    said += [f"{name}: {each.id}, repaired in {', '.join(each.fix_versions) or 'no version'}" for name, each in found]
    if unasked := sorted(locked - known.weaknesses.keys()):
        said.append(f"it was never asked about {', '.join(unasked)}")
    if not found:
        said.append(f"no weakness is known of {len(locked) - len(unasked)} of {len(locked)} packages")
    return (1 if found else 0), said


def learned(report: Report, locked: frozenset[str], now: float) -> Known:
    """Return an answer as it is kept; raises UnansweredError for one with holes."""
    skipped = [each for each in report.dependencies if each.skip_reason]
    if skipped:
        raise UnansweredError(f"{len(skipped)} packages could not be looked up, such as {skipped[0].skip_reason[:200]}")
    known = {f"{each.name}=={each.version}": each.vulns for each in report.dependencies}
    if not known.keys() & locked:
        raise UnansweredError("the answer has none of the packages")
    return Known(now, known)


def versions(lock: str) -> frozenset[str]:
    """Return what a lock holds, as `name==version`; conditions by platform count as met."""
    lines = (line.split()[0] for line in lock.splitlines() if line[:1].isalnum())
    return frozenset(line for line in lines if "==" in line)


def main() -> int:
    """Ask, say what is known, and return 1 for known weaknesses."""
    code, said = audited(ask, versions(RUNTIME.read_text()), CACHE, time.time())
    print("\n".join(said))
    return code


if __name__ == "__main__":
    sys.exit(main())
