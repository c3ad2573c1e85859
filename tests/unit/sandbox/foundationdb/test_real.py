"""The programs of a real FoundationDB are found by what the environment names, and by nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.foundationdb import real
from sandbox.foundationdb.programs import program
from sandbox.images import catalog


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in real.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    yield
    real.version_of.cache_clear()


def made(folder: Path, version: str, *names: str) -> Path:
    """Return a server that reports a version as the real one does, with its command line beside it."""
    folder.mkdir()
    for name in names or real.PROGRAMS:
        (folder / name).write_bytes(program(name, version))
        (folder / name).chmod(0o755)
    return folder / "fdbserver"


def test_without_a_name_there_is_none() -> None:
    assert real.versions() == ()
    assert not [name for name in catalog.known() if "real" in name]
    with pytest.raises(SandboxError, match="neither FDBSERVER nor FDBSERVER_NEXT"):
        real.programs("7.3.62")


def test_both_versions_are_images_beside_those_of_the_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FDBSERVER", str(made(tmp_path / "old", "7.3.62")))
    monkeypatch.setenv("FDBSERVER_NEXT", str(made(tmp_path / "new", "7.3.63")))
    assert real.versions() == ("7.3.62", "7.3.63")
    assert real.programs("7.3.63")["fdbcli"] == tmp_path / "new/fdbcli"
    assert catalog.full_name("foundationdb-real:7.3.63").endswith("/foundationdb-real:7.3.63")
    assert catalog.full_name("foundationdb:7.3.63").endswith("/foundationdb:7.3.63")


def test_what_is_no_server_or_has_no_command_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FDBSERVER", str(made(tmp_path / "half", "7.3.62", "fdbserver")))
    with pytest.raises(SandboxError, match="has no fdbcli"):
        real.versions()
    other = made(tmp_path / "other", "7.3.62")
    other.write_text("#!/bin/sh\necho hello\n")
    monkeypatch.setenv("FDBSERVER", str(other))
    with pytest.raises(SandboxError, match="prints no version: hello"):
        real.versions()
    other.write_bytes(b"\x7fELF")
    real.version_of.cache_clear()
    with pytest.raises(SandboxError, match="does not run"):
        real.versions()
