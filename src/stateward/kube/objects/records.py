"""Leases and events: the objects through which this package itself speaks to the cluster."""

from datetime import datetime

from stateward.kube.objects.metadata import ObjectMeta, WireRecord


class LeaseSpec(WireRecord):
    """Who holds a lease and how long after its last renewal it may be taken over, in seconds."""

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
    """How often an event happened, and when last."""

    count: int = 0
    last_observed_time: datetime | None = None


class Event(WireRecord):
    """An event of events.k8s.io/v1, which `kubectl describe` and `kubectl get events` show as well."""

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
    """Return a time in UTC as the API's MicroTime, which insists on six digits."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
