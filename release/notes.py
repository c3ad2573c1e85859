"""The notes of a release: what the changelog says about its version."""

import re
from pathlib import Path

UNRELEASED = "Unreleased"


class NoNotesError(Exception):
    """The changelog has no section for the version, as a message for the user."""


def of(changelog: Path, version: str, *, final: bool) -> str:
    """Return the notes in Markdown: the section of the version, or that of what is not released yet.

    A `final` release, the commit of which has the tag of the version, needs a section of its own. Raises NoNotesError.
    """
    text = changelog.read_text()
    for name in (version,) if final else (version, UNRELEASED):
        found = re.search(rf"^## \[?{re.escape(name)}\]?(?: [^\n]*)?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if found and found[1].strip():
            return f"# Stateward {version}\n\n{found[1].strip()}\n"
    raise NoNotesError(f"{changelog.name} has no section '## {version}': rename '## {UNRELEASED}', and begin a new one")
