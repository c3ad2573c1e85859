"""What a changed spec does to the dashboards and routes, in sentences for `plan`."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.dashboards.decision import Asked, goal_of
from stateward.engines.search.dashboards.frontend import frontend
from stateward.engines.search.dashboards.objects import knows_versions
from stateward.engines.search.dashboards.routes import routes_of


def access_notes(cluster: Cluster) -> Iterator[str]:
    """Yield the sentences about a cluster as offered, with the status that it has."""
    if not isinstance(cluster, SearchCluster):
        return
    asked, known = cluster.spec.dashboards, cluster.status.dashboards
    which = frontend(cluster)
    if asked is None:
        if known is not None:
            yield f"{which.title} is removed; its encryption keys stay until the cluster is deleted"
    else:
        deployed = cluster.status.version
        wanted = Asked(
            asked.replicas, cluster.spec.version, deployed, asked.version, knows_versions(which, cluster, asked)
        )
        runs = known.version if known is not None else ""
        goal = goal_of(wanted, runs)
        if goal.message:
            yield f"{which.title}: {goal.message}"
        elif goal.version != runs:
            yield (
                f"{which.title} starts with {goal.version}"
                if not runs
                else f"{which.title} stops, and starts with {goal.version}"
            )
    for route in routes_of(cluster, secured=False):
        hosts, place = ", ".join(route.routes.hosts), f"{route.service}:{route.port}"
        yield f"{hosts}: {route.kind} to {place}, if the operator makes routes (--routes)"
