"""What one piece of work may cost: the rendering of all templates of a step together, say.

Each template has bounds of its own; a step may have thousands of them. Counted are characters, nodes and work, and no
clock is asked. What fits into a `small` allowance costs a tenth of a second at most, and may be done where others wait
for it; a `large` one is for a process of its own, which has limits on time and memory besides.
"""

from dataclasses import dataclass

from stateward.packages.format.work_budget import TANK


class Spent(Exception):  # noqa: N818 - a limit, named as such
    """A piece of work takes more than it may; the message says which limit, and how much it is."""


@dataclass(slots=True)
class Allowance:
    """What is left for one piece of work."""

    characters: int
    """Of templates, and of what they render."""
    nodes: int
    """Of YAML that is read."""
    work: int
    """Characters and elements that functions of templates handle."""
    templates: int
    quick: bool = False
    """Whether templates may take only few turns of loops."""

    def take(self, what: str, amount: int) -> None:
        """Pay for something; raises Spent."""
        left: int = getattr(self, what)
        if amount > left:
            raise Spent(f"its templates have more {_NAMES[what]} together than the {getattr(_MOST, what)} allowed")
        setattr(self, what, left - amount)


def small() -> Allowance:
    """Return what may be done in a tenth of a second."""
    return Allowance(characters=256 << 10, nodes=8_000, work=1 << 20, templates=50, quick=True)


def large() -> Allowance:
    """Return what may be done at all: a large step has a hundredth of it."""
    return Allowance(characters=16 << 20, nodes=500_000, work=4 * TANK, templates=2_000)


_NAMES = {
    "characters": "characters",
    "nodes": "nodes of YAML",
    "work": "characters and elements handled by functions",
    "templates": "templates",
}
_MOST = large()
