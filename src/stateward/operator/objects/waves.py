"""Which of several operators manages a cluster, so that an upgrade of the operator can be tried on some clusters first.

One operator without a wave manages all clusters. Beside it, the operator of a wave manages those with the label
`stateward.dev/wave`. It first claims them by an annotation, which ends the work of the other operator; it releases them
when the label is removed.

The disaster this prevents: both operators manage a cluster for a moment, and each stops a member. So a new claim takes
effect for its owner only after a round of the other operator has ended, and a plan that destroys something reads the
claim live.
"""

from enum import Enum

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.names import ANNOTATION_CLAIM, LABEL_WAVE
from stateward.kube.queue.workers import LONGEST_ROUND

HANDOVER = LONGEST_ROUND + 30.0
"""Seconds from a claim until its owner begins: a round of the other operator, and its last request, have ended then."""


class Turn(Enum):
    """What an operator does with a cluster."""

    MANAGE = "manage"
    CLAIM = "claim"
    """It writes its claim, and manages the cluster later."""
    RELEASE = "release"
    """It removes its claim."""
    LEAVE = "leave"
    """Another operator manages it."""


def turn(cluster: Cluster, wave: str) -> Turn:
    """Return what the operator of a wave does with a cluster; the wave is empty for the operator of all others."""
    claim = cluster.metadata.annotations.get(ANNOTATION_CLAIM, "")
    if not wave:
        return Turn.LEAVE if claim else Turn.MANAGE
    if cluster.metadata.labels.get(LABEL_WAVE) != wave:
        return Turn.RELEASE if claim == wave else Turn.LEAVE
    if claim == wave:
        return Turn.MANAGE
    return Turn.LEAVE if claim else Turn.CLAIM
