"""Deletes configuration Secrets that belong to no member any longer, after a delay.

A Secret is created before the pod that mounts it, so that the pod never waits for it. If the pod is never created, the
Secret is left behind. Source: reference 1.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import DeleteConfiguration
from stateward.planning.model.intent import StepResult

PATIENCE = 900.0
"""Seconds that a Secret may exist without its member: a Secret of a member that is being created is not collected."""


def collect_garbage(facts: Facts) -> StepResult:
    """Return the Secrets to delete."""
    why = "it belongs to no member"
    old = (orphan for orphan in facts.obs.orphans if facts.now - orphan.created > PATIENCE)
    return StepResult(actions=tuple(DeleteConfiguration(why=why, secret=orphan.ref) for orphan in old))
