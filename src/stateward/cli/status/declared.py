"""What waits of the resources declared for a cluster's database: they are in that, not in the status of the cluster."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.values.base import Json
from stateward.api.values.problem import first_of
from stateward.cli.shared.advice import UNKNOWN, Advice, told
from stateward.cli.shared.session import Session
from stateward.kube.cache.listing import list_all
from stateward.kube.objects.errors import ApiError, UnknownResource
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.declared.reporting import is_ready
from stateward.operator.declared.views import (
    SEARCH_OBJECTS,
    SEARCH_RESTORES,
    SEARCH_SNAPSHOT_SCHEDULES,
    SEARCH_SNAPSHOTS,
    SEARCH_USERS,
)
from stateward.operator.objects.pool_scales import POOL_SCALES

KINDS: tuple[Resource[Any], ...] = (
    SEARCH_OBJECTS,
    SEARCH_USERS,
    SEARCH_SNAPSHOTS,
    SEARCH_SNAPSHOT_SCHEDULES,
    SEARCH_RESTORES,
    POOL_SCALES,
)
FAILED = "VerificationFailed"
_UNTIL_ANSWER = "the database answers"
_RETAIN = "to let a deleted resource go before, set its deletionPolicy to Retain"
DECLARED_ADVICE = {
    "CannotChange": Advice(
        "the body is as the database has it, or the object is gone from the database",
        "take the change back, or delete the object in the database: the operator creates it again",
    ),
    "Changing": Advice("no other client changes the object at the same time"),
    "ClusterBegins": Advice(
        "the cluster has restored the snapshot that it begins with",
        "see what the cluster itself waits for with `explain`",
    ),
    "ClusterDeleted": Advice("the cluster is gone", _RETAIN),
    "ClusterMissing": Advice("the cluster exists in this namespace", "create it, or correct spec.cluster"),
    "ClusterUnknown": Advice("the operator knows for certain that the cluster is gone", _RETAIN),
    "Closing": Advice("the database has closed the indices that are replaced"),
    "Conflict": Advice(
        "only one resource declares it", "delete one of the two; deletionPolicy Retain keeps the object"
    ),
    "DatabaseNotFormed": Advice("the cluster is formed", "see what the cluster itself waits for with `explain`"),
    "DatabaseUnreachable": Advice(_UNTIL_ANSWER, "see what the cluster itself waits for with `explain`"),
    "DependencyPending": Advice("the object that it refers to is in the database", "see what that one waits for"),
    "Drifted": Advice(
        "the database has it as declared again",
        "change it back in the database, edit the resource, or set spec.drift to Correct",
    ),
    "Due": Advice("the database has begun the snapshot"),
    "Exists": Advice(
        "you decide what happens to it", "set spec.existing to Adopt or Merge, or delete it in the database"
    ),
    "InProgress": Advice("the snapshot is finished"),
    "IndicesBusy": Advice("the other restore has ended", "delete the other SearchRestore, if it is stalled"),
    "IndicesExist": Advice(
        "no index has such a name",
        "delete the indices, or make another SearchRestore with renamePattern or existing: Replace",
    ),
    "IndicesFollow": Advice("each index has changed to the new version of its policy at its next step"),
    "IndicesMissing": Advice(
        "nothing more is done for this resource", "delete this SearchRestore, and make another one"
    ),
    "InvalidSpec": Advice("the spec is valid", "correct the field; `validate -f` checks a file before you apply it"),
    "ManagedElsewhere": Advice(
        "the release without a wave manages the cluster", "apply the resource: its status says what was changed"
    ),
    "MixedVersions": Advice("all nodes run one version", "follow the upgrade with `status --watch`"),
    "NameTaken": Advice("the names are free", "delete or rename the aliases and data streams"),
    "NoDigestKey": Advice(
        "the Secret that the message names has its key", "delete this Secret: the operator creates it again"
    ),
    "NotKnown": Advice(
        "the operator has read the cluster and reaches its database", "ask again in a minute, then see the message"
    ),
    "NotSecured": Advice("the cluster is secured", "set spec.security.enabled of the cluster"),
    "OwnerUnknown": Advice(
        "the object is gone from the database, or deletionPolicy is Retain",
        "look whether it is yours: delete it in the database, or set deletionPolicy to Retain to leave it there",
    ),
    "Paused": Advice("spec.paused is false", "set it to false"),
    "PoolMissing": Advice("the cluster has such a pool", "correct the name: make another PoolScale"),
    "Protected": Advice("spec.object names another object", "choose another name: this one belongs to the database"),
    "ReconciliationFailing": Advice("a reconciliation succeeds; the operator retries", "read the operator's log"),
    "Refused": Advice(
        "the database accepts it; it is asked again every minute", "correct the spec: the message has the reason"
    ),
    "RepositoryFails": Advice(
        "the database can use the repository; it is asked again every minute",
        "see the reason in the message: check its storage, its credentials, and whether it may only be read",
    ),
    "NotScalable": Advice(
        "the pool has `scaling` with min and max", "add it to the pool in the cluster, or delete the PoolScale"
    ),
    "NoDataPool": Advice("the cluster has a pool with data", "add one, or remove spec.verify"),
    "NoSnapshot": Advice("the schedule has taken a snapshot"),
    "RepositoryNotDeclared": Advice(
        "a SearchObject has written the repository",
        "declare it as docs/snapshots.md shows, see why its SearchObject is not Ready, or remove spec.verify",
    ),
    "RepositoryBusy": Advice("the other snapshot in the repository is finished"),
    "RestoreFailed": Advice(
        "nothing more is done for this resource", "delete the index, and restore it from another snapshot"
    ),
    "RestoreRefused": Advice("nothing more is done for this resource", "make another SearchRestore"),
    "Resizing": Advice(
        "all members of the pool serve, and no more are left than asked for",
        "see what the cluster itself waits for with `explain`",
    ),
    "Restoring": Advice("all primaries are restored"),
    "RulesInCharge": Advice(
        "the pool has no scaling.rules", "remove the rules in the cluster, or delete the PoolScale: one of them decides"
    ),
    "SecretEmpty": Advice("the key of the Secret has a password", "write the password into the Secret"),
    "SecretMissing": Advice("the Secret and its key exist", "create them, or correct the names"),
    "SecretNotAllowed": Advice(
        "the label on the Secret allows it", "have the Secret's owner set the label in the message"
    ),
    "SecretNotText": Advice("the value of the key is text in UTF-8", "correct the Secret"),
    "SecretTaken": Advice("the name is free", "choose another spec.connectionSecretName"),
    "SettingHeld": Advice(
        "the other resource has reset the setting",
        "see what that one waits for; if both wait for each other, take the new settings out of one of them, and add"
        " them again once it is Ready",
    ),
    "SnapshotExists": Advice(
        "the name is free in the repository", "choose another name; a schedule goes on at its next time"
    ),
    "SnapshotFailed": Advice(
        "a later snapshot succeeds", "see the reason in the message; a schedule tries again at its next time"
    ),
    "SnapshotInProgress": Advice("the snapshot is finished"),
    "SnapshotMissing": Advice("the repository has the snapshot", "correct the name, or make another resource"),
    "Starting": Advice("the database shows what it has begun"),
    FAILED: Advice(
        "a later verification succeeds", "correct what the message says; it is tried at the next time of the schedule"
    ),
    "VerificationDisabled": Advice(
        "the operator may make throw-away clusters, or spec.verify is removed",
        "have an administrator install it with `verifySnapshots: true` (--verify-snapshots)",
    ),
    "VerificationEnds": Advice("the throw-away cluster is gone"),
    "VerificationNameTaken": Advice("the name is free", "delete or rename the resource that has it"),
    "VerificationRefused": Advice(
        "the API server allows it; it is tried again every minute", "see the message: a quota, a policy or a webhook"
    ),
    "VerificationRuns": Advice(
        "the snapshot is restored, or spec.verify.timeLimit has passed",
        "see what the throw-away cluster waits for with `explain`",
    ),
    "VersionsUnknown": Advice(
        "all nodes of the database answer", "see what the cluster itself waits for with `explain`"
    ),
    "WriteIndexLost": Advice(
        "the alias keeps an index that takes its writes",
        "set is_write_index in spec.body, to false if the index is for searches only",
    ),
}
"""For each reason of a declared resource: what ends it, and what the user can do."""


@dataclass(frozen=True)
class Declared:
    """The declared resources of a cluster, each with its kind, and by kind why it could not be read."""

    found: tuple[tuple[str, Any], ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def waiting(self) -> list[tuple[str, Any]]:
        """Those that are not ready."""
        return [(kind, each) for kind, each in self.found if not is_ready(each.status)]


async def declared_of(session: Session, cluster: Cluster) -> Declared:
    """Return the declared resources of a cluster, by kind and name."""
    if not isinstance(cluster, SearchCluster):
        return Declared()
    found: list[tuple[str, Any]] = []
    unread: dict[str, str] = {}
    for kind in KINDS:
        try:
            listing = await list_all(session.api, kind, Selection(cluster.metadata.namespace))
        except UnknownResource:
            continue  # An older installation does not have the kind.
        except ApiError as error:
            unread[kind.kind] = error.message
            continue
        if listing.troubles:
            unread[kind.kind] = f"{listing.troubles[0].key}: {listing.troubles[0].reason}"
        mine = (each for each in listing.hand_over() if _is_of(each, cluster))
        found += [(kind.kind, each) for each in sorted(mine, key=lambda item: item.metadata.name)]
    return Declared(tuple(found), unread)


def _is_of(found: Any, cluster: Cluster) -> bool:
    return (found.spec.cluster.kind, found.spec.cluster.name) == (cluster.kind, cluster.metadata.name)


def declared_lines(declared: Declared) -> Iterator[str]:
    """Yield the lines about the declared resources that are not ready; none if all are."""
    for kind, why in declared.unread.items():
        yield f"Not every {kind} of the cluster could be read: {why}."
    for kind, each in declared.found:
        if not is_ready(each.status):
            yield from _explained(kind, each)
        if isinstance(each, SearchSnapshotSchedule):
            yield from _verification(each)


def declared_summary(declared: Declared, cluster: str) -> Iterator[str]:
    """Yield how many declared resources there are, and which are not ready."""
    counts = Counter(kind for kind, _ in declared.found)
    waiting = [f"{kind} {each.metadata.name}" for kind, each in declared.waiting]
    if counts:
        told = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items())
        state = "all ready" if not waiting else f"not ready: {first_of(waiting)}; see `explain {cluster}`"
        yield f"declared: {told}; {state}"
    if declared.unread:
        yield f"declared: not all could be read: {', '.join(declared.unread)}; see `explain {cluster}`"


def declared_document(declared: Declared) -> Json:
    """Return the declared resources for programs."""
    found = [
        {"kind": kind, "name": each.metadata.name, "ready": is_ready(each.status), **_reason(each)}
        for kind, each in declared.found
    ]
    return {"declared": found, "declaredNotRead": dict(declared.unread)}


def _reason(found: Any) -> dict[str, str]:
    ready = next((each for each in found.status.conditions if each.type == "Ready"), None)
    return {"reason": "", "message": ""} if ready is None else {"reason": ready.reason, "message": ready.message}


def _verification(found: SearchSnapshotSchedule) -> Iterator[str]:
    """Yield what the verification of snapshots waits for, and that the last one failed."""
    status, name = found.status.verification, found.metadata.name
    if status is None:
        return
    if status.reason:
        yield f"SearchSnapshotSchedule {name}, spec.verify ({status.reason}): {status.activity}."
        yield from told(DECLARED_ADVICE.get(status.reason, UNKNOWN))
    success, failed = status.last_success, status.last_failure
    if failed is not None and (success is None or success.time < failed.time):
        yield f"SearchSnapshotSchedule {name} ({FAILED}): {failed.name} could not be restored: {failed.reason}."
        yield from told(DECLARED_ADVICE[FAILED])


def _explained(kind: str, found: Any) -> Iterator[str]:
    condition = next((each for each in found.status.conditions if each.type == "Ready"), None)
    if condition is None:
        yield f"{kind} {found.metadata.name}: the operator has not observed it yet."
        return
    yield f"{kind} {found.metadata.name} ({condition.reason}): {condition.message}."
    yield from told(DECLARED_ADVICE.get(condition.reason, UNKNOWN))
