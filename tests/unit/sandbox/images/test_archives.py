"""A server's zip becomes a layer in its place, for its user."""

import zipfile
from pathlib import Path

import pytest

from sandbox.images.archives import append, replace, substitute, unpacked


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "server.zip"
    with zipfile.ZipFile(path, "w") as content:
        content.writestr("server-1/bin/start", "#!/bin/sh\n")
        content.writestr("server-1/bin/start.bat", "")
        content.writestr("server-1/config/server.yml", "a: 1\n")
        content.writestr("server-1/lib/server.jar", "jar")
    return path


def test_it_lies_under_the_target_without_its_own_top_and_without_windows(archive: Path) -> None:
    entries = {entry.path: entry for entry in unpacked(archive, "usr/share/server", owner=1000, edits={})}
    assert set(entries) == {
        "usr/share/server/bin/start",
        "usr/share/server/config/server.yml",
        "usr/share/server/lib/server.jar",
    }
    assert entries["usr/share/server/bin/start"].mode == 0o775
    assert entries["usr/share/server/lib/server.jar"].mode == 0o664
    assert all(entry.owner == 1000 for entry in entries.values())


def test_files_are_edited_on_the_way(archive: Path) -> None:
    edits = {"config/server.yml": replace(b"b: 2\n"), "bin/start": append(b"exit 0\n")}
    entries = {entry.path: entry.content for entry in unpacked(archive, "s", owner=0, edits=edits)}
    assert entries["s/config/server.yml"] == b"b: 2\n"
    assert entries["s/bin/start"] == b"#!/bin/sh\nexit 0\n"


def test_an_edit_that_finds_nothing_reports_it() -> None:
    with pytest.raises(ValueError, match="the distribution has changed"):
        substitute(b"old", b"new", append(b""))(b"something else")
