"""What `fdbcli --exec` is told, and what its answers mean: its exit code alone says too little.

It exits with 0 for an address that it could not read and for a locality that matches nobody, and with 1 when its time
is up, while the database goes on moving data. So what it printed decides. Its words are those of versions 7.1 and 7.3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stateward.engines.foundationdb.database.exclusion import locality
from stateward.engines.foundationdb.spec.connection import Address, without_keys

STATUS = "status json"


class Outcome(StrEnum):
    """What came of a command."""

    DONE = "done"
    GOES_ON = "goes on"
    """Its time was up; the database goes on, and the same command may be given again."""
    REFUSED = "refused"
    MATCHES_NOBODY = "matches nobody"
    """It was written down, and is about no process that is there; nothing was waited for, so it proves nothing."""
    MISSING = "missing"
    """There is no process at an address; a blocking `exclude` has waited until nothing was left on it all the same."""
    COORDINATES = "coordinates"
    """It was done, and one of them is a coordinator: it must not go before the coordinators change."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a run of the command left behind."""

    code: int
    output: str


def exclude(members: Iterable[str], addresses: Iterable[Address] = (), *, wait: bool) -> str:
    """Return the exclusion of members, and of the addresses of those that have no process; raises ValueError for none.

    With `wait` the command answers only when nothing is left on them: that alone proves it.
    """
    targets = targets_of(members, addresses)
    if not targets:
        raise ValueError("exclude needs a target")
    return " ".join(["exclude", *([] if wait else ["no_wait"]), *targets])


def targets_of(members: Iterable[str], addresses: Iterable[Address]) -> list[str]:
    """Return how members and addresses are written; with `:tls` behind it an address would not be read."""
    return [*(locality(name) for name in sorted(set(members))), *(a.endpoint for a in sorted(set(addresses)))]


def include(members: Iterable[str], addresses: Iterable[Address] = ()) -> str:
    """Return the taking back of exclusions; raises ValueError for none, never `all`: others' are not ours.

    An address is written with its port: `include HOST` would clear every process of that host.
    """
    targets = targets_of(members, addresses)
    if not targets:
        raise ValueError("include needs a target")
    return " ".join(["include", *targets])


def mark(addresses: Iterable[Address]) -> str:
    """Return the exclusion of nobody that says of addresses that they are excluded by Stateward, for a moment.

    It is given before they are. Without it nobody could tell, after a crash, theirs from those of a person.
    """
    return " ".join(["exclude", "no_wait", *marks(addresses)])


def unmark(addresses: Iterable[Address]) -> str:
    """Return the taking back of marks, once the addresses themselves are included again."""
    return " ".join(["include", *marks(addresses)])


def marks(addresses: Iterable[Address]) -> list[str]:
    """Return how addresses are marked: by a locality that no process has; raises ValueError for none."""
    found = [f"{MARK}{address.endpoint}" for address in sorted(set(addresses))]
    if not found:
        raise ValueError("a mark needs an address")
    return found


def kill(addresses: Iterable[Address]) -> str:
    """Return the bounce of processes, all at once.

    The command knows only processes that a bare `kill` has listed before, and has to stay for a moment to be heard.
    """
    targets = sorted(set(addresses))
    if not targets:
        raise ValueError("kill needs a target")
    return f"kill; kill {' '.join(address.endpoint for address in targets)}; sleep 5"


def coordinators(addresses: Iterable[Address]) -> str:
    """Return the change of coordinators; raises ValueError for an even number of them."""
    targets = sorted(set(addresses))
    if len(targets) % 2 == 0:
        raise ValueError(f"{len(targets)} coordinators tolerate no more failures than {max(0, len(targets) - 1)}")
    return f"coordinators {' '.join(map(str, targets))}"


def maintenance(zone: str, seconds: int) -> str:
    """Return the beginning of maintenance of a zone, the only one that has it; it ends by itself after the time."""
    if not zone or seconds <= 0:
        raise ValueError("maintenance needs a zone and a time")
    return f"maintenance on {zone} {seconds}"


MAINTENANCE_OFF = "maintenance off"
MARK = "locality_stateward_proves:"
"""Begins a locality that is about no process: what follows is an address that was excluded for the sake of a proof."""


def configure(redundancy: str, engine: str, *, new: bool = False) -> str:
    """Return the configuration; `new` makes an empty database, and is given once in a cluster's life."""
    return " ".join(["configure", *(["new"] if new else []), redundancy, engine])


ERROR = re.compile(r"(?<![a-z0-9.-])error(?![a-z0-9-])")
"""The word, and not a part of somebody's name, of which the answer to `exclude` is full."""
WARNINGS = {
    "exclusion in progress": Outcome.GOES_ON,
    "no servers found with this locality": Outcome.MATCHES_NOBODY,
    "is a coordinator!": Outcome.COORDINATES,
    "missing from cluster": Outcome.MISSING,
}
"""What `exclude` prints with exit code 0, the worst first: one answer may speak of several targets."""


def judge(printed: Printed) -> tuple[Outcome, str]:
    """Return what came of a command, with the database's words where it did not do it."""
    text = without_keys(printed.output.strip())
    low = text.lower()
    if "specified timeout reached" in low:
        return Outcome.GOES_ON, "it timed out, and the database continues"
    if ERROR.search(low) or "usage:" in low or "unable to" in low or "could not be parsed" in low:
        return Outcome.REFUSED, text[:400]
    if printed.code != 0:
        return Outcome.REFUSED, text[:400] or f"it exited with code {printed.code} and no output"
    for words, outcome in WARNINGS.items():
        if words in low:
            return outcome, text[:400]
    return Outcome.DONE, ""


def emptied(printed: Printed) -> str | None:
    """Return why a blocking `exclude` did not prove that nothing is left on its targets; None when it did.

    Silence proves nothing: each target has to be named as safe to remove, or as an address without a process.
    """
    outcome, words = judge(printed)
    proved = "safe to remove" in printed.output.lower()
    if outcome is Outcome.MISSING or (outcome is Outcome.DONE and proved):
        return None
    return words or "the database did not confirm that it is safe to remove them"
