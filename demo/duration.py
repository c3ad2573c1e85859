"""How long the demo will take, said before anything is begun."""

from collections.abc import Iterator
from typing import Protocol


class Lacks(Protocol):
    """What the machine does not have yet: see `sandbox.missing`, which one's own cluster does not need."""

    @property
    def kubernetes(self) -> bool:
        """Whether Kubernetes has to be built."""
        ...

    @property
    def images(self) -> tuple[str, ...]:
        """Images that have to be downloaded and made."""
        ...

    @property
    def packages(self) -> tuple[str, ...]:
        """System packages that have to be installed."""
        ...


STORY, BUILD, REST = 3, 5, 1
"""Minutes on an idle machine with two cores: the cluster's story; the build of Kubernetes; images and packages.

Measured, see docs/measurements.md: 9 minutes with nothing there, 5 of them the build.
"""
WORDS = {3: "three", 4: "four", 8: "eight", 9: "nine"}
"""The possible sums in words."""


def expectation(lacks: Lacks | None) -> str:
    """Return what has to be made first, and about how long all takes; None is one's own cluster."""
    if lacks is None:
        return f"about {WORDS[STORY]} minutes in all, if your cluster is quiet and pulls the images quickly"
    parts = list(_first(lacks))
    rest = REST if lacks.images or lacks.packages else 0
    minutes = STORY + (BUILD if lacks.kubernetes else 0) + rest
    total = f"about {WORDS[minutes]} minutes in all on an idle machine with two cores, and longer on a busy one"
    return f"first: {'; '.join(parts)}. It takes {total}" if parts else f"nothing is missing: {total}"


def _first(lacks: Lacks) -> Iterator[str]:
    if lacks.kubernetes:
        yield f"build Kubernetes from its sources (about {BUILD} minutes, once)"
    if lacks.images:
        yield f"download and make the images {', '.join(lacks.images)}"
    if lacks.packages:
        yield f"install {', '.join(lacks.packages)}"
