"""What is frozen of versions that are out stays as it was, and the list of them only grows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from release.released import CHANGELOG, FOLDERS, LIST, entries, line, problems
from stateward import __version__

ROOT = Path(__file__).parents[3]


def test_the_frozen_folders_the_list_and_the_changelog_agree() -> None:
    assert list(problems(ROOT, __version__)) == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two versions that are out, and a third that is not."""
    for version in ("0.1.0", "0.2.0", "0.10.0"):
        (tmp_path / FOLDERS / version).mkdir(parents=True)
        (tmp_path / FOLDERS / version / "a.gz").write_text(version)
    (tmp_path / LIST).parent.mkdir(parents=True)
    (tmp_path / LIST).write_text("# a comment\n")
    (tmp_path / CHANGELOG).write_text("# Changelog\n\n## Unreleased\n\n## [0.2.0] - 2026-02-01\n\n## 0.1.0\n")
    for version in ("0.1.0", "0.2.0"):
        with (tmp_path / LIST).open("a") as file:
            file.write(line(tmp_path, version))
    return tmp_path


def test_a_version_that_is_not_out_may_change(root: Path) -> None:
    assert list(problems(root, "0.10.0")) == []
    (root / FOLDERS / "0.10.0/a.gz").write_text("again")
    assert list(problems(root, "0.10.0")) == []
    assert [each.version for each in entries(root)] == ["0.1.0", "0.2.0"]


def edit(name: Path | str, old: str, new: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new))

    return change


def add(root: Path) -> None:
    (root / FOLDERS / "0.2.0/b").write_text("more")


def rename(root: Path) -> None:
    (root / FOLDERS / "0.2.0").rename(root / FOLDERS / "0.3.0")


def invent(root: Path) -> None:
    (root / FOLDERS / "0.9.0").mkdir()


def forget(root: Path) -> None:
    (root / FOLDERS / "0.1.0/a.gz").unlink()
    (root / FOLDERS / "0.1.0").rmdir()
    first = (root / LIST).read_text().splitlines()[1]
    edit(LIST, f"{first}\n", "")(root)
    edit(CHANGELOG, "\n## 0.1.0\n", "")(root)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (edit(FOLDERS / "0.1.0/a.gz", "0.1.0", "other"), "released/0.1.0 of a version that is out, or a line before"),
        (add, "released/0.2.0 of a version that is out, or"),
        (rename, "released/0.2.0 of a version"),
        (forget, "released/0.2.0 of a version that is out, or a line before its own, has changed"),
        (edit(CHANGELOG, "Unreleased", "0.10.0 - 2026-03-01"), "section for 0.10.0: run `python -m tests.unit.upgrade"),
        (edit(CHANGELOG, "## 0.1.0", "## Older"), "has no section for 0.1.0, which is out"),
        (invent, "0.9.0 is of a version that is neither out nor the current"),
    ],
)
def test_what_is_out_and_was_changed_is_named(root: Path, change: Callable[[Path], None], said: str) -> None:
    change(root)
    assert said in " ".join(problems(root, "0.10.0"))


def test_a_current_version_below_one_that_is_out_and_versions_out_of_order_are_named(root: Path) -> None:
    assert "0.2.0 is out, and the current version is 0.1.1" in " ".join(problems(root, "0.1.1"))
    lines = (root / LIST).read_text().splitlines()
    (root / LIST).write_text("\n".join([lines[0], lines[2], lines[1]]))
    assert "not in their order" in " ".join(problems(root, "0.10.0"))


def test_a_line_that_is_no_entry_is_refused(root: Path) -> None:
    (root / LIST).write_text("0.1.0 abc\n")
    with pytest.raises(ValueError, match="no version with a digest"):
        entries(root)
