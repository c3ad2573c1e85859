"""What the reconciliations of all resources of one kind share."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from stateward.api.values.base import Metadata
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.resource import Resource
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


class Locks:
    """For what one worker at a time may do, by a name for it; all workers of a controller have the same.

    A lock that no worker holds or waits for is forgotten: users choose the names, such as those of repositories.
    """

    def __init__(self) -> None:
        self._used: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __getitem__(self, name: str) -> asyncio.Lock:
        """Return the lock of a name."""
        return self._used.setdefault(name, asyncio.Lock())

    def __len__(self) -> int:
        """Return how many are in use."""
        return len(self._used)


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
    locks: Locks
    verifies: bool = False
    """Whether the operator may create and delete throw-away clusters, to verify snapshots."""
    labelled: bool = False
    """Whether Secrets that clusters name need the label that allows them."""
    past: PastTimes = field(default_factory=PastTimes)
