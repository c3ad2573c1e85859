"""The status view of one cluster, from its resource alone: a pure function of status and time."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus, MemberStatus
from stateward.api.values.names import ANNOTATION_APPLY, ANNOTATION_CLAIM
from stateward.api.values.quantity import amount
from stateward.cli.shared.absent import missing_members, what_happens
from stateward.cli.shared.ages import age, left
from stateward.planning.model.intent import State

HEALTH = {"green": "green", "yellow": "yellow", "red": "bold red", "unknown": "magenta"}
STATES = {State.READY: "green", State.WAITING: "yellow", State.DOWN: "bold red"}
BUSY = "cyan"
GAP = 2
"""Blanks between two columns."""
READABLE = 8
"""Characters of a column's values that say enough of them."""


def cluster_view(cluster: Cluster, now: float, *, trouble: str = "", wide: bool = False) -> RenderableType:
    """Return the whole view at time `now`; `trouble` is what blocks updates, if anything."""
    status = cluster.status
    parts: list[RenderableType] = [headline(cluster), summary(cluster, now)]
    if status.pools:
        parts += [Text(), pools(status)]
    if any(pool.disk is not None for pool in status.pools):
        parts += [Text(), disks(status, now)]
    if status.member_states:
        parts += [Text(), members(status, now, wide=wide)]
    if any(missing_members(cluster)):
        parts += [Text(), missing(cluster, now)]
    if status.pending_removals:
        parts += [Text(), removals(status, now)]
    if status.waiting:
        parts += [Text(), waiting(status, now)]
    if status.conditions:
        parts += [Text(), conditions(status, now)]
    if trouble:
        parts += [Text(), Text(f"no answer from the API server: {trouble}", style="bold red")]
    return Group(*parts)


def headline(cluster: Cluster) -> Text:
    """Return the cluster's name and kind."""
    meta = cluster.metadata
    return Text.assemble((meta.name, "bold"), f"  {cluster.kind} in namespace {meta.namespace}")


def summary(cluster: Cluster, now: float) -> Table:
    """Return version, health, members and current activity."""
    status = cluster.status
    table = grid()
    table.add_row("version", version(cluster))
    table.add_row("health", Text(status.health or "unknown", style=HEALTH.get(status.health, "magenta")))
    table.add_row("members", f"{status.members.ready} of {status.members.desired} ready")
    table.add_row("activity", status.activity or "no operator has observed this cluster yet; check that one is running")
    if status.dashboards is not None:
        why = f": {status.dashboards.message}" if status.dashboards.message else ""
        table.add_row("dashboards", f"{dashboards_standing(status)}{why}")
    if status.metrics is not None:
        table.add_row("metrics", metrics_standing(status))
    if status.remote_clusters:
        table.add_row("remote", remote_standing(status))
    if status.routes is not None:
        table.add_row(
            "routes", "; ".join(part for part in (", ".join(status.routes.urls), status.routes.message) if part)
        )
    if claim := cluster.metadata.annotations.get(ANNOTATION_CLAIM):
        table.add_row("wave", f"managed by the operator of wave {claim}")
    if status.outdated_pods:
        table.add_row("pending", outdated(status.outdated_pods))
    if status.last_progress_time:
        table.add_row("progress", f"{age(status.last_progress_time, now)} ago")
    if 0 < status.observed_generation < cluster.metadata.generation:
        table.add_row("note", Text("the operator has not observed the latest change of the spec yet", style="yellow"))
    return table


def dashboards_standing(status: ClusterStatus) -> str:
    """Return version, instances and availability of the dashboards as a clause; empty without dashboards."""
    found = status.dashboards
    if found is None:
        return ""
    ready = f"{found.ready} of {found.replicas} instances ready"
    return f"{found.version or 'no version yet'}, {ready}, {'available' if found.available else 'not available'}"


def metrics_standing(status: ClusterStatus) -> str:
    """Return where the exporter of metrics stands as a clause; empty without one."""
    found = status.metrics
    if found is None:
        return ""
    return f"served at {found.url}" if found.available else f"not available: {found.message}"


def remote_standing(status: ClusterStatus) -> str:
    """Return the remote clusters by alias as a clause, with what is wrong; empty without one."""
    return "; ".join(
        f"{each.name} {each.state.lower()}{f': {each.message}' if each.message else ''}"
        for each in status.remote_clusters or ()
    )


def outdated(pods: int) -> str:
    """Return what is pending since an upgrade of the operator."""
    return (
        f"{amount(pods, 'pod')} of an earlier version of Stateward; renewed when next recreated, or by the annotation"
        f" {ANNOTATION_APPLY}=true"
    )


def version(cluster: Cluster) -> str:
    """Return the deployed version, and the desired one if it differs."""
    deployed, wanted = cluster.status.version, cluster.spec.version
    if deployed == wanted:
        return deployed
    return f"{deployed or 'none yet'} → {wanted}"


