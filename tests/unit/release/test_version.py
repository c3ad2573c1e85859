"""The version has one place, and all other files follow it."""

import shutil
from pathlib import Path

import pytest

from release.version import PLACE, Version, declared, development, final, stamped
from stateward import __version__

ROOT = Path(__file__).parents[3]


def test_the_one_place_is_what_the_program_reports() -> None:
    assert declared(ROOT) == __version__


def test_all_files_that_contain_the_version_have_that_of_the_one_place() -> None:
    for path, text in stamped(ROOT, final(declared(ROOT))).items():
        assert (ROOT / path).read_text() == text, path


def test_a_development_version_sorts_before_its_release_and_names_its_commit() -> None:
    made = development("0.2.0", 12, "abcdef1234567")
    assert made == Version("0.2.0.dev12+gabcdef1", "0.2.0-dev.12")
    assert made.tag == "0.2.0.dev12-gabcdef1"


def test_a_file_without_a_place_for_the_version_is_named(tmp_path: Path) -> None:
    for path in stamped(ROOT, final("1.2.3")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(ValueError, match=r"pyproject\.toml has 0 lines"):
        stamped(tmp_path, final("1.2.3"))
    (tmp_path / PLACE).write_text("")
    with pytest.raises(ValueError, match="has no line __version__"):
        declared(tmp_path)
