"""What the statuses of declared resources say, and whether it is true in the end."""

from collections.abc import Callable, Iterator

from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster


def judged(
    resource: Stored,
    kind: str,
    database: Cluster | None,
    differences: Callable[[Cluster], Iterator[str]],
    says_why: Callable[[Cluster], bool],
) -> Iterator[str]:
    """Yield what is wrong in the end: a Ready resource that differs, or another one that does not truly say why."""
    name, status = resource.key.name, part(resource.doc, "status")
    told = f"{reason_of(resource)}: {status.get('activity', '')}"
    if resource.terminating:
        yield f"the {kind} {name} is still there ({told})"
    elif status.get("observedGeneration") != resource.meta["generation"]:
        yield f"the status of the {kind} {name} is of an older generation"
    elif database is None:
        yield f"the {kind} {name} has no database"
    elif is_ready(resource):
        yield from differences(database)
    elif not says_why(database):
        yield f"the {kind} {name} is not Ready ({told})"


def is_ready(resource: Stored) -> bool:
    """Return whether the status of a resource says that this generation is in the database."""
    conditions = items(resource.doc, "status", "conditions")
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and part(resource.doc, "status").get("observedGeneration") == resource.meta["generation"]


def reason_of(resource: Stored) -> str:
    """Return why a resource is ready or not, in one word; empty before the first status."""
    conditions = items(resource.doc, "status", "conditions")
    return next((str(each["reason"]) for each in conditions if each["type"] == "Ready"), "")
