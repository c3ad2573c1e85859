"""Shortens the sentences of a status, so that the API server takes that of the largest cluster.

Sentences have texts of other programs: of a scheduler, of a storage driver, and the last words of a process, up to
4 KiB of each container. The disaster this prevents: hundreds of members do not start, the status becomes larger than
etcd takes (1.5 MiB), and so no round of the cluster ends, and nothing says why.
"""

from bisect import bisect

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus

ROOM = 300_000
"""Bytes of the sentences about single members and waits, all together; the rest of 1000 members needs twice as much."""
LONGEST = 8_000
"""Bytes of one sentence."""
CUT = "..."
"""Ends a sentence that was shortened."""


def bounded(status: ClusterStatus) -> ClusterStatus:
    """Return a status whose sentences are short enough; long ones end with dots."""
    of_members = [m.reason for m in status.member_states]
    of_waits = [w.message for w in status.waiting]
    of_removals = [r.reason for r in status.pending_removals]
    sizes = [size(text) for text in (*of_members, *of_waits, *of_removals)]
    most = LONGEST if sum(sizes) <= ROOM else min(LONGEST, ROOM // len(sizes))
    return replace(
        status,
        activity=begin(status.activity, LONGEST),
        member_states=[replace(m, reason=begin(m.reason, most)) for m in status.member_states],
        waiting=[replace(w, message=begin(w.message, most)) for w in status.waiting],
        pending_removals=[replace(r, reason=begin(r.reason, most)) for r in status.pending_removals],
        conditions=[replace(c, message=begin(c.message, LONGEST)) for c in status.conditions],
    )


def begin(text: str, most: int) -> str:
    """Return a text, or the begin of one that would take more than so many bytes."""
    if size(text) <= most:
        return text
    lengths = range(1, most + 1)
    return text[: bisect(lengths, most - len(CUT), key=lambda length: size(text[:length]))] + CUT


def size(text: str) -> int:
    """Return how many bytes a text takes in a status, which is JSON."""
    return len(msgspec.json.encode(text)) - 2
