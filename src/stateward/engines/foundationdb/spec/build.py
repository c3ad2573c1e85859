"""The programs of a member: those of its image or, during a cut-over, those of the new version beside them."""

from dataclasses import dataclass

from stateward.planning.model.observation import ProtocolSwitch


@dataclass(frozen=True, slots=True)
class Build:
    """The version of a member's image, and the progress of its cluster towards the version of its spec."""

    version: str
    crossing: ProtocolSwitch = ProtocolSwitch.NONE

    def beside(self, wanted: str) -> str:
        """Return the version of the programs beside those of the image, if any; `wanted` is the spec's."""
        return wanted if self.crossing else ""

    def program(self, wanted: str) -> str:
        """Return the version of the running programs."""
        return wanted if self.crossing is ProtocolSwitch.SWITCHED else self.version


def series(version: str) -> str:
    """Return the compatible series of a version, for example `7.3` of `7.3.63`."""
    return ".".join(version.split(".")[:2])
