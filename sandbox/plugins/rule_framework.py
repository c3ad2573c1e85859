"""The stand-in for OpenSearch's module rule-framework, which the security plug-in of 3.4.0 extends.

No package registry has the module, and the plug-in does not start without it. This one has no rules. The plug-in also
takes a library from it, which is the real one.
"""

from collections.abc import Mapping
from pathlib import Path

from sandbox.host import packages
from sandbox.images import pins
from sandbox.images.maven import fetch
from sandbox.plugins.compiling import compiled_with
from sandbox.plugins.packing import descriptor
from sandbox.progress import Progress

NAME = "rule-framework"
VERSIONS = ("3.4.0",)
"""Those whose security plug-in needs it."""
_SOURCES = Path(__file__).with_name(NAME)
_CLASS = "dev.stateward.sandbox.rules.RuleFramework"
_JAVA = 21
"""The oldest Java that these versions start with."""


def made_of() -> list[Path]:
    """Return the files of ours that the module is made of."""
    here = Path(__file__).parent
    return [Path(__file__), here / "compiling.py", here / "packing.py", *sorted(_SOURCES.rglob("*.java"))]


def module_files(version: str, progress: Progress) -> Mapping[str, bytes]:
    """Return what is in the module's directory, empty for a version that needs none; raises SandboxError."""
    if version not in VERSIONS:
        return {}
    packages.require(packages.JAVA, progress)
    library = fetch(pins.COLLECTIONS, progress)
    with progress.step(f"compiling {NAME} for {version}"):
        classes = compiled_with(_SOURCES / "declarations", _SOURCES)
    about = {"opensearch.version": version, "java.version": str(_JAVA), "classname": _CLASS}
    return {
        "plugin-descriptor.properties": descriptor(NAME, version, about),
        f"{NAME}-{version}.jar": classes,
        library.name: library.read_bytes(),
    }
