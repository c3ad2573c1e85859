"""The spec's replacement policy in the types of planning, for all engines."""

from stateward.api.kinds.cluster import UpdatePolicy
from stateward.api.kinds.replacement import MembersByHand, ReplacementPolicy
from stateward.api.values.duration import parse_duration
from stateward.planning.model.observation import Replacement


def replacement(policy: ReplacementPolicy | None, members: MembersByHand | None) -> Replacement:
    """Return the policy with all defaults filled in; raise DurationError for a duration that the schema refuses."""
    policy, by_hand = policy or ReplacementPolicy(), members or MembersByHand()
    return Replacement(
        enabled=policy.enabled,
        after=parse_duration(policy.after),
        max_concurrent=policy.max_concurrent,
        per_zone=policy.per_zone,
        taints={taint.key: parse_duration(taint.after) for taint in policy.on_taints or []},
        max_tainted=policy.max_fault_domains_with_taints,
        replace=frozenset(by_hand.replace or ()),
        undrained=frozenset(by_hand.replace_without_draining or ()),
        accepted=frozenset(by_hand.accept_data_loss or ()),
        keep=frozenset(by_hand.keep or ()),
    )


def wait_between_removals(update: UpdatePolicy, default: float) -> float:
    """Return the seconds between the release of one member and the next; `default` is the engine's."""
    text = update.wait_between_removals
    return default if text is None else parse_duration(text)
