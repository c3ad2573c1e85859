"""The reference page of conditions and events: each reason with its meaning, by the resource that it is about."""

from collections.abc import Mapping

from release.generated.reasons import cell

CONDITIONS: Mapping[str, str] = {
    "Ready": "It matches its spec; nothing is in progress or pending.",
    "Reconciling": "Something is in progress or pending, and no manual intervention is required.",
    "Stalled": "Manual intervention is required. It is never True together with Reconciling.",
    "Available": "Clusters only. The database answers, and every shard has a started copy; Unknown while it does not"
    " answer.",
    "Upgrading": "Clusters only. The spec requests a version other than the deployed one.",
}
"""What True means, by the type of a condition."""

CONDITION_REASONS: Mapping[str, tuple[str, ...]] = {
    "Ready": ("Settled", "Applied", "Installed", "InProgress", "Working"),
    "Reconciling": ("InProgress", "PlanRuns", "Removing", "Settled", "Stalled"),
    "Stalled": ("Progressing", "Working"),
    "Available": ("Serving", "ShardsWithoutCopy", "DatabaseUnknown"),
    "Upgrading": ("VersionChange",),
}
"""The reasons of a condition that are no reasons to wait."""

EVENTS: Mapping[str, Mapping[str, str]] = {
    "Clusters": {
        "AuthorityChanges": "The CA is being replaced; members trust both until all have new certificates.",
        "BootstrapGranted": "One member with an empty volume was allowed to form the cluster.",
        "CertificatesRenewed": "Certificates of members were renewed.",
        "ConfigurationDeleted": "The configuration of a member that is gone was deleted.",
        "ConsentUsed": "The annotation that allows an empty cluster was removed: it is used, or no longer needed.",
        "CopiesMoving": "The database was asked to move shard copies.",
        "DashboardsAvailable": "OpenSearch Dashboards or Kibana serves.",
        "DashboardsRemoved": "The dashboards were removed.",
        "DatabaseConfigured": "The redundancy or the coordinators of a database were changed.",
        "DatabaseCreated": "An empty database was created, after the database had said that there is none.",
        "Deployed": "Every member runs the version.",
        "DrainUpdated": "The list of members that the database moves data away from was changed.",
        "MemberCreated": "A member was created.",
        "MemberDeleted": "A member was deleted; its data are elsewhere.",
        "MemberReleased": "A member that holds nothing which is not elsewhere stops: its StatefulSet has size zero.",
        "MetricsAvailable": "The exporter of the database's metrics serves.",
        "MetricsRemoved": "The exporter was removed.",
        "PodDeleted": "A pod was deleted, to be created again with what has changed.",
        "PoolResized": "The number of members of a pool that scales has changed.",
        "ProcessStopping": "The process of a member was told to stop, in its pod.",
        "RemoteClusterConnected": "The database can search the remote cluster.",
        "RemoteClusterRemoved": "The remote cluster was removed from the database.",
        "ReplacementCancelled": "The replacement of a member was cancelled.",
        "ReplacementStarted": "The replacement of a member was decided and recorded.",
        "RestartFinished": "A member is back after a restart.",
        "RestartScheduled": "A requested restart was recorded on the pods, and the request removed.",
        "RestoreCreated": "The restore of the snapshot that the cluster begins with was created.",
        "VolumeDeleted": "The volume of a member that has left was deleted.",
        "VolumeExpansionRequested": "A larger volume was requested.",
        "VolumeMarked": "A volume was marked, so that no new member starts with it; or the mark was removed.",
        "VolumeOwned": "A volume got its cluster as the owner, so it is deleted with it.",
        "VolumeRetained": "A volume lost its owner, so it stays when the cluster is deleted.",
        "VotingExclusionsUpdated": "The list of managers without a vote was changed.",
    },
    "Clusters, warnings": {
        "DetectionRefused": "The CronJob that detects missing members cannot be as the chart asks for it.",
        "NetworkPolicyRefused": "The network policy of the cluster cannot be as it should.",
        "RemoteClusterLeft": "The settings of a remote cluster were changed by hand in the database, so they stay.",
    },
    "Resources for a cluster": {
        "Applied": "It was written to the database.",
        "DriftCorrected": "A warning: another client had changed it in the database; it was written again.",
        "Restored": "All primaries are restored.",
        "SnapshotExpired": "A snapshot was deleted by the retention of its schedule.",
        "SnapshotTaken": "A snapshot is complete.",
        "SnapshotVerified": "A snapshot was restored into a throw-away cluster, and its documents were counted.",
        "UserRetired": "The previous name of a user with a rotated password was deleted.",
        "VerificationFailed": "A warning: a snapshot could not be restored into a throw-away cluster.",
    },
    "Installations": {
        "PlanBegins": "A plan begins, and why.",
        "PlanDone": "A plan is done.",
        "PutRight": "Changes of other clients to the objects of the package were reverted.",
        "Restart": "Pods restart because data that they use has changed.",
    },
    "Workloads with restart control": {
        "Restart": "Pods restart because of the keys that are named.",
    },
}
"""By the resource, and by reason: what has happened."""

_HEAD = """\
<!-- Generated from release/generated/events.py; renew it with `make docs`. -->

# Conditions and events

## Conditions

They follow kstatus, so `kubectl wait` and GitOps tools understand them. Clusters, installations and resources for a
cluster have them. The reason is one of these, or a [reason to wait](wait-reasons.md), above all of `Stalled` and of a
resource for a cluster. Without an operator, the conditions stay as they were.

| condition | True means | reasons |
| --- | --- | --- |
"""
_EVENTS = """
## Events

`kubectl stateward events NAME` lists them for a cluster and its objects. Events go after an hour, as the API server
keeps them; [the history](../diagnosis.md) of a cluster stays. These say what has happened. In addition, a wait that
needs manual intervention is a warning with the reason of the [condition](wait-reasons.md).
"""
_COLUMNS = """\
| reason | meaning |
| --- | --- |
"""


def page() -> str:
    """Return the page."""
    sections = (f"\n### {about}\n\n{_COLUMNS}{_rows(said)}" for about, said in EVENTS.items())
    conditions = (
        f"| `{name}` | {cell(text)} | {', '.join(f'`{reason}`' for reason in CONDITION_REASONS[name])} |\n"
        for name, text in CONDITIONS.items()
    )
    return _HEAD + "".join(conditions) + _EVENTS + "".join(sections)


def _rows(said: Mapping[str, str]) -> str:
    return "".join(f"| `{reason}` | {cell(text)} |\n" for reason, text in said.items())
