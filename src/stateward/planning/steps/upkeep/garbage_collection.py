"""Configuration Secrets that belong to no member any more are deleted, some time later.

A Secret is made before the pod that mounts it, so that the pod never waits for it; if nothing came of that pod, the
Secret is left behind. Source: reference 1.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import CollectConfiguration
from stateward.planning.model.intent import Part

PATIENCE = 900.0
"""Seconds that a Secret may be there without its member: one that is just being made is not collected."""


def collect(facts: Facts) -> Part:
    """Return the Secrets to delete."""
    why = "it belongs to no member"
    old = (orphan for orphan in facts.obs.orphans if facts.now - orphan.created > PATIENCE)
    return Part(actions=tuple(CollectConfiguration(why=why, secret=orphan.ref) for orphan in old))
