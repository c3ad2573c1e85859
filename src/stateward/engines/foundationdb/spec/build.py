"""With which programs a member is made: those of its image, or on the way to a version that those do not talk to."""

from dataclasses import dataclass

from stateward.planning.model.observation import Crossing


@dataclass(frozen=True, slots=True)
class Build:
    """The version of a member's image, and how far its cluster is on the way to the version of its spec."""

    version: str
    crossing: Crossing = Crossing.NONE

    def beside(self, wanted: str) -> str:
        """Return the version whose programs are brought beside those of the image, if any; `wanted` is the spec's."""
        return wanted if self.crossing else ""

    def program(self, wanted: str) -> str:
        """Return the version of the programs that are run."""
        return wanted if self.crossing is Crossing.SWITCHED else self.version


def series(version: str) -> str:
    """Return what tells which versions talk to each other, for example `7.3` of `7.3.63`."""
    return ".".join(version.split(".")[:2])
