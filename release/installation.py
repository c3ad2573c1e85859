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
from stateward import __version__
from stateward.cli.run.chart import objects

IMAGE = f"stateward:{__version__}"
"""The image in manifests and bundle; the installation replaces it by one of a registry, or by a digest."""


def files(place: Path, epoch: str, wheel: Path) -> dict[str, bytes]:
    """Return the files by path; `place` has the sources, and `epoch` is the time of the commit.

    The plug-in for krew has the wheel in it.
    """
    seconds = int(epoch)
    created = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = objects({}, folder=place / "charts/stateward")
    icon = yaml.safe_load((place / "charts/stateward/Chart.yaml").read_text())["icon"].partition("base64,")[2]
    texts = bundle(made, Edition(__version__, IMAGE, created, previous=before(place, __version__), icon=icon))
    found = {f"bundle/{path}": text.encode() for path, text in texts.items()}
    found["stateward.yaml"] = yaml.safe_dump_all(made, sort_keys=False, width=120).encode()
    found[f"stateward-chart-{__version__}.tgz"] = chart(place / "charts/stateward", seconds)
    archive, name = plugin(place, seconds, wheel), f"kubectl-stateward-{__version__}.tar.gz"
    found[name] = archive
    digest = hashlib.sha256(archive).hexdigest()
    found["stateward.krew.yaml"] = krew.manifest(__version__, name, digest, wheel.name).encode()
    return found


def chart(folder: Path, seconds: int) -> bytes:
    """Return the chart as `helm package` writes it, without the plain manifests."""
    ignored = tuple((folder / ".helmignore").read_text().split())
    parts = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    kept = {name: content for name, content in parts.items() if not name.startswith((*ignored, ".helmignore"))}
    return packed({f"stateward/{name}": content for name, content in kept.items()}, seconds)


def plugin(place: Path, seconds: int, wheel: Path) -> bytes:
    """Return the archive of the plug-in."""
    program = krew.launcher(__version__, wheel.name).encode()
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
