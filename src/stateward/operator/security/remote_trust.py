"""The CAs of joined clusters that the members of one trust: public certificates, by the cluster that they are of. Pure.

They are in files of their own in the members' Secret, besides in the one that the members read. So a CA of another
cluster is never taken for one of this cluster's, and stays as it was while it cannot be read.

The disaster this prevents: a CA that has ended, or is not valid yet, among the trusted ones. OpenSearch then loads no
changed certificate at all, and the cluster's own certificates run out.
"""

from collections.abc import Mapping

from stateward import pki
from stateward.engines.search.configuration.security import member_name_at
from stateward.engines.search.spec.consent import Place

PREFIX, SUFFIX = "remote-", ".crt"
MOST = 8
"""CAs of one cluster: one that signs, the next, and those that are still trusted."""


def file_of(place: Place) -> str:
    """Return the name of the file with the CAs of the cluster at a place."""
    return f"{PREFIX}{member_name_at(place)}{SUFFIX}"


def stored(members: Mapping[str, str]) -> dict[str, str]:
    """Return the CAs of other clusters from the content of the members' Secret, by file."""
    return {name: text for name, text in members.items() if name.startswith(PREFIX) and name.endswith(SUFFIX)}


def remote_authorities(others: Mapping[Place, str | None], before: Mapping[str, str], now: float) -> dict[str, str]:
    """Return the CAs to trust, by file.

    `others` are the bundles of the joined clusters, None for one that cannot be read now: what is known of it, in
    `before`, stays. A cluster that is not in `others` is not trusted any more.
    """
    found: dict[str, str] = {}
    for place, bundle in others.items():
        name = file_of(place)
        usable = () if bundle is None else pki.authorities(bundle, now)
        certificates = "".join((usable or pki.authorities(before.get(name, ""), now))[:MOST])
        if certificates:
            found[name] = certificates
    return dict(sorted(found.items()))


def together(bundle: str, remote: Mapping[str, str]) -> str:
    """Return a bundle with the CAs of other clusters behind it, each once."""
    known = list(pki.split(bundle))
    for text in remote.values():
        known += [each for each in pki.split(text) if each not in known]
    return "".join(known)
