"""The status of a cluster while its reconciliation fails: that failure, and otherwise the previous status.

The failed reconciliation would have changed it in unknown ways, so the observed generation and everything else stay.
"""

from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, WaitStatus
from stateward.api.values.base import Condition
from stateward.planning.model.times import rfc3339

REASON = "ReconciliationFailing"


def failure_status(before: ClusterStatus, cluster: str, sentence: str, now: float) -> ClusterStatus:
    """Return the status with the sentence: the cluster is not Ready, and a person is needed."""
    known = next((wait for wait in before.waiting if wait.reason == REASON), None)
    since = known.since_time if known is not None else rfc3339(now)
    wait = WaitStatus(subject=cluster, reason=REASON, message=sentence, since_time=since)
    verdicts = {"Ready": "False", "Reconciling": "False", "Stalled": "True"}
    others = [condition for condition in before.conditions if condition.type not in verdicts]
    made = [_condition(before, kind, value, sentence, now) for kind, value in verdicts.items()]
    waiting = [wait, *(other for other in before.waiting if other.reason != REASON)]
    return replace(before, activity=sentence, waiting=waiting, conditions=[*made, *others])


def _condition(before: ClusterStatus, kind: str, value: str, sentence: str, now: float) -> Condition:
    earlier = next((condition for condition in before.conditions if condition.type == kind), None)
    kept = earlier.last_transition_time if earlier is not None and earlier.status == value else ""
    return Condition(
        type=kind,
        status=value,
        reason=REASON,
        message=sentence,
        observed_generation=before.observed_generation,
        last_transition_time=kept or rfc3339(now),
    )
