"""The stand-in for the plug-in repository-s3."""

from collections.abc import Iterator
from pathlib import Path

from sandbox.host import packages
from sandbox.images import pins
from sandbox.images.layers import Entry
from sandbox.images.maven import fetch
from sandbox.plugins.compiling import JAVA, compiled
from sandbox.plugins.packing import packed
from sandbox.progress import Progress

VERSIONS = ("2.19.3",)
SOURCES = Path(__file__).with_name("repository-s3")
_CLASS = "dev.stateward.sandbox.s3.Plugin"
_POLICY = "plugin-security.policy"


def repository_plugins(progress: Progress) -> Iterator[Entry]:
    """Yield its zip files; raises SandboxError if one cannot be made."""
    packages.require(packages.JAVA, progress)
    for version in VERSIONS:
        home = fetch(pins.opensearch_home(version), progress)
        with progress.step(f"compiling repository-s3 for {version}"):
            classes = compiled(home, SOURCES, ("lib",))
        files = {f"repository-s3-{version}.jar": classes, _POLICY: (SOURCES / _POLICY).read_bytes()}
        about = {"opensearch.version": version, "java.version": str(JAVA), "classname": _CLASS}
        yield packed("repository-s3", version, about, files)
