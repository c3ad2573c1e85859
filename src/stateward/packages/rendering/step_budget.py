"""Limits the cost of one piece of work, for example the rendering of all templates of a step.

Each template has limits of its own; a step may have thousands of them. Characters, nodes and work are counted, and no
clock is involved. Work within a `small` allowance takes a tenth of a second at most, and may run where others wait for
it; a `large` one is for a process of its own, which also has limits on time and memory.
"""

from dataclasses import dataclass

from stateward.packages.format.work_budget import MOST_PARTS, TANK


class Spent(Exception):  # noqa: N818 - a limit, named as such
    """A piece of work exceeds its limit; the message names the limit and its size."""


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
    parts: int
    """Parts of templates that are executed, each time."""
    quick: bool = False
    """Whether templates may run only few iterations of loops."""

    def take(self, what: str, amount: int) -> None:
        """Pay for something; raises Spent."""
        left: int = getattr(self, what)
        if amount > left:
            raise Spent(f"its templates have more {_NAMES[what]} together than the {getattr(_MOST, what)} allowed")
        setattr(self, what, left - amount)


def small() -> Allowance:
    """Return what may be done in a tenth of a second."""
    return Allowance(characters=256 << 10, nodes=8_000, work=1 << 20, templates=50, parts=100_000, quick=True)


def large() -> Allowance:
    """Return what may be done at all: a large step has a hundredth of it."""
    return Allowance(characters=16 << 20, nodes=500_000, work=4 * TANK, templates=2_000, parts=4 * MOST_PARTS)


_NAMES = {
    "characters": "characters",
    "nodes": "nodes of YAML",
    "work": "characters and elements handled by functions",
    "templates": "templates",
    "parts": "executed parts",
}
_MOST = large()
