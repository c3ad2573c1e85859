"""One look at a cluster from outside of the operator: who is missing, by live reads, with the code that plans use.

What it finds becomes an annotation on the cluster resource. That alone makes the operator look at the cluster, and as
long as the annotation is fresh the operator believes no cache about it (`suspected`): the cache may be what is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.duration import parse_duration
from stateward.engines.connection.access import Access
from stateward.engines.search.configuration.security import operator_secret, secured, service_name
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SECRETS
from stateward.operator.databases.engine import Family
from stateward.operator.objects.live import read_live
from stateward.operator.objects.translate import observation
from stateward.operator.observe.desired_state import wanted
from stateward.operator.observe.read_only_session import onlook
from stateward.operator.security.given_secrets import decoded
from stateward.pki.files import CERTIFICATE, KEY, TRUSTED
from stateward.planning.facts.facts import derive
from stateward.planning.facts.missing_members import Missing, missing
from stateward.planning.model.observation import Unknown
from stateward.planning.model.times import parse_time, rfc3339

MARGIN = 300.0
"""Seconds by which a look may be late: it has to be scheduled, and its image may have to be pulled."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Who is missing, in order of name, and why the database did not answer, if it did not."""

    missing: Mapping[str, Missing]
    unanswered: str = ""


async def look(api: Api, family: Family, key: Key, now: float) -> Findings:
    """Return who is missing at time `now` (seconds since the epoch), and annotate the cluster; raises ApiError."""
    holdings = await read_live(api, key, family.kind, secrets=False)
    holdings = replace(holdings, access=await access(api, holdings.cluster))
    database = await onlook(family.engine, family.target(holdings))
    observed = observation(holdings, wanted(family, holdings.cluster), database, family.container)
    facts = derive(observed, now)
    found = {m.name: why for m in facts.obs.members if (why := missing(facts, m)) is not None}
    findings = Findings(found, database.why if isinstance(database, Unknown) else "")
    await annotate(api, family, holdings.cluster, findings, now)
    return findings


async def access(api: Api, cluster: Cluster) -> Access | None:
    """Return how the operator gets into a secured database; None where it is not secured, or not yet."""
    if not isinstance(cluster, SearchCluster):
        return None
    was = cluster.status.security is not None and cluster.status.security.enabled
    if not secured(cluster) and not was:
        return None
    try:
        found = await api.get(SECRETS.raw(), Key(cluster.metadata.namespace, operator_secret(cluster)))
    except NotFound:
        return None
    files = decoded(found)
    return Access(service_name(cluster), files.get(TRUSTED, ""), files.get(CERTIFICATE, ""), files.get(KEY, ""))


async def annotate(api: Api, family: Family, cluster: Cluster, findings: Findings, now: float) -> None:
    """Write the time of a finding onto the cluster; take it away only when the database says that all are there."""
    meta = cluster.metadata
    if not findings.missing and (findings.unanswered or names.ANNOTATION_MISSING not in meta.annotations):
        return
    value = rfc3339(now) if findings.missing else None
    patch = {"metadata": {"uid": meta.uid, "annotations": {names.ANNOTATION_MISSING: value}}}
    await api.patch(family.kind.resource, Key(meta.namespace, meta.name), patch, kind=PatchKind.MERGE)


def suspected(cluster: Cluster, now: float) -> bool:
    """Return whether somebody outside of the operator has found a member missing, not longer ago than two looks."""
    policy = cluster.spec.replacement
    found = parse_time(cluster.metadata.annotations.get(names.ANNOTATION_MISSING, ""))
    if policy is None or not policy.enabled or found is None:
        return False
    return now - found < 2 * max(60.0, parse_duration(policy.after)) + MARGIN
