"""The live timeline and the latest changes of one cluster: pure, grown by each state of it that is seen."""

from msgspec import Struct
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus
from stateward.cli.status.news import lasting_activities, news
from stateward.planning.model.intent import State
from stateward.planning.report.comes_back import comes_back
from stateward.timeline.advance import advance
from stateward.timeline.from_history import natural, timeline_of
from stateward.timeline.history import History
from stateward.timeline.model import Row, Timeline

KEPT = 120
"""Changes that are kept; the oldest are dropped."""


class Change(Struct, frozen=True):
    """A change in words, at a time in seconds since the epoch."""

    at: float
    text: str


class Seen(Struct, frozen=True):
    """What was seen of a cluster since `begin`; the history may be older."""

    begin: float = 0.0
    history: History = History()
    changes: tuple[Change, ...] = ()
    printed: frozenset[str] = frozenset()
    """Activities that last and are not repeated."""


def grown(seen: Seen, before: Cluster | None, cluster: Cluster, now: float) -> Seen:
    """Return what was seen with a further state of the cluster; `before` is the state seen before it."""
    lines = news(before, cluster, seen.printed) if before is not None else ()
    return Seen(
        seen.begin or now,
        advance(seen.history, cluster, stepping(cluster.status), now),
        (*seen.changes, *(Change(now, line) for line in lines))[-KEPT:],
        lasting_activities(seen.printed, cluster),
    )


def stepping(status: ClusterStatus) -> ClusterStatus:
    """Return the status in which a member that stops for its pending change is in that step.

    The operator writes its status every few seconds, so a viewer may never see the state that named the step.
    """
    leaving = {removal.name for removal in status.pending_removals}
    members = [
        replace(member, state=State.RESTARTING.value)
        if member.pending and member.state == State.DOWN and comes_back(member) and member.name not in leaving
        else member
        for member in status.member_states
    ]
    return replace(status, member_states=members)


def drawn(seen: Seen, cluster: Cluster, now: float) -> Timeline:
    """Return the timeline of a cluster until now, with a row for each present member."""
    made = timeline_of(seen.history, cluster.metadata.name, now)
    members = {row.name: row for row in made.rows[1:]}
    members |= {member.name: Row(member.name, member.pool) for member in cluster.status.member_states}
    rows = sorted(members.values(), key=lambda row: (row.group, *natural(row.name)))
    waits = made.rows[:1] if any(span.row == made.rows[0].name for span in made.spans) else ()
    return replace(made, begin=min(made.begin, seen.begin or now), rows=(*waits, *rows))
