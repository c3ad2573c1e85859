"""A release: the same bytes from the same commit, with sums and provenance that name all of it, or nothing at all."""

import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from release import __main__ as release
from release import notes, provenance, released
from release.tools import MissingToolsError
from stateward import __version__

_ROOT = Path(__file__).parents[3]
_PARTS = (
    *("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Dockerfile", "requirements", "charts", "src"),
    *("release/released.txt", "tests/unit/upgrade/released"),
)
_WHO = ("-c", "user.name=a", "-c", "user.email=a@b.example")
_WHEN = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
_TOOL = '#!/bin/sh\necho "{\\"bomFormat\\": \\"CycloneDX\\", \\"time\\": $SOURCE_DATE_EPOCH}"\n'


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *_WHO, *words], cwd=root, check=True, capture_output=True, env=os.environ | _WHEN)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files as they are now, in one commit."""
    root = tmp_path_factory.mktemp("repository")
    listed = subprocess.run(["git", "ls-files", "-z", *_PARTS], cwd=_ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((_ROOT / name).read_bytes())
    (root / ".gitignore").write_text("left\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        git(root, *words)
    return root


@pytest.fixture
def world(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of its own, with a tool that answers and packages that are there."""
    tool = tmp_path / "tool"
    tool.write_text(_TOOL)
    tool.chmod(0o755)

    def carry(_place: Path, out: Path) -> None:
        (out / "carried").mkdir()
        (out / "carried/gotpl.whl").write_bytes(b"all of its source")

    monkeypatch.setattr(release, "program", lambda _name: tool)  # pyright: ignore[reportUnknownLambdaType]
    monkeypatch.setattr(release, "carry", carry)
    subprocess.run(["git", "clone", "-q", repository, tmp_path / "clone"], check=True)
    return tmp_path / "clone"


def contents(out: Path) -> dict[str, bytes]:
    return {str(each.relative_to(out)): each.read_bytes() for each in out.rglob("*") if each.is_file()}


def test_the_same_commit_makes_the_same_bytes_and_says_what_they_are(
    world: Path, repository: Path, tmp_path: Path
) -> None:
    (world / "src/stateward/left").write_text("not of the commit")
    os.utime(world / "README.md", (1, 1))
    names = release.make(world, tmp_path / "one")
    release.make(repository, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert names == sorted(contents(tmp_path / "one"))
    assert sum(name.endswith((".whl", ".tar.gz")) for name in names) == 4
    assert {"stateward.yaml", "stateward.krew.yaml", "notes.md", "bundle/metadata/annotations.yaml"} <= set(names)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=tmp_path / "one", check=True)
    assert json.loads((tmp_path / "one/stateward.cdx.json").read_text())["time"] == 1700000000
    said = json.loads((tmp_path / "one/provenance.json").read_text())
    own = {"SHA256SUMS", "provenance.json"}
    assert {each["name"] for each in said["subject"]} == set(names) - own
    held: list[dict[str, Any]] = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=world, check=True, capture_output=True, text=True)
    assert held[0]["digest"] == {"gitCommit": commit.stdout.strip()}
    assert held[1]["digest"]["sha256"] in (world / "Dockerfile").read_text()
    assert [each["name"] for each in held[2:]] == [f"requirements/{lock}.lock" for lock in provenance.LOCKS]


def test_a_commit_without_a_tag_makes_a_development_version_everywhere(world: Path, tmp_path: Path) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=world, check=True, capture_output=True, text=True).stdout
    python, chart = f"{__version__}.dev1+g{commit[:7]}", f"{__version__}-dev.1"
    names = release.make(world, tmp_path / "out")
    assert {
        f"stateward-{python}-py3-none-any.whl",
        f"stateward-chart-{chart}.tgz",
        f"kubectl-stateward-{chart}.tar.gz",
    } <= set(names)
    with zipfile.ZipFile(tmp_path / f"out/stateward-{python}-py3-none-any.whl") as wheel:
        inside = {name: wheel.read(name).decode() for name in wheel.namelist() if name.endswith((".py", ".yaml"))}
    assert f'__version__ = "{python}"' in inside["stateward/__init__.py"]
    assert f'VERSION = "{python}"' in inside["stateward/agent/__init__.py"]
    image = f"stateward:{python.replace('+', '-')}"
    assert f"image: {image}\n" in inside["stateward/charts/manifests/deployment.yaml"]
    assert f"image: {image}\n" in (tmp_path / "out/stateward.yaml").read_text()
    with tarfile.open(tmp_path / f"out/stateward-chart-{chart}.tgz") as archive:
        described = yaml.safe_load(archive.extractfile("stateward/Chart.yaml") or b"")
    assert (described["version"], described["appVersion"]) == (chart, image.partition(":")[2])
    assert f"version: v{chart}\n" in (tmp_path / "out/stateward.krew.yaml").read_text()
    assert (tmp_path / "out/notes.md").read_text().startswith(f"# Stateward {chart}\n")


