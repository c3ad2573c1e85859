"""Commands for `fdbcli --exec`, and the meaning of its output: the exit code alone is not enough.

`fdbcli` exits with 0 for an unreadable address and for a locality that matches no process, and with 1 on a timeout
while the database continues to move data. So the printed text decides. The texts are those of versions 7.1 and 7.3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stateward.engines.foundationdb.database.asides import without_asides
from stateward.engines.foundationdb.database.exclusion import locality
from stateward.engines.foundationdb.spec.connection import Address, without_keys

STATUS = "status json"


class Outcome(StrEnum):
    """The outcome of a command."""

    DONE = "done"
    GOES_ON = "goes on"
    """The command timed out; the database continues, and the command can be repeated."""
    REFUSED = "refused"
    MATCHES_NOBODY = "matches nobody"
    """The exclusion is recorded but matches no process. `fdbcli` waited for nothing, so this proves nothing."""
    MISSING = "missing"
    """There is no process at an address; a blocking `exclude` has still waited until no data was left on it."""
    COORDINATES = "coordinates"
    """The command succeeded, and one target is a coordinator: it must not leave before the coordinators change."""


@dataclass(frozen=True, slots=True)
class Printed:
    """Output of one run of the command."""

    code: int
    output: str


def exclude(members: Iterable[str], addresses: Iterable[Address] = (), *, wait: bool) -> str:
    """Return the command that excludes members, and addresses of members without a process; raise ValueError for none.

    With `wait` the command answers only when no data is left on them: only that is proof.
    """
    targets = targets_of(members, addresses)
    if not targets:
        raise ValueError("exclude needs a target")
    return " ".join(["exclude", *([] if wait else ["no_wait"]), *targets])


def targets_of(members: Iterable[str], addresses: Iterable[Address]) -> list[str]:
    """Return members and addresses in the form of the command; an address with `:tls` is not understood."""
    return [*(locality(name) for name in sorted(set(members))), *(a.endpoint for a in sorted(set(addresses)))]


def include(members: Iterable[str], addresses: Iterable[Address] = ()) -> str:
    """Return the command that includes targets again; raise ValueError for none.

    It never uses `all`, because that would include the exclusions of others. Addresses have a port, because `include
    HOST` would clear every process of that host.
    """
    targets = targets_of(members, addresses)
    if not targets:
        raise ValueError("include needs a target")
    return " ".join(["include", *targets])


def mark(addresses: Iterable[Address]) -> str:
    """Return an exclusion without effect that marks addresses as temporarily excluded by Stateward.

    It must precede their exclusion. Otherwise, after a crash, nothing distinguishes these exclusions from those of a
    user.
    """
    return " ".join(["exclude", "no_wait", *marks(addresses)])


def unmark(addresses: Iterable[Address]) -> str:
    """Return the command that removes marks, after the addresses themselves are included again."""
    return " ".join(["include", *marks(addresses)])


def marks(addresses: Iterable[Address]) -> list[str]:
    """Return the marks of addresses: localities that no process has; raise ValueError for none."""
    found = [f"{MARK}{address.endpoint}" for address in sorted(set(addresses))]
    if not found:
        raise ValueError("a mark needs an address")
    return found


def kill(addresses: Iterable[Address]) -> str:
    """Return the command that restarts processes, all at once.

    The command knows only processes that a bare `kill` has listed before, and must keep running briefly for the kill to
    be delivered.
    """
    targets = sorted(set(addresses))
    if not targets:
        raise ValueError("kill needs a target")
    return f"kill; kill {' '.join(address.endpoint for address in targets)}; sleep 5"


def coordinators(addresses: Iterable[Address]) -> str:
    """Return the command that changes the coordinators; raise ValueError for an even number."""
    targets = sorted(set(addresses))
    if len(targets) % 2 == 0:
        raise ValueError(f"{len(targets)} coordinators tolerate no more failures than {max(0, len(targets) - 1)}")
    return f"coordinators {' '.join(map(str, targets))}"


def maintenance(zone: str, seconds: int) -> str:
    """Return the command that puts a zone into maintenance, one at a time; it ends automatically after the time."""
    if not zone or seconds <= 0:
        raise ValueError("maintenance needs a zone and a time")
    return f"maintenance on {zone} {seconds}"


MAINTENANCE_OFF = "maintenance off"
MARK = "locality_stateward_proves:"
"""Prefix of a locality that matches no process; an address that is excluded for a proof follows."""


def configure(redundancy: str, engine: str, *, new: bool = False) -> str:
    """Return the configure command; `new` creates an empty database, and is used once in a cluster's life."""
    return " ".join(["configure", *(["new"] if new else []), redundancy, engine])


ERROR = re.compile(r"(?<![a-z0-9.-])error(?![a-z0-9-])")
"""Matches the separate word only, because the answer to `exclude` contains many names."""
WARNINGS = {
    "exclusion in progress": Outcome.GOES_ON,
    "no servers found with this locality": Outcome.MATCHES_NOBODY,
    "is a coordinator!": Outcome.COORDINATES,
    "missing from cluster": Outcome.MISSING,
}
"""Texts that `exclude` prints with exit code 0, the worst first: one answer may cover several targets."""


def judge(printed: Printed) -> tuple[Outcome, str]:
    """Return the outcome of a command, with the database's message if it failed."""
    text = without_keys(without_asides(printed.output).strip())
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


def not_empty_problem(printed: Printed) -> str | None:
    """Return why a blocking `exclude` did not prove that its targets are empty; None if it did.

    A missing message proves nothing: the answer must name the targets as safe to remove, or as addresses without a
    process.
    """
    outcome, words = judge(printed)
    proved = "safe to remove" in printed.output.lower()
    if outcome is Outcome.MISSING or (outcome is Outcome.DONE and proved):
        return None
    return words or "the database did not confirm that it is safe to remove them"
