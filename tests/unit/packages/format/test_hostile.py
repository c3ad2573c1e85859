"""Malicious archives and templates are read within limits or refused."""

import gzip
import io
import tarfile
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stateward.packages.distribution.archive import LARGEST, LONGEST_NAME, MOST_FILES, BadArchive, pack, unpack
from stateward.packages.format.reading import InvalidPackage, read_package
from stateward.packages.rendering.objects import objects_of
from stateward.packages.rendering.step_budget import Spent, large, small
from stateward.packages.rendering.templates import TemplateProblem, Variables
from stateward.packages.review.checks import check_package
from tests.support.fuzz import fuzzed
from tests.unit.packages.samples import files

NAMES = st.sampled_from(
    [
        *(
            "operator.yaml",
            "params.yaml",
            "templates/x.yaml",
            "./operator.yaml",
            "a//b",
            "a/./b",
            "..",
            "../x",
            "/etc/passwd",
        ),
        *(
            "templates/../../x",
            "a\\..\\b",
            "C:\\x",
            "x" * 300,
            "d/" * 200 + "x",
            "\x00",
            "a\nb",
            "\x1b[2J",
            "",
            ".",
            "/",
        ),
    ]
) | st.text(max_size=12)
TYPES = st.sampled_from(
    [
        *(tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE),
        *(tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, b"?"),
    ]
)
MEMBERS = st.lists(st.tuples(NAMES, TYPES, st.binary(max_size=40), st.integers(-1, 1 << 41)), max_size=5)
FORMATS = st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])


def tarball(members: list[tuple[str, bytes, bytes, int]], form: Any) -> bytes:
    """Return a tarball; a size below 1,000 is a lie about how much follows."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as archive:
        for name, kind, content, size in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            entry.size = len(content) if size < 1000 else size
            try:
                head = entry.tobuf(form, "utf-8", "surrogateescape")
            except ValueError:
                continue  # such a name or size cannot be written in this format
            raw.write(head + content + bytes(-len(content) % 512))
            archive.offset = raw.tell()
    return raw.getvalue()


def opened(data: bytes) -> None:
    """Open an archive as the operator does; what is refused is refused with one of two errors."""
    said = ""
    try:
        found = unpack(data)
        assert sum(map(len, found.values())) <= LARGEST
        assert len(found) <= MOST_FILES
        for path in found:
            assert not path.startswith("/")
            assert ".." not in path.split("/")
            assert len(path) <= LONGEST_NAME
        check_package(read_package(found))
    except (BadArchive, InvalidPackage) as error:
        said = str(error)
    assert len(said) < 5000


@fuzzed(150)
@given(MEMBERS, FORMATS, st.booleans())
def test_an_archive_of_strange_members_is_read_within_bounds_or_refused(
    members: list[tuple[str, bytes, bytes, int]], form: Any, compressed: bool
) -> None:
    data = tarball(members, form)
    opened(gzip.compress(data) if compressed else data)


@fuzzed(150)
@example(0, b"", 1000)
@given(st.integers(0, 4000), st.binary(min_size=1, max_size=8), st.integers(0, 3000))
def test_an_archive_with_damage_is_read_within_bounds_or_refused(at: int, damage: bytes, end: int) -> None:
    whole = gzip.decompress(pack(files()))
    opened(whole[:at] + damage + whole[at + len(damage) :])
    packed = pack(files())
    opened(packed[:at] + damage + packed[at + len(damage) :])
    opened(packed[:end])


@pytest.mark.parametrize(
    "name", ["templates/" + "x" * 1000 + ".yaml", "templates/\x1b[2J.yaml", "templates/\udcff.yaml"]
)
def test_a_name_that_is_too_long_or_cannot_be_printed_is_refused_and_not_repeated(name: str) -> None:
    """A name of a megabyte would be in the status, and half a character can be written nowhere."""
    data = tarball([(name, tarfile.REGTYPE, b"x", 0)], tarfile.GNU_FORMAT)
    with pytest.raises(BadArchive, match="printable characters") as error:
        unpack(data)
    assert len(str(error.value)) < 300
    assert str(error.value).isprintable()


WORDS = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "{{-",
            " if ",
            " range ",
            " end ",
            " with ",
            " define `t` ",
            " template `t` . ",
            "{{ end }}",
            ".",
        ),
        *(
            ".Params.WORD",
            ".Params.LIST",
            "$x := ",
            "$x",
            " until 99999 ",
            " repeat 9999 `- a\n` ",
            " toYaml . ",
            " fail ",
            "|",
        ),
        *(
            "apiVersion: v1\nkind: A\nmetadata: {name: x}\n",
            "- ",
            "[",
            "]",
            "{",
            "}",
            "&a ",
            "*a",
            "<<: ",
            "---\n",
            "!!x ",
            ": ",
        ),
    ]
)
VARIABLES = Variables("web", "prod", "shop", "1", "1", {"WORD": "word", "LIST": ["a", {"b": 1}]})


@fuzzed(200)
@example(["{{ range until 99999 }}", "{{ range until 99999 }}", "{{ end }}", "{{ end }}"], True)
@example(["{{ define `t` }}{{ template `t` . }}{{ end }}{{ template `t` . }}"], False)
@example(["{{ $x := repeat 200000 `- a\n` }}{{ $x }}{{ $x }}{{ $x }}{{ $x }}"], False)
@example(["[" * 50_000], False)
@given(st.lists(WORDS | st.text(max_size=6), max_size=20), st.booleans())
def test_a_template_renders_within_bounds_or_is_refused(words: list[str], few: bool) -> None:
    before, said = time.process_time(), ""
    try:
        objects_of("t.yaml", "".join(words), VARIABLES, small() if few else large())
    except (TemplateProblem, Spent) as error:
        said = str(error)
    assert len(said) < 5000
    assert time.process_time() - before < 10
