"""The status of a cluster while its reconciliation fails: that failure, and otherwise the previous status.

The failed reconciliation would have changed it in unknown ways, so the observed generation and everything else stay.
"""

from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, WaitStatus
from stateward.api.values.conditions import condition, dated, readable
from stateward.planning.model.times import rfc3339

REASON = "ReconciliationFailing"


def failure_status(before: ClusterStatus, cluster: str, sentence: str, now: float) -> ClusterStatus:
    """Return the status with the sentence: the cluster is not Ready, and a person is needed."""
    known = next((wait for wait in before.waiting if wait.reason == REASON), None)
    since = known.since_time if known is not None else rfc3339(now)
    wait = WaitStatus(subject=cluster, reason=REASON, message=sentence, since_time=since)
    verdicts = {"Ready": False, "Reconciling": False, "Stalled": True}
    others = [each for each in before.conditions if each.type not in verdicts]
    failed = (condition(kind, status, REASON, sentence) for kind, status in verdicts.items())
    made = dated(failed, before.conditions, before.observed_generation, rfc3339(now))
    waiting = [wait, *(other for other in before.waiting if other.reason != REASON)]
    return readable(replace(before, activity=sentence, waiting=waiting, conditions=[*made, *others]))
