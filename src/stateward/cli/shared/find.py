"""Finds a cluster by its name, of any kind: users name clusters, not kinds."""

from collections.abc import Awaitable, Callable, Iterable

import click

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import MemberStatus
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import ListOptions
from stateward.kube.objects.errors import NotFound, UnknownResource
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.watching import Unreadable
from stateward.operator.objects.kinds import ClusterKind


async def read_cluster(session: Session, name: str) -> Cluster:
    """Return a cluster; raise Failure if no kind or several kinds have this name."""

    async def read(kind: ClusterKind) -> list[Cluster]:
        try:
            return [await session.api.get(kind.resource, session.key(name))]
        except NotFound:
            return []

    if not name:  # The path without a name is that of the list of all.
        raise no_such_cluster(session, name)
    found = await of_each(session, read)
    if not found and (owner := await owner_of(session, name)):
        raise Failure(f"{name} is a member of cluster {owner}: name the cluster, and then the member: {owner} {name}")
    if not found:
        raise no_such_cluster(session, name)
    if len(found) > 1:
        which = " and ".join(f"{'an' if cluster.kind[0] in 'AEIO' else 'a'} {cluster.kind}" for cluster in found)
        raise Failure(f"there is {which} called {name!r} in namespace {session.namespace!r}; name the kind with --kind")
    return found[0]


async def all_clusters(session: Session, namespace: str, labels: str = "") -> list[Cluster]:
    """Return the clusters of a namespace, or of all if it is empty, with these labels.

    Raise Failure if one cannot be read.
    """

    async def read(kind: ClusterKind) -> list[Cluster]:
        state = await list_all(session.api, kind.resource, Selection(namespace, labels=labels))
        if state.troubles:
            raise unreadable("cluster", state.troubles[0])
        return list(state.hand_over())

    found = await of_each(session, read)
    return in_order(found)


def unreadable(what: str, trouble: Unreadable) -> Failure:
    """Return the failure of a list in which an object cannot be read: without it, the list would look complete."""
    return Failure(
        f"{what} {trouble.key} cannot be read: {trouble.reason}; check whether this program is older than the CRDs"
    )


def in_order(clusters: Iterable[Cluster]) -> list[Cluster]:
    """Return clusters by namespace, name and kind."""
    return sorted(clusters, key=lambda cluster: (cluster.metadata.namespace, cluster.metadata.name, cluster.kind))


async def served(session: Session, selection: Selection) -> list[ClusterKind]:
    """Return the kinds of clusters that the server has and the viewer may list; raise ApiError."""
    found = list[ClusterKind]()

    async def read(kind: ClusterKind) -> list[Cluster]:
        await session.api.list(kind.resource, selection, ListOptions(limit=1))
        found.append(kind)
        return []

    await of_each(session, read)
    return found


async def chosen(session: Session, name: str | None, selector: str, *, everywhere: bool) -> list[Cluster]:
    """Return the named cluster, or without a name those of the namespace (or of all) with these labels.

    Raise Failure if there is no cluster of the name, UsageError if a selection is given with it.
    """
    if name is None:
        return await all_clusters(session, "" if everywhere else session.namespace, selector)
    if everywhere or selector:
        raise click.UsageError("NAME is one cluster, -A and -l choose among all: give either")
    return [await read_cluster(session, name)]


def none_found(namespace: str, selector: str) -> str:
    """Return the message if a selection in a namespace (empty: all) has no cluster."""
    where = f"namespace {namespace!r}; --all-namespaces searches all namespaces" if namespace else "any namespace"
    which = f" with the labels {selector}" if selector else ""
    return f"there is no cluster{which} in {where}"


async def of_each(session: Session, read: Callable[[ClusterKind], Awaitable[list[Cluster]]]) -> list[Cluster]:
    """Return the clusters of each kind, without kinds that are not installed.

    Raise UnknownResource if none is installed.
    """
    found: list[Cluster] = []
    missing: list[UnknownResource] = []
    for kind in session.kinds:
        try:
            found += await read(kind)
        except UnknownResource as error:
            missing.append(error)
    if len(missing) == len(session.kinds):
        raise missing[0]
    return found


def no_such_cluster(session: Session, name: str) -> Failure:
    """Return the failure for a cluster that does not exist."""
    what = "cluster" if len(session.kinds) > 1 else " or ".join(kind.resource.kind for kind in session.kinds)
    return Failure(f"there is no {what} {name!r} in namespace {session.namespace!r}; `list --all-namespaces` shows all")


async def owner_of(session: Session, name: str) -> str:
    """Return the cluster that has a member with this name; empty if there is none."""
    shorter = name.removesuffix("-0")
    for cluster in await all_clusters(session, session.namespace):
        if {name, shorter} & {member.name for member in cluster.status.member_states}:
            return cluster.metadata.name
    return ""


def find_member(cluster: Cluster, name: str) -> MemberStatus:
    """Return a member by its name, or by the part after the cluster's name; raise Failure if there is none."""
    states = {state.name: state for state in cluster.status.member_states}
    found = states.get(name) or states.get(f"{cluster.metadata.name}-{name}") or states.get(name.removesuffix("-0"))
    if found is None:
        raise Failure(f"{cluster.metadata.name} has no member {name!r}; it has {', '.join(sorted(states)) or 'none'}")
    return found
