"""Versions of databases: three numbers."""

import re
from typing import NamedTuple

_NUMBER = r"(0|[1-9][0-9]{0,8})"
_FORM = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}", re.ASCII)


class Version(NamedTuple):
    """A version; later ones compare greater."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """Write it as people do."""
        return f"{self.major}.{self.minor}.{self.patch}"


def parse_version(text: str) -> Version | None:
    """Return the version; None for an invalid text."""
    match = _FORM.fullmatch(text)
    return Version(*(int(part) for part in match.groups())) if match else None


def recorded_version(text: str) -> str:
    """Return a version as it is recorded on an object; empty for another text, such as that of a test build."""
    return text if parse_version(text) is not None else ""
