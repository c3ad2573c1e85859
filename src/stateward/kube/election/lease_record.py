"""The content, duration and takeover of a Lease: the rules of the election without the waiting."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stateward.kube.objects.records import Lease, LeaseSpec, micro_time


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Times in seconds, client-go's defaults. Raise ValueError unless `retry` < `renew_deadline` < `duration`."""

    duration: int = 15
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError("a lease needs 0 < retry < renew_deadline < duration (seconds)")

    @property
    def request(self) -> float:
        """Limit of one request for the lease: after one that gets no answer, another try fits before the deadline."""
        return self.renew_deadline / 3


@dataclass(frozen=True, slots=True)
class Observed:
    """The lease at its last observed change, and the local time of that change."""

    lease: Lease
    at: float

    def seen(self, lease: Lease, now: float) -> "Observed":
        """Return the observation after another read of the lease."""
        return self if lease.spec == self.lease.spec else Observed(lease, now)

    def expired(self, now: float, usual: int) -> bool:
        """Whether it may be taken over: it has no holder, or was not renewed for its whole duration.

        The duration is `usual` (seconds) if the lease has none: its holder counts on one all the same.
        """
        if not self.lease.spec.holder_identity:
            return True
        return now >= self.at + (self.lease.spec.lease_duration_seconds or usual)


def claim(spec: LeaseSpec, identity: str, timing: LeaseTiming, now: datetime) -> dict[str, Any]:
    """Return the fields that take or renew a lease; `now` is wall time, for display only."""
    fields: dict[str, Any] = {"holderIdentity": identity, "leaseDurationSeconds": timing.duration}
    fields["renewTime"] = micro_time(now)
    if spec.holder_identity != identity:
        fields |= {"acquireTime": micro_time(now), "leaseTransitions": (spec.lease_transitions or 0) + 1}
    return fields


def release(now: datetime) -> dict[str, Any]:
    """Return the fields that release a lease at once."""
    return {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(now)}
