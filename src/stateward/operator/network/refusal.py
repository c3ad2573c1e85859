"""The refusal of a cluster's NetworkPolicy settings if the operator creates none."""

from stateward.api.kinds.cluster import Cluster
from stateward.planning.model.observation import Refusal


def refusals(cluster: Cluster, *, everywhere: bool) -> tuple[Refusal, ...]:
    """Return that the spec's setting has no effect, if the operator creates no policies.

    A policy also opens ports in a namespace where another one closes them: administrators decide that.
    """
    if everywhere or cluster.spec.network_policy is None:
        return ()
    text = "has no effect: the operator creates no NetworkPolicies (it runs without --network-policies)"
    return (Refusal("spec.networkPolicy", "NetworkPoliciesOff", text, everything=False),)
