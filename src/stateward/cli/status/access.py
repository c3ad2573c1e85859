"""What is beside the database of a cluster, and its remote clusters: what each waits for, and what ends it."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.cli.shared.advice import UNKNOWN, Advice, told
from stateward.cli.shared.ages import age
from stateward.cli.shared.picture import dashboards_standing, metrics_standing
from stateward.engines.exporter.objects import asked_of

_SPEC = "correct the field named above; `validate -f` checks a file before you apply it"
ACCESS_ADVICE = {
    "DashboardsAhead": Advice(
        "the cluster runs that version or a later one",
        "set spec.version of the cluster, or an earlier spec.dashboards.version",
    ),
    "DashboardsCannotGoBack": Advice(
        "spec.dashboards.version is that version or a later one. Until then they stay as they are",
        "leave spec.dashboards.version out, or restore the saved objects from a snapshot under another cluster",
    ),
    "DashboardsFailing": Advice(
        "their pods run",
        "read the log of the pod: `kubectl logs -l stateward.dev/dashboards-of=NAME`",
    ),
    "DashboardsImageWithoutVersion": Advice(
        "the image of the version that may run is known",
        "set spec.dashboards.image to one whose tag has the version in it",
    ),
    "DashboardsInvalid": Advice("the block is valid. Until then they stay as they are", _SPEC),
    "DashboardsKeysUnreadable": Advice(
        "the Secret can be read. The operator makes no other keys: what they have encrypted would be lost",
        "restore the Secret from a backup",
    ),
    "DashboardsNameTaken": Advice(
        "the name is free", "rename or delete the object named above; nothing is done to it until then"
    ),
    "DashboardsNoDatabase": Advice(
        "the operator reaches the database", "see with `explain` what the cluster itself waits for"
    ),
    "DashboardsNotAccepted": Advice(
        "the API server accepts the pods and the Service",
        "correct the field named above; kubectl explain deployment.spec.template.spec lists the fields of pods",
    ),
    "DashboardsPodNotAllowed": Advice(
        "the pods ask only for what they may have, or the object that they name is allowed for them",
        "correct the field named above, or label the object named above with the command in the message",
    ),
    "DashboardsReconcileFailing": Advice(
        "a reconciliation succeeds; the operator retries", "read the operator's log; if rights are missing, grant them"
    ),
    "DashboardsRefused": Advice(
        "the database accepts the request; the operator repeats it",
        "see the reason in the message; `explain` shows what the cluster itself waits for",
    ),
    "DashboardsRemoving": Advice("their objects and pods are gone"),
    "DashboardsSilent": Advice(
        "all instances answer the operator",
        "check that the operator reaches port 5601 of the pods, and read their log",
    ),
    "DashboardsStarting": Advice(
        "all instances are ready. The first one of a new version migrates the saved objects before",
        "if it takes longer than some minutes, read the log of the pods",
    ),
    "DashboardsStopping": Advice("no instance of the earlier version runs"),
    "DashboardsTlsUnusable": Advice(
        "the certificate can be used", "correct the Secret, or leave spec.dashboards.tls.secretName out"
    ),
    "DashboardsTooOld": Advice(
        "spec.dashboards.version has the major version of the cluster", "leave spec.dashboards.version out"
    ),
    "DashboardsUnavailable": Advice(
        "all instances report that they are available", "open their status page, and read the log of the pods"
    ),
    "DashboardsUserTaken": Advice(
        "the database has no such user of others", "delete the user, or the SearchUser that declares it"
    ),
    "DashboardsWaitForCluster": Advice(
        "all members of the new cluster have joined", "see with `explain` what the cluster itself waits for"
    ),
    "DashboardsWaitForUpgrade": Advice(
        "all members run the new version; the dashboards then follow by themselves", "follow it with `status --watch`"
    ),
    "GatewayApiMissing": Advice(
        "the API server has the kind HTTPRoute", "install the CRDs of the Gateway API, or leave parentRefs out"
    ),
    "MetricsFailing": Advice(
        "its pod runs", "read the log of the pod: `kubectl logs -l stateward.dev/metrics-of=NAME`"
    ),
    "MetricsInvalid": Advice("the block is valid. Until then the exporter stays as it is", _SPEC),
    "MetricsNameTaken": Advice(
        "the name is free", "rename or delete the object named above; nothing is done to it until then"
    ),
    "MetricsNoImage": Advice(
        "the operator knows its image", "run it with --agent-image, as the Helm chart does, or remove spec.metrics"
    ),
    "MetricsNotAccepted": Advice(
        "the API server accepts the pod",
        "correct the field named above; kubectl explain deployment.spec.template.spec lists the fields of pods",
    ),
    "MetricsPodNotAllowed": Advice(
        "the pod asks only for what it may have, or the object that it names is allowed for it",
        "correct the field named above, or label the object named above with the command in the message",
    ),
    "MetricsReconcileFailing": Advice(
        "a reconciliation succeeds; the operator retries", "read the operator's log; if rights are missing, grant them"
    ),
    "MetricsRefused": Advice(
        "the database accepts the request; the operator repeats it",
        "see the reason in the message; `explain` shows what the cluster itself waits for",
    ),
    "MetricsRemoving": Advice("its objects and its pod are gone"),
    "MetricsSilent": Advice(
        "the exporter answers the operator",
        "check that the operator reaches port 9114 of the pod, and read its log",
    ),
    "MetricsStarting": Advice(
        "the pod is ready",
        "if it takes longer than a minute, see `kubectl describe pod -l stateward.dev/metrics-of=NAME`",
    ),
    "MetricsUnavailable": Advice(
        "the exporter reads the database; it serves no old values until then",
        "see the reason in the message; `explain` shows what the cluster itself waits for",
    ),
    "MetricsUserTaken": Advice(
        "the database has no such user or role of others", "delete it there, or the resource that declares it"
    ),
    "MetricsWaitForDatabase": Advice(
        "the operator reaches the database", "see with `explain` what the cluster itself waits for"
    ),
    "RemoteAccessInvalid": Advice("the block is valid. Until then no Service is made for other clusters", _SPEC),
    "RemoteAccessNameTaken": Advice(
        "the name is free", "rename or delete the object named above; nothing is done to it until then"
    ),
    "RemoteClusterConflict": Advice(
        "the database has no such settings of others. They are neither changed nor removed",
        "set them to null with PUT _cluster/settings, or rename or remove the entry in spec.remoteClusters",
    ),
    "RemoteClusterConnecting": Advice(
        "a member is connected. Changed CAs reach the pods within two minutes, and members of the other cluster may"
        " have to restart first",
        "see with `explain` what the other cluster waits for, and that network policies let its port 9300 be reached",
    ),
    "RemoteClusterInvalid": Advice("the entry is valid. Until then it has no effect", _SPEC),
    "RemoteClusterMissing": Advice(
        "a cluster of the same kind has that name. Until then nothing is set in the database",
        "correct cluster.name and cluster.namespace of the entry, or create the cluster",
    ),
    "RemoteClusterNotAllowed": Advice(
        "the other cluster names this one in its spec.remoteAccess. Until then nothing is set in the database",
        "ask the owner of that cluster to write the line in the message",
    ),
    "RemoteClusterReconcileFailing": Advice(
        "a reconciliation succeeds; the operator retries", "read the operator's log; if rights are missing, grant them"
    ),
    "RemoteClusterRefused": Advice(
        "the database accepts the request; the operator repeats it",
        "see the reason in the message; settings of the same alias in spec.config must be removed",
    ),
    "RemoteClusterRemoving": Advice("its settings are removed from the database"),
    "RemoteClusterSecurityDiffers": Advice(
        "both clusters are secured, or both are not", "set spec.security.enabled of one to that of the other"
    ),
    "RemoteClusterUnknown": Advice(
        "the operator can read the other cluster. Until then the settings in the database stay as they are",
        "let the operator manage that namespace, too (-n); if the message names a field, the owner has to correct it",
    ),
    "RemoteClusterWaitForDatabase": Advice(
        "the operator reaches the database", "see with `explain` what the cluster itself waits for"
    ),
    "RouteEnding": Advice("the earlier object of the name is gone"),
    "RouteFailing": Advice(
        "the operator can read and write Ingresses and HTTPRoutes; it retries",
        "install with `routes: true`, which grants the rights",
    ),
    "RouteInvalid": Advice("the routes are valid", _SPEC),
    "RouteNameTaken": Advice(
        "the name is free", "rename or delete the object named above; nothing is done to it until then"
    ),
    "RouteRefused": Advice("the API server accepts the route", "correct what the message names"),
    "RouteSecretNotAllowed": Advice(
        "the Secret of tlsSecretName exists and is allowed for the cluster",
        "label it as the message says, or leave it out",
    ),
    "RoutesOff": Advice(
        "the operator makes routes, or the field is removed",
        "have an administrator install the operator with `routes: true` (--routes), or write an Ingress yourself",
    ),
}
"""For each reason of dashboards, metrics, routes and remote clusters: what ends it, and what the user can do."""


def access_lines(cluster: Cluster, now: float) -> list[str]:
    """Return the lines about what is beside the database for `explain`; none if there is nothing."""
    return list(_explained(cluster, now))


def _explained(cluster: Cluster, now: float) -> Iterator[str]:
    found = cluster.status.dashboards
    if found is None and isinstance(cluster, SearchCluster) and cluster.spec.dashboards is not None:
        yield "The operator has not observed the dashboards yet."
    if found is not None:
        yield f"Dashboards: {dashboards_standing(cluster.status)}."
        if found.reason:
            since = age(found.since_time, now)
            yield f"They have waited {since} ({found.reason}): {found.message}."
            yield from told(ACCESS_ADVICE.get(found.reason, UNKNOWN))
    yield from _metrics(cluster, now)
    yield from _remote(cluster, now)
    routes = cluster.status.routes
    if routes is not None and routes.reason:
        yield f"Routes ({routes.reason}): {routes.message}."
        yield from told(ACCESS_ADVICE.get(routes.reason, UNKNOWN))


def _remote(cluster: Cluster, now: float) -> Iterator[str]:
    known = {each.name: each for each in cluster.status.remote_clusters or ()}
    asked = cluster.spec.remote_clusters if isinstance(cluster, SearchCluster) else None
    for entry in asked or ():
        if entry.name not in known:
            yield f"The operator has not observed the remote cluster {entry.name} yet."
    for found in known.values():
        yield f"Remote cluster {found.name}: {found.state} ({found.cluster})."
        if found.reason:
            yield f"It has waited {age(found.since_time, now)} ({found.reason}): {found.message}."
            yield from told(ACCESS_ADVICE.get(found.reason, UNKNOWN))
    access = cluster.status.remote_access
    if access is not None and access.reason:
        yield f"Access of other clusters ({access.reason}): {access.message}."
        yield from told(ACCESS_ADVICE.get(access.reason, UNKNOWN))


def _metrics(cluster: Cluster, now: float) -> Iterator[str]:
    found = cluster.status.metrics
    if found is None:
        if asked_of(cluster) is not None:
            yield "The operator has not observed the exporter of metrics yet."
        return
    yield f"Metrics: {metrics_standing(cluster.status)}."
    if found.reason:
        yield f"The exporter has waited {age(found.since_time, now)} ({found.reason})."
        yield from told(ACCESS_ADVICE.get(found.reason, UNKNOWN))
