"""A package as a tarball, in memory: read with limits, written identically to the byte on every machine.

Nothing is unpacked to a disk, so a path that leads out of the folder has no effect. It is refused all the same, because
it is a sign of an attack.
"""

import gzip
import io
import posixpath
import tarfile
import zlib
from collections.abc import Iterator, Mapping

LARGEST = 4 << 20
"""Most bytes that the files of a package may have together: an API server takes objects of about 1.5 MiB."""
MOST_FILES = 1000
LONGEST_NAME = 255
"""Most characters of a path, which is repeated in errors about its file."""


LARGEST_PLAIN = LARGEST + 3 * 1024 * MOST_FILES
"""Most bytes that a tarball may have when it is unpacked: the files, and a few blocks for the head of each."""
MOST_STREAMS = 1000
"""Most compressed streams in a tarball: each costs a copy of all that follows it."""
_GZIP = b"\x1f\x8b"


class BadArchive(ValueError):  # noqa: N818 - says what it is
    """The content is not a tarball, or not one that is accepted; the message says why."""


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of a tarball (gzip or plain) by path; a folder around all of them is left out.

    Raises BadArchive.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(_plain(data)), mode="r:") as tar:
            return _inner(dict(_files(tar)))
    except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
        raise BadArchive(f"is not a tarball: {error}") from error
    except RecursionError as error:
        raise BadArchive("is not a tarball: it has too many headers for one file") from error


def _plain(data: bytes) -> bytes:
    """Return an uncompressed tarball within a limit: some kilobytes may expand to any number of gigabytes."""
    found, streams = bytearray(), 0
    while data.startswith(_GZIP) and len(found) <= LARGEST_PLAIN:
        streams += 1
        if streams > MOST_STREAMS:
            raise BadArchive(f"is not a tarball: it is compressed in more than {MOST_STREAMS} pieces")
        stream = zlib.decompressobj(wbits=31)
        found += stream.decompress(data, LARGEST_PLAIN + 1 - len(found))
        if len(found) <= LARGEST_PLAIN and not stream.eof:
            raise BadArchive("is not a complete tarball: it ends in the middle")
        data = stream.unused_data
    if len(found) > LARGEST_PLAIN or len(data) > LARGEST_PLAIN:
        raise BadArchive(f"holds more than {LARGEST} bytes or {MOST_FILES} files")
    return bytes(found) or data


def check_path(path: str) -> None:
    """Raise BadArchive for the path of a file that errors cannot repeat."""
    if len(path) > LONGEST_NAME or not path.isprintable():
        shown = ascii(path[:60])
        raise BadArchive(f"{shown}: a path must have at most {LONGEST_NAME} characters, and only printable characters")


def _files(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    left, count, seen = LARGEST, 0, set[str]()
    for member in tar:
        check_path(member.name)
        path = posixpath.normpath(member.name)
        if path.startswith("/") or ".." in member.name.split("/"):
            raise BadArchive(f"{member.name}: leads out of the package")
        if member.isdir():
            continue
        if not member.isfile():
            raise BadArchive(f"{member.name}: is neither a file nor a folder")
        if member.issparse() or member.size < 0:
            # A hole takes no room in the tarball, whatever its size. A negative size allows other files to be larger.
            raise BadArchive(f"{member.name}: is a sparse file, or has a negative size")
        if path in seen:
            raise BadArchive(f"{path}: is listed twice")
        seen.add(path)
        left, count = left - member.size, count + 1
        if left < 0 or count > MOST_FILES:
            raise BadArchive(f"holds more than {LARGEST} bytes or {MOST_FILES} files")
        content = tar.extractfile(member)
        if content is not None:
            yield path, content.read()


def _inner(files: dict[str, bytes]) -> dict[str, bytes]:
    """Strip the single folder around everything, which `tar czf x.tgz folder` adds."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) == 1 and all("/" in path for path in files) and "templates" not in tops:
        return {path.partition("/")[2]: content for path, content in files.items()}
    return files


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a gzipped tarball; the same files give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(files[path]), 0o644
            tar.addfile(entry, io.BytesIO(files[path]))
    return gzip.compress(raw.getvalue(), mtime=0)
