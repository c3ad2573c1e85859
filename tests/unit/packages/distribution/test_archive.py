"""Tarballs of others: nothing leads out of them, nothing is larger than it may be, and nothing is listed twice."""

import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Callable

import pytest

from stateward.packages.distribution.archive import LARGEST, LARGEST_PLAIN, MOST_FILES, BadArchive, pack, unpack

FILES = {"operator.yaml": b"a", "templates/x.yaml": b"b"}


def tar(*entries: tuple[str, bytes], change: Callable[[tarfile.TarInfo], None] = lambda _entry: None) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            change(entry)
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()


def test_files_come_back_as_they_went_in() -> None:
    assert unpack(pack(FILES)) == FILES
    assert unpack(gzip.decompress(pack(FILES))) == FILES
    whole = pack(FILES)
    assert pack(dict(reversed(FILES.items()))) == whole


def test_a_tarball_in_very_many_pieces_is_refused_at_once() -> None:
    """Each piece costs a copy of what is left: a megabyte of empty ones would take a minute."""
    with pytest.raises(BadArchive, match="pieces"):
        unpack(gzip.compress(b"") * 100_000)


@pytest.mark.parametrize("name", ["../operator.yaml", "/operator.yaml", "a/../../operator.yaml", "a/../operator.yaml"])
def test_a_path_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(BadArchive, match="leads out of the package"):
        unpack(tar((name, b"x")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_what_is_no_file_is_refused(kind: bytes) -> None:
    def change(entry: tarfile.TarInfo) -> None:
        entry.type, entry.linkname = kind, "/etc/passwd"

    with pytest.raises(BadArchive, match="is neither a file nor a folder"):
        unpack(tar(("operator.yaml", b""), change=change))


def test_too_much_is_refused_before_it_is_in_memory() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    assert len(bomb) < 100_000
    for data in (bomb, bomb[: len(bomb) // 2], tar(("operator.yaml", b"x" * (LARGEST + 1)))):
        with pytest.raises(BadArchive):
            unpack(data)
    many = tar(*((f"templates/{i}.yaml", b"") for i in range(MOST_FILES + 1)))
    with pytest.raises(BadArchive, match=f"or {MOST_FILES} files"):
        unpack(many)


def test_a_size_that_is_a_lie_is_refused() -> None:
    def change(entry: tarfile.TarInfo) -> None:
        entry.size = 1 << 40

    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        entry = tarfile.TarInfo("operator.yaml")
        change(entry)
        raw.write(entry.tobuf())
        archive.offset = 512
    with pytest.raises(BadArchive):
        unpack(raw.getvalue())


def entry_with(name: str, headers: dict[str, str], content: bytes = b"") -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size, entry.pax_headers = len(content), headers
    return entry, content


def sparse(name: str, size: int) -> tuple[tarfile.TarInfo, bytes]:
    """Return a file that is one hole of this size."""
    kind = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": name, "GNU.sparse.realsize": str(size)}
    return entry_with(name, kind, b"0\n".ljust(512, b"\0"))


@pytest.mark.parametrize(
    "entries",
    [
        [sparse("operator.yaml", 1000)],
        [entry_with("a", {"GNU.sparse.size": "-1000000000"}), sparse("operator.yaml", 10 * LARGEST)],
        [sparse("a", -1_000_000_000), sparse("operator.yaml", 10 * LARGEST)],
    ],
)
def test_holes_and_negative_sizes_are_refused(entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Disaster prevented: a tarball of ten kilobytes has a file of any size, and fills the memory of a laptop."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry, content in entries:
            archive.addfile(entry, io.BytesIO(content))
    tracemalloc.start()
    try:
        with pytest.raises(BadArchive, match="sparse file, or has a negative size"):
            unpack(raw.getvalue())
        assert tracemalloc.get_traced_memory()[1] < LARGEST
    finally:
        tracemalloc.stop()


def test_headers_without_end_are_refused() -> None:
    header = tarfile.TarInfo.create_pax_global_header({"comment": "x"})
    with pytest.raises(BadArchive, match="too many headers"):
        unpack(header * 2_000)


def test_a_path_that_is_there_twice_is_refused() -> None:
    with pytest.raises(BadArchive, match="is listed twice"):
        unpack(tar(("operator.yaml", b"a"), ("./operator.yaml", b"b")))


@pytest.mark.parametrize("data", [b"", b"nothing", gzip.compress(b"nothing", mtime=0), pack(FILES)[:-20]])
def test_what_is_no_tarball_is_refused(data: bytes) -> None:
    if data == b"":
        assert unpack(tar()) == {}
        return
    with pytest.raises(BadArchive):
        unpack(data)


def test_what_is_small_and_comes_to_very_much_is_not_unpacked_to_see_how_much() -> None:
    """Disaster prevented: a stored package of a few kilobytes exhausts the memory of the operator."""
    bomb = gzip.compress(bytes(16 * LARGEST_PLAIN), 1)
    tracemalloc.start()
    try:
        with pytest.raises(BadArchive, match="holds more than"):
            unpack(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * LARGEST_PLAIN
    finally:
        tracemalloc.stop()
