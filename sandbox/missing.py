"""What this machine does not have yet, found out within a moment and without a change of anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.host import packages
from sandbox.images.store import names_made
from sandbox.toolchain.kubelite import is_built


@dataclass(frozen=True, slots=True)
class Missing:
    """What is built, downloaded and installed at the first use."""

    kubernetes: bool
    images: tuple[str, ...]
    """Short names, such as `opensearch:2.19.5`."""
    packages: tuple[str, ...]
    """System packages."""


def missing(images: Sequence[str]) -> Missing:
    """Return what is missing for a sandbox with these images."""
    made = {name.rpartition("/")[2] for name in names_made()}
    absent = tuple(image for image in images if not any(image in (name, name.partition(":")[0]) for name in made))
    return Missing(not is_built(), absent, tuple(packages.missing(packages.NODE)))
