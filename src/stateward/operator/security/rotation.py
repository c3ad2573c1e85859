"""The progress of a change of a cluster's CA: the members that trust the next one, and the text for users. Pure.

Members that load new certificates while they run trust it within minutes. Others trust it only after a restart, and no
client may see a certificate of the next CA before that: its owner would be cut off from the members that have not
restarted.
"""

import hashlib

from stateward import pki
from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.engines.search.configuration.security import reloads_certificates
from stateward.engines.search.spec.flavor import SearchCluster
from stateward.planning.model.times import rfc3339


def mark(member: str, server: str, trusted: str) -> str:
    """Return what tells one set of the members' certificates from the next, without anything of what is in them."""
    return hashlib.sha256(f"{member}{server}{trusted}".encode()).hexdigest()[:16]


def heard(cluster: SearchCluster, current: str) -> bool:
    """Return whether all members are known to trust the CAs of the certificates with the current mark.

    If that takes a restart, it holds once the cluster is Ready with exactly these certificates.
    """
    known = cluster.status.security
    if known is None or not known.enabled or _told_while_running(cluster):
        return True
    ready = (c for c in cluster.status.conditions if c.type == "Ready" and c.status == "True")
    newest = any(c.observed_generation == cluster.metadata.generation for c in ready)
    return newest and known.certificates_digest == current


def sentence(authority: pki.Authority, now: float, *, all_heard: bool) -> str:
    """Return the progress of a change of the CA; empty if none is in progress."""
    if authority.coming is not None:
        when = pki.signs_from(authority)
        if now < when or all_heard:
            return f"the next CA is trusted, and signs from {rfc3339(when)}"
        return "the next CA is trusted, and signs once the cluster is Ready: some members must restart to load it"
    if authority.retired:
        return f"the last CA is trusted until {rfc3339(max(pki.ends(each) for each in authority.retired))}"
    return ""


def _told_while_running(cluster: SearchCluster) -> bool:
    if product_of(cluster) is ELASTICSEARCH:
        return True
    return all(reloads_certificates(version) for version in (cluster.spec.version, cluster.status.version) if version)
