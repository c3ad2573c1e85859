"""What the reconciliations of all resources of one kind share."""

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from stateward.api.values.base import Metadata
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.resource import Resource
from stateward.kube.queue.locks import Locks
from stateward.kube.timing.clock import Clock
from stateward.operator.declared.database import Databases
from stateward.operator.declared.metrics import SnapshotMetrics
from stateward.packages.restarts.digests import RootKey
from stateward.planning.model.past_times import PastTimes


class DeclaredResource(Protocol):
    """What all declared resources have; a spec has a `cluster`, and a status the fields of `reporting`."""

    @property
    def metadata(self) -> Metadata:
        """The metadata."""
        ...

    @property
    def spec(self) -> Any:
        """What is declared."""
        ...

    @property
    def status(self) -> Any:
        """What is known of it."""
        ...


R = TypeVar("R", bound=DeclaredResource)


@dataclass(frozen=True)
class Tools(Generic[R]):
    """What all reconciliations of one kind share; `objects` has all resources of the kind."""

    api: Api
    resource: Resource[R]
    databases: Databases
    objects: Store[R]
    recorder: EventRecorder
    clock: Clock
    root: RootKey
    metrics: SnapshotMetrics
    locks: Locks[str]
    verifies: bool = False
    """Whether the operator may create and delete throw-away clusters, to verify snapshots."""
    labelled: bool = False
    """Whether Secrets that clusters name need the label that allows them."""
    past: PastTimes = field(default_factory=PastTimes)
