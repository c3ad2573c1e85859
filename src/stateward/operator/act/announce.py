"""Records, as Kubernetes Events on the cluster resource, what was done and which waits need manual intervention."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.conditions import stalled
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.operator.objects.kinds import kind_of
from stateward.planning.model import actions as a

ROUTINE = (
    *(a.Flush, a.RecordBootstrap, a.MarkState, a.ForgetState, a.SetPhase, a.StartProcess, a.RecordData),
    *(a.Stage, a.LimitAllocation, a.RestoreAllocation, a.ResumeBalancing),
)
"""Steps that mean nothing by themselves: each restart of a member has them, and is announced as one."""

REASONS: dict[type[a.Action], str] = {
    a.Create: "MemberCreated",
    a.DeletePod: "PodDeleted",
    a.StopProcess: "ProcessStopping",
    a.FinishRestart: "RestartFinished",
    a.ClearSchedule: "RestartScheduled",
    a.ClearConsent: "ConsentUsed",
    a.DeleteConfiguration: "ConfigurationDeleted",
    a.Release: "MemberReleased",
    a.DeleteMember: "MemberDeleted",
    a.DeleteVolume: "VolumeDeleted",
    a.GrowVolume: "VolumeExpansionRequested",
    a.MarkVolume: "VolumeMarked",
    a.RetainVolume: "VolumeRetained",
    a.OwnVolume: "VolumeOwned",
    a.RecordRemoval: "ReplacementStarted",
    a.CancelRemoval: "ReplacementCancelled",
    a.GrantBootstrap: "BootstrapGranted",
    a.CreateDatabase: "DatabaseCreated",
    a.RestoreSnapshot: "RestoreCreated",
    a.ConfigureDatabase: "DatabaseConfigured",
    a.Drain: "DrainUpdated",
    a.ExcludeVoters: "VotingExclusionsUpdated",
    a.MoveCopies: "CopiesMoving",
}
"""What an event says has happened: the reason for each step that is announced."""


class Announcer:
    """Turns steps and changes of the status into events."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def action_done(self, cluster: Cluster, action: a.Action) -> None:
        """Announce a step that was taken."""
        if not isinstance(action, ROUTINE):
            self._tell(cluster, Severity.NORMAL, REASONS[type(action)], sentence(action))

    def changed(self, cluster: Cluster, before: ClusterStatus, after: ClusterStatus) -> None:
        """Announce what is new in the status: a deployed version, a wait that needs manual intervention."""
        old, new = before.security, after.security
        if new is not None and new.ca_rotation and (old is None or old.ca_rotation != new.ca_rotation):
            self._tell(cluster, Severity.NORMAL, "AuthorityChanges", new.ca_rotation)
        if old is not None and new is not None and old.certificates_expiration_time and renewed(old, new):
            note = f"certificates were renewed; the first one to expire expires at {new.certificates_expiration_time}"
            self._tell(cluster, Severity.NORMAL, "CertificatesRenewed", note)
        if after.version and after.version != before.version:
            note = f"every member runs {after.version}" if before.version else f"the cluster runs {after.version}"
            self._tell(cluster, Severity.NORMAL, "Deployed", note)
        for name, reason in resized(before, after):
            self._tell(cluster, Severity.NORMAL, "PoolResized", f"pool {name}: {reason}")
        known = {(w.subject, w.reason, w.message) for w in before.waiting}
        stuck, was = stalled(after.conditions), stalled(before.conditions)
        if stuck is not None and (was is None or stuck.message != was.message):
            self._tell(cluster, Severity.WARNING, stuck.reason, stuck.message)
        for wait in after.waiting:
            new = (wait.subject, wait.reason, wait.message) not in known
            if new and "Refused" in wait.reason and (stuck is None or wait.message != stuck.message):
                self._tell(cluster, Severity.WARNING, wait.reason, wait.message)

    def _tell(self, cluster: Cluster, severity: Severity, reason: str, note: str) -> None:
        self._recorder.record(
            Occurrence(about(kind_of(cluster).resource, cluster), severity, reason, "Reconcile", note)
        )


def resized(before: ClusterStatus, after: ClusterStatus) -> Iterator[tuple[str, str]]:
    """Yield the pools whose number of members has changed by their scaling, and why."""
    old = {pool.name: pool.scaling.replicas for pool in before.pools if pool.scaling is not None}
    for pool in after.pools:
        new = pool.scaling
        if new is not None and pool.name in old and new.replicas != old[pool.name]:
            yield pool.name, f"{old[pool.name]} members become {new.replicas}, because {new.reason}"


def renewed(old: SecurityStatus, new: SecurityStatus) -> bool:
    """Return whether certificates were renewed, rather than only the trusted CAs changed."""
    return (
        old.certificates_digest != new.certificates_digest
        and old.certificates_expiration_time != new.certificates_expiration_time
    )


def sentence(action: a.Action) -> str:
    """Return an action as a sentence."""
    member = getattr(action, "member", "")
    return f"{member}: {action.why}" if member else action.why
