"""Decides whether a change may be stored: pure, from the plan that the change would cause.

A change is refused if the plan would refuse it permanently. A change that only waits is accepted, and so is one without
a new refusal: a spec with two errors may be corrected one by one, and a bad change never blocks its revert or its
repair.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.api.validation import Severity, errors, validate, validate_access
from stateward.operator.admission.additions import Reasons, added, of_plan, of_problem, texts, written_alike
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

PLAN = "plan"
"""The check that needs a spec in which the others find no fault of the database's pods."""


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
    if old is None or not found.found:
        return Verdict(texts(found.found), warnings)
    return Verdict(added(found, reasons(family, old, old, existing, now, level)), warnings)


def changed(new: Cluster, old: Cluster | None) -> bool:
    """Return whether the change needs a decision: a new spec of a cluster that is not being deleted."""
    return new.metadata.deletion_timestamp is None and (old is None or not written_alike(old.spec, new.spec))


def reasons(
    family: Family,
    cluster: Cluster,
    stored: Cluster | None,
    existing: ClusterObjects | None,
    now: float,
    level: Level = Level.PRIVILEGED,
) -> Reasons:
    """Return what would be refused of a cluster's spec, with the status and the objects that are there."""
    pools = [pool.name for pool in cluster.spec.pools]
    checks = {"spec": errors(validate(cluster)), "beside": errors(validate_access(cluster))}
    if not checks["spec"]:
        checks["pods"] = problems(family, cluster, level)
    if not checks["beside"]:
        checks["pods beside"] = problems_beside(cluster, level)
    found = [of_problem(each, check, pools) for check, wrong in checks.items() for each in wrong]
    if checks["spec"] or checks["pods"]:
        return Reasons(tuple(found), frozenset(checks))
    planned = (of_plan(*each, PLAN, pools) for each in _planned(family, cluster, stored, existing, now))
    found += {reason.known_by: reason for reason in planned}.values()
    return Reasons(tuple(found), frozenset({*checks, PLAN}))


def _planned(
    family: Family, cluster: Cluster, stored: Cluster | None, existing: ClusterObjects | None, now: float
) -> Iterator[tuple[str, str, str]]:
    """Yield what the plan never allows: subject, reason and sentence."""
    if stored is not None:
        cluster = msgspec.structs.replace(cluster, status=stored.status)
    desired = family.desired(cluster)
    if existing is None:
        yield from ((each.subject, each.reason, f"{each.subject}: {each.message}") for each in desired.refusals)
        return
    existing = replace(existing, cluster=cluster)
    # The database is not asked: its state may change, and the plan waits for it.
    waits = plan(observation(existing, desired, Unknown("the database was not asked"), family.container), now).waits
    yield from ((w.subject, w.reason, f"{w.subject}: {w.message}") for w in waits if w.stalled and w.reason in NEVER)
