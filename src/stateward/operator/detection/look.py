"""One detection from outside the operator: the missing members, by live reads, with the code of the planner.

The result becomes an annotation on the cluster resource. The annotation makes the operator reconcile the cluster, and
while it is fresh the operator trusts no cache about it (`suspected`): the cache may be the fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.duration import parse_duration
from stateward.engines.connection.access import Access
from stateward.engines.search.configuration.security import operator_secret, secured
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.secret_content import text_content
from stateward.operator.databases.engine import Family
from stateward.operator.objects.live import read_live
from stateward.operator.objects.ownership import NotOwnedError, own_secret
from stateward.operator.objects.translate import observation
from stateward.operator.observe.desired_state import desired_or_refused
from stateward.operator.observe.read_only_session import observe_read_only
from stateward.operator.security.material import stored_access
from stateward.planning.facts.facts import derive
from stateward.planning.facts.missing_members import Missing, missing
from stateward.planning.model.observation import Unknown
from stateward.planning.model.times import parse_time, rfc3339

MARGIN = 300.0
"""Seconds by which a detection may be late: its Job has to be scheduled, and its image may have to be pulled."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The missing members, in order of name, and why the database did not answer, if it did not."""

    missing: Mapping[str, Missing]
    unanswered: str = ""


async def look(api: Api, family: Family, key: Key, now: float) -> Findings:
    """Return the missing members at time `now` (seconds since the epoch), and annotate the cluster; raises ApiError."""
    existing = await read_live(api, key, family.kind, secrets=False)
    existing = replace(existing, access=await access(api, existing.cluster))
    database = await observe_read_only(family.engine, family.target(existing))
    observed = observation(existing, desired_or_refused(family, existing.cluster), database, family.container)
    facts = derive(observed, now)
    found = {m.name: why for m in facts.obs.members if (why := missing(facts, m)) is not None}
    findings = Findings(found, database.why if isinstance(database, Unknown) else "")
    await annotate(api, family, existing.cluster, findings, now)
    return findings


async def access(api: Api, cluster: Cluster) -> Access | None:
    """Return the access to a secured database; None if it is not secured, or not yet."""
    if not isinstance(cluster, SearchCluster):
        return None
    was = cluster.status.security is not None and cluster.status.security.enabled
    if not secured(cluster) and not was:
        return None
    try:
        found = await own_secret(api, Key(cluster.metadata.namespace, operator_secret(cluster)), cluster)
    except NotOwnedError:
        return None
    if found is None:
        return None
    return stored_access(cluster, text_content(found))


async def annotate(api: Api, family: Family, cluster: Cluster, findings: Findings, now: float) -> None:
    """Write the time of a finding onto the cluster; remove it only if the database reports all members."""
    meta = cluster.metadata
    if not findings.missing and (findings.unanswered or names.ANNOTATION_MISSING not in meta.annotations):
        return
    value = rfc3339(now) if findings.missing else None
    patch = {"metadata": {"uid": meta.uid, "annotations": {names.ANNOTATION_MISSING: value}}}
    await api.patch(family.kind.resource, Key(meta.namespace, meta.name), patch, kind=PatchKind.MERGE)


def suspected(cluster: Cluster, now: float) -> bool:
    """Return whether detection has found a missing member within the last two intervals.

    A time that is further ahead was written by a clock that was: the next search writes another one.
    """
    policy = cluster.spec.replacement
    found = parse_time(cluster.metadata.annotations.get(names.ANNOTATION_MISSING, ""))
    if policy is None or not policy.enabled or found is None:
        return False
    return abs(now - found) < 2 * max(60.0, parse_duration(policy.after)) + MARGIN
