"""Additional CAs that the operator trusts for a while: of certificates that some members may still use. Pure.

The disaster this prevents: clients are to see a certificate of another CA, and from that moment the operator rejects
every member. If members load a new certificate only by a restart, it could not even restart them.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward import pki
from stateward.api.values.duration import stored_time
from stateward.pki.files import TRUSTED
from stateward.planning.model.past_times import AHEAD

LAST, UNTIL = "last.crt", "last.until"
"""Files of the operator's Secret."""
PATIENCE = 900.0
"""Seconds: members that take a new certificate while they run have it within two minutes."""


class LastTrusted(Struct, frozen=True):
    """Certificates that are trusted besides, and until when at least, in seconds since the epoch."""

    certificates: str = ""
    until: float = 0.0

    def files(self) -> dict[str, str]:
        """Return the files that remember them."""
        return {LAST: self.certificates, UNTIL: str(int(self.until))} if self.certificates else {}


def last_trusted(before: Mapping[str, str], wanted: str, now: float, *, all_heard: bool) -> LastTrusted:
    """Return the CAs trusted besides the desired ones, from the operator's previous Secret."""
    kept = pki.split(wanted)
    gone = [each for each in pki.sound(before.get(TRUSTED, "")) if each not in kept and pki.ends(each) > now]
    known, text = pki.split(before.get(LAST, "")), before.get(UNTIL, "")
    until, latest = stored_time(text) or 0.0, float(int(now + PATIENCE))
    if any(each not in known for each in gone) or until > latest + AHEAD:  # That was stored by a clock that was ahead.
        until = latest
    elif all_heard and now >= until:
        return LastTrusted()
    return LastTrusted("".join(gone), until) if gone else LastTrusted()
