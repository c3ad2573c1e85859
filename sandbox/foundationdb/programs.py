"""The programs as files: each one executable zip of Python that needs nothing beside it, so it can be copied anywhere.

An upgrade to a version that does not talk to the one before copies the new program beside the old one; this works with
these as it does with the real ones.
"""

import io
import zipfile
from pathlib import Path

from sandbox.layout import repository

PROGRAMS = {"fdbserver": "server", "fdbcli": "cli"}
_EPOCH = (2024, 1, 1, 0, 0, 0)
_PACKAGES = ("sandbox/foundationdb", "src/stateward/simulation/foundationdb")
_BETWEEN = ("sandbox/__init__.py", "stateward/__init__.py", "stateward/simulation/__init__.py")
_LEFT_OUT = frozenset({"programs.py", "real.py"})


def sources() -> list[Path]:
    """Return the files that the programs are made of, in a fixed order."""
    root = repository()
    return [path for name in _PACKAGES for path in sorted((root / name).glob("*.py")) if path.name not in _LEFT_OUT]


def program(name: str, version: str) -> bytes:
    """Return `fdbserver` or `fdbcli` of a version; equal content gives equal bytes."""
    module = PROGRAMS[name]
    root = repository()
    files = {str(path.relative_to(root)).removeprefix("src/"): path.read_text() for path in sources()}
    files |= dict.fromkeys(_BETWEEN, "")
    files["__main__.py"] = (
        f"import sys\nfrom sandbox.foundationdb.{module} import main\nsys.exit(main({version!r}, sys.argv[1:]))\n"
    )
    content = io.BytesIO()
    content.write(b"#!/usr/bin/python3 -IB\n")
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), text, zipfile.ZIP_DEFLATED)
    return content.getvalue()
