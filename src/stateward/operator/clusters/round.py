"""What one reconciliation of a cluster found and decided."""

from dataclasses import dataclass

import msgspec

from stateward.api.kinds.status import ClusterStatus
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Round:
    """What one reconciliation found, decided, and could not do."""

    existing: ClusterObjects
    observed: Observation
    plan: Plan
    before: ClusterStatus
    """The status that was read, without times ahead of the clock: that of the existing has in it what was found out
    about security since.
    """
    ahead: bool = False
    """Whether a time in the stored status is ahead, so that it is to be written."""

    @property
    def known_status(self) -> ClusterStatus:
        """The status that was read, with the present data of ConfigMaps and Secrets: valid until written."""
        found = self.existing.cluster.status
        return msgspec.structs.replace(self.before, data_digests=found.data_digests, data_change=found.data_change)
