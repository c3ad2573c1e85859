"""What a release says of itself: sums of its files, and from what they were made, as an in-toto statement (SLSA v1)."""

import hashlib
import platform
import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

SUMS = "SHA256SUMS"
LOCKS = ("build", "dev", "runtime", "supply")


class Source(Struct, frozen=True):
    """The commit that a release is made from, and its time in seconds since 1970."""

    commit: str
    epoch: str


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files(out: Path) -> dict[str, str]:
    """Return the digests of the files of a release, by their path in it."""
    found = (each for each in sorted(out.rglob("*")) if each.is_file() and each.name != SUMS)
    return {str(each.relative_to(out)): digest(each) for each in found}


def sums(out: Path) -> str:
    """Return the lines that `sha256sum --check` reads."""
    return "".join(f"{each}  {name}\n" for name, each in files(out).items())


def base(dockerfile: str) -> tuple[str, str]:
    """Return name and digest of the image's base; raises ValueError where it is not held by one."""
    found = re.search(r"^ARG BASE=(\S+)@sha256:([0-9a-f]{64})$", dockerfile, re.MULTILINE)
    if found is None:
        raise ValueError("the Dockerfile does not hold its base by a digest")
    return found[1], found[2]


def statement(source: Source, place: Path, out: Path) -> bytes:
    """Return from what the files in `out` were made; `place` has the files of the commit."""
    name, held = base((place / "Dockerfile").read_text())
    locks = {f"requirements/{lock}.lock": digest(place / f"requirements/{lock}.lock") for lock in LOCKS}
    dependencies: list[dict[str, Any]] = [
        {"name": "source", "digest": {"gitCommit": source.commit}},
        {"name": "base image", "uri": f"docker:{name}", "digest": {"sha256": held}},
        *({"name": lock, "digest": {"sha256": each}} for lock, each in locks.items()),
    ]
    definition = {
        "buildType": "https://stateward.dev/release/v1",
        "externalParameters": {"command": "make release", "sourceDateEpoch": source.epoch},
        "internalParameters": {"python": platform.python_version()},
        "resolvedDependencies": dependencies,
    }
    body = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": each, "digest": {"sha256": sha}} for each, sha in files(out).items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": definition, "runDetails": {"builder": {"id": "https://stateward.dev/make"}}},
    }
    return msgspec.json.format(msgspec.json.encode(body)) + b"\n"
