"""One thing about a pod template that is not allowed, and the levels of what is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Path = tuple[str, ...]
"""A place in a pod template; an item of a list with a name is `[NAME]`, any other one `[0]`."""


class Level(StrEnum):
    """A level of the Pod Security Standards."""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


@dataclass(frozen=True, slots=True)
class Finding:
    """A field of a pod template, its value, and what would be accepted there."""

    path: Path
    value: Any
    accepted: str
