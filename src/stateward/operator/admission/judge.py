"""Decides whether a change may be stored: pure, from the plan that the change would cause.

A change is refused if the plan would refuse it permanently. A change that only waits is accepted, and so is one without
a new refusal: a spec with two errors may be corrected one by one, and a bad change never blocks its revert or its
repair.
"""

from dataclasses import dataclass, replace

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.api.validation import Severity, errors, validate, validate_access
from stateward.operator.databases.engine import Family
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.translate import observation
from stateward.operator.pod_rights.policy import NOT_ALLOWED, problems, problems_beside
from stateward.planning.model.observation import Unknown
from stateward.planning.plan import plan

NEVER = frozenset(
    {
        "InvalidSpec",
        "UpgradeRefused",
        "ImageWithoutVersion",
        "CannotGoBack",
        "SecurityFixed",
        "VolumeRefused",
        NOT_ALLOWED,
    }
)
"""Reasons to wait that no time and no other step ends: only another spec does."""

Reasons = dict[tuple[str, str], str]
"""What is refused: a sentence for each subject and reason."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a change is refused, empty when it is not, and what is worth knowing about it."""

    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def judge(
    family: Family,
    new: Cluster,
    old: Cluster | None,
    existing: ClusterObjects | None,
    now: float,
    level: Level = Level.PRIVILEGED,
) -> Verdict:
    """Return the verdict on a new or changed cluster at time `now`; `existing` is what is known of its objects.

    `level` is what its pods may be at most.
    """
    if not changed(new, old):
        return Verdict()
    warnings = tuple(str(p) for p in (*validate(new), *validate_access(new)) if p.severity is Severity.WARNING)
    found = reasons(family, new, old, existing, now, level)
    known = reasons(family, old, old, existing, now, level) if found and old is not None else {}
    return Verdict(tuple(text for key, text in found.items() if key not in known), warnings)


def changed(new: Cluster, old: Cluster | None) -> bool:
    """Return whether the change needs a decision: a new spec of a cluster that is not being deleted."""
    return new.metadata.deletion_timestamp is None and (old is None or old.spec != new.spec)


def reasons(
    family: Family,
    cluster: Cluster,
    stored: Cluster | None,
    existing: ClusterObjects | None,
    now: float,
    level: Level = Level.PRIVILEGED,
) -> Reasons:
    """Return what would be refused of a cluster's spec, with the status and the objects that are there."""
    wrong = errors(validate(cluster)) or problems(family, cluster, level)
    wrong += errors(validate_access(cluster)) or problems_beside(cluster, level)
    if wrong:
        return {(problem.path, problem.message): str(problem) for problem in wrong}
    if stored is not None:
        cluster = msgspec.structs.replace(cluster, status=stored.status)
    desired = family.desired(cluster)
    if existing is None:
        return {(r.subject, r.reason): f"{r.subject}: {r.message}" for r in desired.refusals}
    existing = replace(existing, cluster=cluster)
    # The database is not asked: its state may change, and the plan waits for it.
    waits = plan(observation(existing, desired, Unknown("the database was not asked"), family.container), now).waits
    return {(w.subject, w.reason): f"{w.subject}: {w.message}" for w in waits if w.stalled and w.reason in NEVER}