def test_a_clone_without_the_whole_history_and_a_version_that_is_out_make_none(world: Path, tmp_path: Path) -> None:
    git(world, "commit", "-q", "--allow-empty", "-m", "two")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{world}", tmp_path / "shallow"], check=True)
    with pytest.raises(release.ReleaseError, match="fetch the whole history"):
        release.make(tmp_path / "shallow", tmp_path / "out")
    (world / released.LIST).write_text(released.line(world, __version__))
    git(world, "commit", "-q", "-a", "-m", "three")
    with pytest.raises(release.ReleaseError, match=f"{__version__} is out, and this commit has not its tag"):
        release.make(world, tmp_path / "out")


def test_a_tag_of_another_version_is_no_release(world: Path, tmp_path: Path) -> None:
    git(world, "tag", "v99.0.0")
    with pytest.raises(release.ReleaseError, match=r"has the tag v99\.0\.0, and its version is"):
        release.make(world, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()
    git(world, "tag", f"v{__version__}")
    assert release.tagged(world, __version__)


def test_a_final_release_is_in_the_list_of_versions_that_are_out(world: Path, tmp_path: Path) -> None:
    log = (world / "CHANGELOG.md").read_text()
    (world / "CHANGELOG.md").write_text(log.replace("## Unreleased", f"## {__version__}", 1))
    git(world, "commit", "-q", "-a", "-m", "two")
    git(world, "tag", f"v{__version__}")
    with pytest.raises(release.ReleaseError, match=r"run `python -m tests\.unit\.upgrade --pin`"):
        release.make(world, tmp_path / "dist")
    (world / released.LIST).write_text(released.line(world, __version__))
    git(world, "tag", "-d", f"v{__version__}")
    git(world, "commit", "-q", "-a", "-m", "three")
    git(world, "tag", f"v{__version__}")
    names = release.make(world, tmp_path / "dist")
    assert {"notes.md", f"stateward-{__version__}-py3-none-any.whl", f"stateward-chart-{__version__}.tgz"} <= set(names)


def test_a_final_release_has_a_section_of_the_changelog(tmp_path: Path) -> None:
    log = tmp_path / "CHANGELOG.md"
    log.write_text(
        "# Changelog\n\n## Unreleased\n\n* new\n\n"
        "## 1.2.0 - 2026-11-26\n\n### Clusters\n\n* old\n\n## 1.1.0\n\n* older\n"
    )
    assert notes.of(log, "1.2.0", final=True) == "# Stateward 1.2.0\n\n### Clusters\n\n* old\n"
    assert notes.of(log, "1.3.0", final=False) == "# Stateward 1.3.0\n\n* new\n"
    with pytest.raises(notes.NoNotesError, match=r"no section '## 1\.3\.0'"):
        notes.of(log, "1.3.0", final=True)
    with pytest.raises(notes.NoNotesError):
        notes.of(log, "1x1.0", final=True)


def test_files_that_differ_from_the_commit_are_no_release(world: Path, tmp_path: Path) -> None:
    (world / "README.md").write_text("other")
    with pytest.raises(release.ReleaseError, match="1 files differ from the commit"):
        release.make(world, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_made_leaves_the_last_release(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_name: str) -> Path:
        raise MissingToolsError("no route to host")

    monkeypatch.setattr(release, "program", missing)
    monkeypatch.setattr(release, "distributions", lambda _place, out, _epoch: out.mkdir())  # pyright: ignore[reportUnknownLambdaType]
    (tmp_path / "out").mkdir()
    (tmp_path / "out/last").write_text("last")
    with pytest.raises(release.ReleaseError, match="no route to host"):
        release.make(world, tmp_path / "out")
    assert contents(tmp_path / "out") == {"last": b"last"}


def test_what_is_carried_is_checked_against_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(release, "run", lambda *words, **_: asked.extend(map(str, words)))  # pyright: ignore[reportUnknownLambdaType]
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/runtime.lock").write_text((_ROOT / "requirements/runtime.lock").read_text())
    release.carry(tmp_path, tmp_path / "out")
    assert "--require-hashes" in asked
    held = (tmp_path / "carried.lock").read_text().splitlines()
    assert tuple(line.partition("==")[0] for line in held) == release.CARRIED
    assert all("--hash=sha256:" in line for line in held)


def test_the_image_has_the_times_of_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(release, "run", lambda *words, **more: asked.append((words, more)))  # pyright: ignore[reportUnknownLambdaType]
    release.image(tmp_path, tmp_path / "out", "1700000000")
    ((words, more),) = asked
    assert f"type=oci,dest={tmp_path}/out/stateward.oci.tar,rewrite-timestamp=true" in words
    assert more["SOURCE_DATE_EPOCH"] == "1700000000"


def test_a_program_that_fails_or_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(release.ReleaseError, match="sh says no such commit"):
        release.run("sh", "-c", "echo no such commit >&2; exit 3", directory=tmp_path)
    with pytest.raises(release.ReleaseError, match="stateward-nowhere"):
        release.run("stateward-nowhere", directory=tmp_path)


def test_a_base_without_a_digest_is_no_base() -> None:
    with pytest.raises(ValueError, match="digest"):
        provenance.base("ARG BASE=python:3.13-slim\n")
