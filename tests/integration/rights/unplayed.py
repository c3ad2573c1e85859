"""Rights of the operator that no scenario of the tests uses, and what uses them."""

from tests.integration.rights.rights import Right

BY_HAND = {
    "list": "a server that does not stream what there is when a watch begins is asked for pages",
    "patch events.events.k8s.io": "an event that repeats within minutes is counted, and not written anew",
    "create leases.coordination.k8s.io": "the first operator ever makes the lease",
    "delete poddisruptionbudgets.policy": "a pool that is removed, or needs no budget any more",
    "delete configmaps": "a pool that is removed",
    "delete services": "a pool that is removed",
    "watch cronjobs.batch": "CronJobs of a package are watched as its Deployments are",
    "clusterpackages.stateward.dev": "a package for all namespaces is read as one of the namespace is",
    "esclusters.stateward.dev": "read and annotated by the same code as OpenSearch clusters",
    "fdbclusters.stateward.dev": "read and annotated by the same code as OpenSearch clusters",
    "patch searchrestores.stateward.dev": "a restore that closes indices is held; the fake database here has none",
    "patch osclusters.stateward.dev": "annotations that ask for a restart are taken off when it is done",
    "/finalizers.stateward.dev": "asked for where the admission plugin OwnerReferencesPermissionEnforcement is on",
}
"""Rights that no scenario here uses, by their name or its end, and their users."""


def explained(right: Right) -> bool:
    """Return whether it is said what uses a right."""
    return right.verb in BY_HAND or any(str(right).endswith(name) for name in BY_HAND)
