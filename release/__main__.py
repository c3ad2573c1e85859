"""`python -m release [--out DIR] [--image]`: makes what a release consists of, from the commit that is checked out.

Wheel, source distribution, chart, manifests, OLM bundle, krew plug-in, notes, bill of materials, a copy of the packages
that we would have to carry, provenance and sums.
All but the image is the same to the byte wherever and whenever it is made: the only time in it is the commit's.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from release import installation, notes, released
from release.generated.files import manifests
from release.provenance import Source, statement, sums
from release.tools import ROOT, MissingToolsError, program
from release.version import PLACE, Version, declared, development, final, stamped

CARRIED = ("goduration", "gotime-py", "gotpl")
"""Packages of one author, who may give them up: their wheels hold all their source."""
SECONDS = 900


class ReleaseError(Exception):
    """Why there is no release, as a message for the user."""


def run(*words: str | Path, directory: Path, **environment: str) -> bytes:
    """Return what a program prints; raises ReleaseError."""
    base = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home())}
    try:
        done = subprocess.run(
            words, check=False, capture_output=True, cwd=directory, env=base | environment, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReleaseError(f"{words[0]}: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason was given"]
        raise ReleaseError(f"{Path(words[0]).name} says {said[-1][:500]}")
    return done.stdout


def source(root: Path) -> Source:
    """Return what is checked out; raises ReleaseError where files differ from the commit."""
    changed = run("git", "status", "--porcelain", directory=root).decode()
    if changed.strip():
        raise ReleaseError(
            f"{len(changed.splitlines())} files differ from the commit: commit them first, or stash them"
        )
    commit, epoch = run("git", "log", "-1", "--format=%H %ct", directory=root).decode().split()
    return Source(commit, epoch)


def tagged(root: Path, version: str) -> bool:
    """Return whether the commit has the tag of this version; raises ReleaseError if it has that of another one only."""
    tags = run("git", "tag", "--points-at", "HEAD", "--list", "v[0-9]*", directory=root).decode().split()
    if tags and f"v{version}" not in tags:
        raise ReleaseError(
            f"the commit has the tag {tags[0]}, and its version is {version}: set the version in {PLACE} and run"
            " `make docs`, or remove the tag"
        )
    return bool(tags)


def version_of(root: Path, commit: str) -> tuple[Version, bool]:
    """Return the version of the commit, and whether it is final; raises ReleaseError where it cannot be told."""
    try:
        named = declared(root)
    except ValueError as error:
        raise ReleaseError(str(error)) from error
    if tagged(root, named):
        return final(named), True
    if named in {each.version for each in released.entries(root)}:
        raise ReleaseError(f"{named} is out, and this commit has not its tag: set the next version in {PLACE}")
    if run("git", "rev-parse", "--is-shallow-repository", directory=root).strip() == b"true":
        raise ReleaseError("a development version has the number of commits in it: fetch the whole history")
    commits = run("git", "rev-list", "--count", "HEAD", directory=root)
    return development(named, int(commits), commit), False


def stamp(place: Path, version: Version) -> None:
    """Write the version into the exported files that contain it, and into the manifests that are made from them."""
    for made in (lambda: stamped(place, version), lambda: manifests(place / "charts/stateward")):
        for path, text in made().items():
            (place / path).write_text(text, encoding="utf-8")


def export(root: Path, place: Path) -> None:
    """Put the files of the commit into a directory, and nothing else that is beside them."""
    archive = place.with_suffix(".tar")
    run("git", "-c", "tar.umask=0022", "archive", "--format=tar", "-o", archive, "HEAD", directory=root)
    place.mkdir(parents=True)
    run("tar", "-xf", archive, "-C", place, directory=root)


def distributions(place: Path, out: Path, epoch: str) -> None:
    """Make the wheel, by way of the source distribution."""
    words = (sys.executable, "-m", "build", "--no-isolation", "--outdir", out, place)
    run(*words, directory=place, SOURCE_DATE_EPOCH=epoch)


def materials(place: Path, epoch: str) -> bytes:
    """Return the bill of materials of what Stateward runs with, as CycloneDX; raises ReleaseError."""
    try:
        tool = program("cyclonedx-py")
    except MissingToolsError as error:
        raise ReleaseError(f"cyclonedx-py could not be fetched: {error}") from error
    words = (
        tool,
        "requirements",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
        "requirements/runtime.lock",
    )
    return run(*words, directory=place, SOURCE_DATE_EPOCH=epoch)


def carry(place: Path, out: Path) -> None:
    """Fetch the packages that we would have to carry, each checked against the hash in our lock."""
    entries = ("\n" + (place / "requirements/runtime.lock").read_text()).replace("\\\n", "").splitlines()
    held = [line for line in entries if line.partition("==")[0] in CARRIED]
    lock = place / "carried.lock"
    lock.write_text("\n".join(held) + "\n")
    words = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes")
    run(*words, "-r", lock, "-d", out / "carried", directory=place)


def image(place: Path, out: Path, epoch: str) -> None:
    """Make the image as an OCI archive, with times of the commit; raises ReleaseError without Docker's buildx."""
    target = f"type=oci,dest={out / 'stateward.oci.tar'},rewrite-timestamp=true"
    words = ("docker", "buildx", "build", "--provenance=false", "--output", target, place)
    run(*words, directory=place, SOURCE_DATE_EPOCH=epoch)


def make(root: Path, out: Path, *, with_image: bool = False) -> list[str]:
    """Make everything, and return the names of the files; raises ReleaseError, and leaves what was there then."""
    found = source(root)
    version, whole = version_of(root, found.commit)
    with tempfile.TemporaryDirectory() as scratch:
        place, fresh = Path(scratch) / "source", Path(scratch) / "dist"
        export(root, place)
        if whole and (wrong := list(released.problems(place, version.python))):
            raise ReleaseError(wrong[0])
        stamp(place, version)
        distributions(place, fresh, found.epoch)
        (fresh / "stateward.cdx.json").write_bytes(materials(place, found.epoch))
        try:
            (fresh / "notes.md").write_text(notes.of(place / "CHANGELOG.md", version.semantic, final=whole))
        except notes.NoNotesError as error:
            raise ReleaseError(str(error)) from error
        carry(place, fresh)
        wheel = next(fresh.glob("*.whl"))
        for path, content in installation.files(place, found.epoch, wheel, version).items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_bytes(content)
        if with_image:
            image(place, fresh, found.epoch)
        (fresh / "provenance.json").write_bytes(statement(found, place, fresh))
        (fresh / "SHA256SUMS").write_text(sums(fresh))
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(fresh, out)
    return sorted(str(each.relative_to(out)) for each in out.rglob("*") if each.is_file())


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a release, and say of what it consists."""
    parser = argparse.ArgumentParser(prog="python -m release")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="directory, which is made anew")
    parser.add_argument("--image", action="store_true", help="the image too; needs Docker with buildx")
    chosen = parser.parse_args(arguments)
    try:
        print("\n".join(make(ROOT, chosen.out, with_image=chosen.image)))
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
