"""What a reconciler remembers of its clusters, and the one place where it is dropped.

All of it is kept by the name of a cluster, and counts for one cluster of that name only. A cluster can be deleted and
created again before any cache shows its end: then its identity has changed, and nothing of the earlier one may count.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.base import Target
from stateward.kube.objects.metadata import Key
from stateward.planning.model.actions import Action


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of the clusters of one family, by their names.

    `others` drop what other parts of the operator remember of a cluster.
    """

    others: tuple[Callable[[Key], object], ...]
    tightened: Counter[Key] = field(default_factory=Counter[Key])
    """Rounds in a row that did nothing but tighten disruption budgets."""
    done: dict[Key, tuple[Action, ...]] = field(default_factory=dict[Key, tuple[Action, ...]])
    """The actions of the last round of each cluster."""
    targets: dict[Key, Target] = field(default_factory=dict[Key, Target])
    """How each database was reached in the last round."""
    claimed: dict[Key, float] = field(default_factory=dict[Key, float])
    """When this process first saw its claim on each cluster."""
    _uids: dict[Key, str] = field(default_factory=dict[Key, str])

    def begin(self, key: Key, cluster: Cluster) -> None:
        """Note of which cluster everything is that is remembered from now on; drops what is of an earlier one."""
        uid = cluster.metadata.uid
        if self._uids.get(key, uid) != uid:
            self.forget(key)
        self._uids[key] = uid

    def forget(self, key: Key) -> None:
        """Drop everything that is remembered of a cluster."""
        for forget in self.others:
            forget(key)
        for known in (self.tightened, self.done, self.targets, self.claimed, self._uids):
            known.pop(key, None)
