"""The plug-in `definitions` of Elasticsearch: endpoints for the definitions whose modules no package registry has."""

from collections.abc import Iterator
from pathlib import Path

from sandbox.host import packages
from sandbox.images import pins
from sandbox.images.layers import Entry
from sandbox.images.maven import fetch
from sandbox.plugins.compiling import JAVA, compiled
from sandbox.plugins.packing import packed
from sandbox.progress import Progress

VERSIONS = ("8.19.4",)
SOURCES = Path(__file__).with_name("xpack-definitions")
_MODULE = "x-pack-core"
"""The module with Elasticsearch's classes of the definitions."""


def definition_plugins(progress: Progress) -> Iterator[Entry]:
    """Yield its zip files; raises SandboxError if one cannot be made."""
    packages.require(packages.JAVA, progress)
    for version in VERSIONS:
        home = fetch(pins.elasticsearch_home(version), progress)
        with progress.step(f"compiling definitions for {version}"):
            classes = compiled(home, SOURCES, ("lib", f"modules/{_MODULE}"))
        about = {
            "elasticsearch.version": version,
            "java.version": str(JAVA),
            "classname": "dev.stateward.sandbox.definitions.Plugin",
            "extended.plugins": _MODULE,
        }
        yield packed("definitions", version, about, {f"definitions-{version}.jar": classes})
