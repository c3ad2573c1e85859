"""What to do about the settings of one alias in the database. Pure.

An alias is the operator's if the status has the address that the database has. The address is in the status before it
is in the database, so a process that dies in between leaves nothing unknown behind. What a person has set is neither
changed nor removed.
"""

from enum import Enum

from msgspec import Struct


class Found(Struct, frozen=True):
    """What the database has for one alias."""

    settings: dict[str, str] = {}
    """Persistent settings by the last part of their name, for example `proxy_address`."""
    transient: bool = False
    """Whether there are transient settings, too: the operator never makes them."""

    @property
    def nothing(self) -> bool:
        """Whether the database knows nothing of the alias."""
        return not self.settings and not self.transient


class Wanted(Struct, frozen=True):
    """What the spec asks for."""

    address: str
    skip_unavailable: bool


class Do(Enum):
    """The next step."""

    NOTHING = "nothing"
    """The database has what is wanted."""
    RECORD = "record"
    """Write the address into the status: then it may be set."""
    SET = "set"
    CLEAR = "clear"
    """Remove exactly the settings that the operator has made."""
    FORGET = "forget"
    """Nothing is left, or what is there belongs to a person: drop the address from the status."""
    CONFLICT = "conflict"
    """A person has set the alias; nothing is done to it."""


MODE, ADDRESS, SKIP = "mode", "proxy_address", "skip_unavailable"
OWN = (MODE, ADDRESS, SKIP)
"""The settings that the operator makes."""


def values(wanted: Wanted) -> dict[str, str]:
    """Return the settings as the database shows them."""
    return {MODE: "proxy", ADDRESS: wanted.address, SKIP: str(wanted.skip_unavailable).lower()}


def decide(wanted: Wanted | None, recorded: str, found: Found) -> Do:
    """Return the next step for an alias; `recorded` is the address in the status, empty if there is none."""
    if found.nothing:
        if wanted is None:
            return Do.FORGET if recorded else Do.NOTHING
        return Do.SET if recorded == wanted.address else Do.RECORD
    if wanted is None:
        return Do.CLEAR if _is(recorded, found) else Do.FORGET
    if _is(wanted.address, found):
        if recorded != wanted.address:
            return Do.RECORD  # Exactly what the spec asks for: the status was lost.
        return Do.NOTHING if {key: found.settings.get(key, "") for key in OWN} == values(wanted) else Do.SET
    return Do.CLEAR if _is(recorded, found) else Do.CONFLICT


def _is(address: str, found: Found) -> bool:
    """Return whether the database has the alias with an address as the operator sets it."""
    settings = found.settings
    ours = settings.get(MODE) == "proxy" and settings.get(ADDRESS) == address
    return bool(address) and ours and not found.transient
