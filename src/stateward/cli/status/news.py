"""Changes between two states of a cluster, as lines to append: for logs and pipes."""

from collections.abc import Collection, Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus, MemberStatus
from stateward.cli.shared.picture import dashboards_standing, metrics_standing, remote_standing, version

WAITING = "waiting: "
"""Begins the line of a wait."""


def news(before: Cluster | None, after: Cluster, printed: Collection[str] = ()) -> list[str]:
    """Return one line per relevant change; without an earlier state, a summary of the whole state.

    `printed` has the activities that are not repeated: see `lasting_activities`.
    """
    old = before.status if before else ClusterStatus()
    waits = wait_news(old, after.status)
    return [
        *headlines(before, after, printed),
        *member_news(old, after.status),
        *dashboards_news(old, after.status),
        *metrics_news(old, after.status),
        *waits,
    ]


def lasting_activities(printed: Collection[str], after: Cluster) -> frozenset[str]:
    """Return the printed activities that still last: what a member does while others take their turns."""
    lasting = {member.reason for member in after.status.member_states}
    return frozenset(lasting.intersection((*printed, after.status.activity)))


def headlines(before: Cluster | None, after: Cluster, printed: Collection[str]) -> Iterator[str]:
    """Yield the changes of the cluster as a whole."""
    status, old = after.status, before.status if before else ClusterStatus()
    if before is None or version(before) != version(after):
        yield f"version {version(after)}"
    if (old.health, old.ready) != (status.health, status.ready) or before is None:
        yield f"health {status.health or 'unknown'}, {status.members.ready} of {status.members.desired} members ready"
    if status.activity and old.activity != status.activity and status.activity not in printed:
        yield status.activity


def member_news(old: ClusterStatus, new: ClusterStatus) -> Iterator[str]:
    """Yield members that are new, gone, or in another state or version."""
    known = {member.name: member for member in old.member_states}
    for member in new.member_states:
        earlier = known.pop(member.name, MemberStatus(name=member.name))
        if (earlier.state, earlier.version) != (member.state, member.version):
            yield f"{member.name}: {member.state}" + (f" ({member.version})" if member.version else "")
    for name in known:
        yield f"{name}: gone"


def dashboards_news(old: ClusterStatus, new: ClusterStatus) -> Iterator[str]:
    """Yield what the dashboards have become, or wait for."""
    if new.dashboards is None:
        if old.dashboards is not None:
            yield "dashboards: removed"
    elif old.dashboards is None or dashboards_standing(old) != dashboards_standing(new):
        yield f"dashboards: {dashboards_standing(new)}"
    elif new.dashboards.message and new.dashboards.message != old.dashboards.message:
        yield f"dashboards: {new.dashboards.message}"


def metrics_news(old: ClusterStatus, new: ClusterStatus) -> Iterator[str]:
    """Yield what the exporter of metrics has become, or waits for."""
    if remote_standing(old) != remote_standing(new):
        yield f"remote clusters: {remote_standing(new) or 'removed'}"
    if metrics_standing(old) != metrics_standing(new):
        yield f"metrics: {metrics_standing(new) or 'removed'}"


def wait_news(old: ClusterStatus, new: ClusterStatus) -> Iterator[str]:
    """Yield new waits."""
    known = {(wait.subject, wait.message) for wait in old.waiting}
    for wait in new.waiting:
        if (wait.subject, wait.message) not in known:
            yield f"{WAITING}{wait.subject}: {wait.message}"
