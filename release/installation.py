"""What a release has for each way to install: manifests, chart, OLM bundle and krew plug-in.

All files are the same to the byte for the same commit.
"""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import yaml

from release import krew
from release.bundle import Edition, bundle
from release.released import before
from release.version import Version, final
from stateward import __version__
from stateward.api.yaml_writer import to_yaml_documents
from stateward.cli.run.chart import objects


def files(place: Path, epoch: str, wheel: Path, version: Version | None = None) -> dict[str, bytes]:
    """Return the files by path; `place` has the sources, and `epoch` is the time of the commit.

    The plug-in for krew has the wheel in it. The image in manifests and bundle has no registry: the installation
    replaces it. Without `version`, it is that of this package.
    """
    version = version or final(__version__)
    seconds = int(epoch)
    created = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = objects({}, folder=place / "charts/stateward")
    icon = yaml.safe_load((place / "charts/stateward/Chart.yaml").read_text())["icon"].partition("base64,")[2]
    previous = before(place, version.semantic.partition("-")[0])
    edition = Edition(version.semantic, f"stateward:{version.tag}", created, previous=previous, icon=icon)
    texts = bundle(made, edition)
    found = {f"bundle/{path}": text.encode() for path, text in texts.items()}
    found["stateward.yaml"] = to_yaml_documents(made).encode()
    found[f"stateward-chart-{version.semantic}.tgz"] = chart(place / "charts/stateward", seconds)
    archive, name = plugin(place, seconds, wheel, version), f"kubectl-stateward-{version.semantic}.tar.gz"
    found[name] = archive
    digest = hashlib.sha256(archive).hexdigest()
    found["stateward.krew.yaml"] = krew.manifest(version.semantic, name, digest, wheel.name).encode()
    return found


def chart(folder: Path, seconds: int) -> bytes:
    """Return the chart as `helm package` writes it, without the plain manifests."""
    ignored = tuple((folder / ".helmignore").read_text().split())
    parts = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    kept = {name: content for name, content in parts.items() if not name.startswith((*ignored, ".helmignore"))}
    return packed({f"stateward/{name}": content for name, content in kept.items()}, seconds)


def plugin(place: Path, seconds: int, wheel: Path, version: Version) -> bytes:
    """Return the archive of the plug-in."""
    program = krew.launcher(version.python, wheel.name).encode()
    contents = {"LICENSE": (place / "LICENSE").read_bytes(), "kubectl-stateward": program}
    return packed({**contents, wheel.name: wheel.read_bytes()}, seconds)


def packed(contents: Mapping[str, bytes], seconds: int) -> bytes:
    """Return a compressed archive; files with a `#!` line are executable."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), seconds
            entry.mode = 0o755 if content.startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=seconds)
