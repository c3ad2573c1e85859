"""The checksum of a mounted Secret, also while the kubelet changes it."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.agent.process import configuration, kept

FILES = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.binary(max_size=4), max_size=4)


@given(FILES, FILES)
def test_two_configurations_have_one_checksum_only_if_they_are_the_same(
    one: dict[str, bytes], other: dict[str, bytes]
) -> None:
    assert (configuration.checksum(one) == configuration.checksum(other)) == (one == other)


def test_the_checksum_is_the_documented_one() -> None:
    assert configuration.checksum({"b": b"", "a": b"x"}) == ("sha256:" + sha256(b"1:a1:x1:b0:").hexdigest())


def project(directory: Path, version: str, files: dict[str, bytes]) -> None:
    """Write as the kubelet writes a Secret: a new directory, then the link `..data` swapped to it."""
    new = directory / f"..{version}"
    new.mkdir(parents=True)
    for name, content in files.items():
        (new / name).write_bytes(content)
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")
    (directory / "..data_tmp").symlink_to(new.name)
    (directory / "..data_tmp").replace(directory / "..data")


def test_a_mounted_secret_counts_as_its_files_alone(tmp_path: Path) -> None:
    project(tmp_path, "1", {"a": b"1", "b": b"2"})
    assert configuration.read(tmp_path) == {"a": b"1", "b": b"2"}


def test_files_of_two_instants_are_never_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet swaps the Secret after the first file was read, and removes the old directory."""
    project(tmp_path, "1", {"a": b"1", "b": b"1"})
    real = configuration._files
    calls = 0

    def swapped(directory: Path) -> dict[str, bytes]:
        nonlocal calls
        calls += 1
        found = real(directory)
        if calls == 1:
            project(tmp_path, "2", {"a": b"2", "b": b"2"})
            kept.remove(tmp_path / "..1")
        return found

    monkeypatch.setattr(configuration, "_files", swapped)
    assert configuration.read(tmp_path) == {"a": b"2", "b": b"2"}
    assert calls == 2


def test_a_plain_directory_that_changes_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"1")
    real = configuration._files

    def changing(directory: Path) -> dict[str, bytes]:
        found = real(directory)
        (tmp_path / f"new-{len(found)}").write_bytes(b"")
        return found

    monkeypatch.setattr(configuration, "_files", changing)
    with pytest.raises(configuration.UnreadableError, match="changed each of the 5 times"):
        configuration.read(tmp_path)


def test_what_is_too_large_or_missing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(configuration.UnreadableError, match="does not exist"):
        configuration.read(tmp_path / "none")
    monkeypatch.setattr(configuration, "LIMIT", 3)
    (tmp_path / "a").write_bytes(b"1234")
    with pytest.raises(configuration.UnreadableError, match="more than 3 bytes"):
        configuration.read(tmp_path)


def test_what_is_kept_is_exactly_what_was_given_last(tmp_path: Path) -> None:
    assert kept.kept(tmp_path) is None
    kept.keep({"a": b"1", "sub/b": b"2"}, tmp_path)
    assert kept.kept(tmp_path) == {"a": b"1", "sub/b": b"2"}
    kept.keep({"c": b"3"}, tmp_path)
    kept.keep({"c": b"3"}, tmp_path)
    assert kept.kept(tmp_path) == {"c": b"3"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "current",
        configuration.checksum({"c": b"3"}).replace(":", "-"),
    ]


def test_files_that_were_lost_or_changed_count_as_none_kept(tmp_path: Path) -> None:
    kept.keep({"a": b"1"}, tmp_path)
    (tmp_path / "current" / "a").write_bytes(b"")
    assert kept.kept(tmp_path) is None
    kept.keep({"a": b"1"}, tmp_path)
    assert kept.kept(tmp_path) == {"a": b"1"}


def test_half_of_a_kept_configuration_is_never_seen(tmp_path: Path) -> None:
    kept.keep({"a": b"1"}, tmp_path)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "half").write_bytes(b"")
    assert kept.kept(tmp_path) == {"a": b"1"}
    kept.keep({"a": b"2"}, tmp_path)
    assert kept.kept(tmp_path) == {"a": b"2"}
