"""The audit of dependencies: with a database, with what is kept of an earlier answer, and with neither."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from release import audit
from release.audit import Known, Package, Report, UnansweredError, Weakness, audited, learned, versions

LOCKED = frozenset({"sound==1.0", "weak==2.0"})
WEAK = Package("weak", "2.0", (Weakness("CVE-1", ("2.1", "3.0")),))
SOUND = Package("sound", "1.0")
NOW = 1_800_000_000.0


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "there/audit.json"


def answers(*packages: Package) -> audit.Ask:
    return lambda: Report(packages)


def unreachable() -> Report:
    raise UnansweredError("no route to host")


def test_without_known_weaknesses_all_is_well(cache: Path) -> None:
    code, said = audited(answers(SOUND, Package("weak", "2.0")), LOCKED, cache, NOW)
    assert (code, said) == (0, ["no weakness is known of 2 of 2 packages"])


def test_a_weakness_fails_and_is_named_with_its_repair(cache: Path) -> None:
    assert audited(answers(SOUND, WEAK), LOCKED, cache, NOW) == (1, ["weak==2.0: CVE-1, repaired in 2.1, 3.0"])


def test_what_was_answered_last_counts_without_a_network_and_its_age_is_reported(cache: Path) -> None:
    audited(answers(SOUND, WEAK), LOCKED, cache, NOW)
    code, said = audited(unreachable, LOCKED, cache, NOW + 3 * 86400)
    assert code == 1
    assert said == [
        "the database of weaknesses was not asked: no route to host",
        "what it answered 3.0 days ago counts",
        "weak==2.0: CVE-1, repaired in 2.1, 3.0",
    ]
    code, said = audited(unreachable, frozenset({"sound==1.0", "weak==3.0"}), cache, NOW)
    assert code == 0
    assert said[-2:] == ["it was never asked about weak==3.0", "no weakness is known of 1 of 2 packages"]


@pytest.mark.parametrize("kept", [None, b"", b"{}", b"\xff"])
def test_with_neither_nothing_is_known_and_nothing_fails(cache: Path, kept: bytes | None) -> None:
    if kept is not None:
        cache.parent.mkdir()
        cache.write_bytes(kept)
    code, said = audited(unreachable, LOCKED, cache, NOW)
    assert code == 0
    assert "NOT KNOWN" in said[-1]
    assert not any("no weakness" in line for line in said)


@pytest.mark.parametrize("answer", [(SOUND, Package("weak", skip_reason="not found: weak (2.0)")), ()])
def test_an_answer_with_holes_is_none_and_replaces_no_earlier_one(cache: Path, answer: tuple[Package, ...]) -> None:
    audited(answers(SOUND, WEAK), LOCKED, cache, NOW)
    code, said = audited(answers(*answer), LOCKED, cache, NOW + 86400)
    assert code == 1
    assert said[1:] == ["what it answered 1.0 days ago counts", "weak==2.0: CVE-1, repaired in 2.1, 3.0"]
    assert msgspec.json.decode(cache.read_bytes(), type=Known) == learned(Report((SOUND, WEAK)), LOCKED, NOW)


@pytest.mark.parametrize("printed", ["", "no json", "[]"])
def test_a_program_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch, printed: str) -> None:
    def run(words: list[Any], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, printed, "first\nno such host\n")

    monkeypatch.setattr(audit, "program", Path)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(UnansweredError, match="no such host"):
        audit.ask()


def test_what_the_program_prints_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    vuln = {"id": "CVE-1", "fix_versions": ["2.1", "3.0"], "aliases": [], "description": "…"}
    packages = [{"name": "sound", "version": "1.0", "vulns": []}, {"name": "weak", "version": "2.0", "vulns": [vuln]}]
    printed = msgspec.json.encode({"dependencies": packages, "fixes": []}).decode()
    monkeypatch.setattr(audit, "program", Path)
    monkeypatch.setattr(subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 1, printed, ""))  # pyright: ignore[reportUnknownLambdaType]
    assert audit.ask() == Report((SOUND, WEAK))


def test_the_lock_is_read_whole() -> None:
    lock = audit.RUNTIME.read_text()
    found = versions(lock)
    assert len(found) == sum("==" in line and not line.startswith((" ", "#")) for line in lock.splitlines())
    assert "gotpl==0.1.0" in found
