"""The version: `src/stateward/__init__.py` names it, and all other files get it from there.

A commit with the tag of the version makes exactly this version. Any other commit makes a development version, which
sorts before it: `0.1.0.dev12+gabcdef1`, as a chart `0.1.0-dev.12`. 12 is the number of commits up to this one, so it
depends on the commit alone, and not on which tags a clone has.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

PLACE = Path("src/stateward/__init__.py")
"""The one file in which a person sets the version."""
CHART = Path("charts/stateward/Chart.yaml")


class Version(Struct, frozen=True):
    """A version in the forms that the parts of a release have."""

    python: str
    """By PEP 440: of wheel, source distribution and command line."""
    semantic: str
    """By semantic versioning: of chart, bundle and plug-in."""

    @property
    def tag(self) -> str:
        """The tag of the image, which may contain no `+`."""
        return self.python.replace("+", "-")


def final(version: str) -> Version:
    """Return a version that is released under its own name."""
    return Version(version, version)


def development(version: str, commits: int, commit: str) -> Version:
    """Return the version of a commit without a tag; `commits` is the number of commits up to it, itself included."""
    return Version(f"{version}.dev{commits}+g{commit[:7]}", f"{version}-dev.{commits}")


def declared(root: Path) -> str:
    """Return the version that a person has set; raises ValueError where there is none."""
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', (root / PLACE).read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f'{PLACE} has no line __version__ = "1.2.3"')
    return found[1]


def stamped(root: Path, version: Version) -> Mapping[Path, str]:
    """Return the files that contain the version, with this one; raises ValueError where one has no place for it."""
    lines: Mapping[Path, Mapping[str, str]] = {
        PLACE: {r'^__version__ = "(.*)"$': version.python},
        Path("src/stateward/agent/__init__.py"): {r'^VERSION = "(.*)"$': version.python},
        Path("pyproject.toml"): {r'^version = "(.*)"$': version.python},
        CHART: {r"^version: (.*)$": version.semantic, r"^appVersion: (.*)$": version.tag},
        CHART.with_name("kustomization.yaml"): {r"^  newTag: (.*)$": version.tag},
    }
    return {path: _with((root / path).read_text(encoding="utf-8"), path, found) for path, found in lines.items()}


def _with(text: str, path: Path, lines: Mapping[str, str]) -> str:
    for pattern, value in lines.items():
        found = list(re.finditer(pattern, text, re.MULTILINE))
        if len(found) != 1:
            raise ValueError(f"{path} has {len(found)} lines {pattern}, and should have one")
        text = text[: found[0].start(1)] + value + text[found[0].end(1) :]
    return text
