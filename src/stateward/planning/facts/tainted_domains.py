"""In how many fault domains nodes have taints from which members are replaced.

The disaster this prevents: something taints the nodes of the whole cluster, a pressure that all of them report or a
mistake in a script, and the operator moves all data, member by member, from nodes that serve to nodes that there are
not.
"""

from collections.abc import Iterator

from stateward.api.values.problem import first_of
from stateward.planning.facts.facts import Facts


def tainted_domains(facts: Facts) -> list[str]:
    """Return the fault domains of members on nodes with a named taint, in order.

    A domain is a zone. A node without a known zone counts as a domain of its own: it may be in any zone.
    """
    keys = facts.obs.desired.replacement.taints.keys()
    pods = [m.pod for m in facts.obs.members if m.pod is not None and m.pod.node and keys & set(m.pod.taints)]
    return sorted({f"zone {pod.zone}" if pod.zone else f"node {pod.node}" for pod in pods})


def too_many_taints(facts: Facts) -> Iterator[str]:
    """Yield that more fault domains have such nodes than the policy allows, as a clause."""
    found, most = tainted_domains(facts), facts.obs.desired.replacement.max_tainted
    if len(found) > most:
        yield (
            f"{len(found)} fault domains have nodes with such taints ({first_of(found, 3)}), and"
            f" replacement.maxFaultDomainsWithTaints is {most}"
        )
