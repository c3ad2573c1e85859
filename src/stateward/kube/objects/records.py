"""Leases and events: the objects that this package itself writes."""

from datetime import datetime

from stateward.kube.objects.metadata import ObjectMeta, WireRecord


class LeaseSpec(WireRecord):
    """The holder of a lease, and the seconds after its last renewal until a takeover."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(WireRecord):
    """A lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class ObjectReference(WireRecord):
    """The object that an event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class EventSeries(WireRecord):
    """The number of repetitions of an event, and the last time."""

    count: int = 0
    last_observed_time: datetime | None = None


class Event(WireRecord):
    """An event of events.k8s.io/v1, which `kubectl describe` and `kubectl get events` also show."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    reporting_controller: str = ""
    reporting_instance: str = ""
    event_time: datetime | None = None
    series: EventSeries | None = None


def micro_time(moment: datetime) -> str:
    """Return a time in UTC as the API's MicroTime, which requires six digits."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