def pools(status: ClusterStatus) -> Table:
    """Return one line per pool."""
    table = columns("POOL", "READY", "VERSION", "UPGRADE")
    for pool in status.pools:
        table.add_row(pool.name, f"{pool.ready}/{pool.desired}", pool.version, pool.upgrade)
    return table


def disks(status: ClusterStatus, now: float) -> Table:
    """Return one line per pool whose volumes grow by themselves: how full they are, and when they will be full."""
    table = columns("DISKS OF", "SIZE", "USED", "FULLEST", "FULL IN")
    for pool in status.pools:
        if (disk := pool.disk) is not None:
            table.add_row(
                pool.name,
                disk.volume_size,
                f"{disk.used_percent}%",
                disk.member,
                left(disk.full_time, now) or "not known",
            )
    return table


def members(status: ClusterStatus, now: float, *, wide: bool = False) -> Table:
    """Return one line per member; the wide one also has pool, address and volume."""
    more = ("POOL", "ADDRESS", "VOLUME") if wide else ()
    table = columns("MEMBER", "STATE", "FOR", "VERSION", "NODE", "ZONE", *more, "PENDING", "REASON")
    for member in status.member_states:
        state = Text(member.state, style=state_style(member))
        place = (member.node, member.zone, *((member.pool, member.address, member.volume) if wide else ()))
        since = age(member.last_transition_time, now)
        table.add_row(member.name, state, since, member.version, *place, member.pending, member.reason)
    return table


def missing(cluster: Cluster, now: float) -> Table:
    """Return one line per missing member: since when, why, and what happens next."""
    table = columns("MISSING", "FOR", "WHY", "NEXT")
    for member in missing_members(cluster):
        table.add_row(
            member.name, age(member.missing_since_time, now), member.missing_reason, what_happens(cluster, member)
        )
    return table


def removals(status: ClusterStatus, now: float) -> Table:
    """Return one line per member that is replaced or leaves."""
    table = columns("REPLACED OR LEAVES", "FOR", "BY", "PHASE", "WHY")
    for entry in status.pending_removals:
        table.add_row(entry.name, age(entry.start_time, now), entry.origin, entry.phase, entry.reason)
    return table


def state_style(member: MemberStatus) -> str:
    """Return the colour of a member's state."""
    return next((style for state, style in STATES.items() if state.value == member.state), BUSY)


def waiting(status: ClusterStatus, now: float) -> Table:
    """Return one line per wait."""
    table = columns("WAITS", "FOR", "REASON", "WAITS FOR")
    for wait in status.waiting:
        table.add_row(wait.subject, age(wait.since_time, now), wait.reason, wait.message)
    return table


def conditions(status: ClusterStatus, now: float) -> Table:
    """Return one line per condition."""
    table = columns("CONDITION", "STATUS", "FOR", "REASON", "MESSAGE")
    for found in status.conditions:
        table.add_row(found.type, found.status, age(found.last_transition_time, now), found.reason, found.message)
    return table


class Columns(Table):
    """A table in kubectl's style: no lines, a head in capitals, the last column gets the remaining width.

    With a `key`, the columns after it give way on a narrow terminal, the last ones first, and then those before it: of
    the first column that does not fit, as much is shown as there is room for, if that is readable.
    """

    def __init__(self, names: Sequence[str], key: str = "") -> None:
        super().__init__(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", show_edge=False)
        self._key = key
        for name in names[:-1]:
            self.add_column(name, no_wrap=name != key, overflow="fold" if name == key else "ellipsis")
        self.add_column(names[-1], overflow="fold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the columns that have room."""
        widths = [
            max(console.measure(cell, options=options).maximum for cell in (column.header, *column.cells))
            for column in self.columns
        ]
        if not self._key or sum(widths) + GAP * (len(widths) - 1) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        shown, kept = Columns([""]), list(self._with_room(widths, options.max_width))
        shown.show_header, shown.columns = self.show_header, []
        for column, width in kept:
            shown.add_column(column.header, no_wrap=column.no_wrap, overflow=column.overflow, width=width)
        for cells in zip(*(column.cells for column, _ in kept), strict=True):
            shown.add_row(*cells)
        yield shown

    def _with_room(self, widths: Sequence[int], room: int) -> Iterator[tuple[Column, int]]:
        """Yield the columns to show, each with its width."""
        key = next(i for i, column in enumerate(self.columns) if column.header == self._key)
        if sum(widths[: key + 1]) + GAP * key > room:
            yield self.columns[key], min(widths[key], room)
            return
        for column, width in zip(self.columns, widths, strict=True):
            if room < min(width, READABLE):
                return
            yield column, min(width, room)
            room -= width + GAP


def columns(*names: str, key: str = "") -> Table:
    """Return a table in kubectl's style; see `Columns`."""
    return Columns(names, key)


def grid() -> Table:
    """Return a table of names and values."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    return table
