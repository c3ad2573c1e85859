"""What is said of a cluster that asks for a NetworkPolicy where the operator makes none."""

from stateward.api.kinds.cluster import Cluster
from stateward.planning.model.observation import Refusal


def refusals(cluster: Cluster, *, everywhere: bool) -> tuple[Refusal, ...]:
    """Return that the spec's wish is not obeyed, where the operator makes no policies.

    A policy opens ports as well, where the namespace has another one that closes them: that is for administrators.
    """
    if everywhere or cluster.spec.network_policy is None:
        return ()
    text = "has no effect: the operator creates no NetworkPolicies (it runs without --network-policies)"
    return (Refusal("spec.networkPolicy", "NetworkPoliciesOff", text, everything=False),)
