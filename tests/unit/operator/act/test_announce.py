"""The reasons of events."""

from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import ClusterStatus, WaitStatus
from stateward.api.values.conditions import condition
from stateward.kube.events.event_record import Occurrence
from stateward.operator.act.announce import REASONS, ROUTINE, Announcer
from stateward.planning.model.actions import Action
from tests.unit.engines.search_clusters import cluster


def test_each_step_is_either_routine_or_has_a_reason_of_its_own() -> None:
    assert {*REASONS, *ROUTINE} == set(Action.__subclasses__())
    assert not {*REASONS} & {*ROUTINE}
    assert len({*REASONS.values()}) == len(REASONS)


def test_event_reasons_are_in_the_past_tense() -> None:
    assert not {*REASONS.values()} & {action.__name__ for action in Action.__subclasses__()}


class Recorder:
    """Keeps what an announcer records."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def record(self, occurrence: Occurrence) -> None:
        self.reasons.append(occurrence.reason)


def announced(before: SecurityStatus | None, after: SecurityStatus | None) -> list[str]:
    recorder = Recorder()
    announcer = Announcer(recorder)  # type: ignore[arg-type]
    announcer.changed(cluster(), ClusterStatus(security=before), ClusterStatus(security=after))
    return recorder.reasons


def test_a_renewal_is_announced_and_the_first_certificates_and_the_end_of_security_are_not() -> None:
    first = SecurityStatus(enabled=True, certificates_digest="a", certificates_expiration_time="2026-03-01T00:00:00Z")
    second = SecurityStatus(enabled=True, certificates_digest="b", certificates_expiration_time="2026-06-01T00:00:00Z")
    assert announced(first, second) == ["CertificatesRenewed"]
    assert announced(first, first) == []
    assert announced(None, first) == []
    assert announced(SecurityStatus(), first) == []
    assert announced(first, None) == []


def test_a_refusal_is_announced_once_and_not_again_as_what_the_whole_cluster_waits_for() -> None:
    stalled = condition("Stalled", status=True, reason="SpecRefused", message="version 1 is too old")
    waiting = [
        WaitStatus(subject="c", reason="SpecRefused", message="version 1 is too old"),
        WaitStatus(subject="hot", reason="ShrinkRefused", message="no room"),
        WaitStatus(subject="hot-1", reason="NotSafeYet", message="it holds the last copy"),
    ]
    after = ClusterStatus(waiting=waiting, conditions=[stalled])
    recorder = Recorder()
    announcer = Announcer(recorder)  # type: ignore[arg-type]
    announcer.changed(cluster(), ClusterStatus(), after)
    assert recorder.reasons == ["SpecRefused", "ShrinkRefused"]
    announcer.changed(cluster(), after, after)
    assert recorder.reasons == ["SpecRefused", "ShrinkRefused"]
    unstalled = Recorder()
    Announcer(unstalled).changed(cluster(), ClusterStatus(), ClusterStatus(waiting=waiting))  # type: ignore[arg-type]
    assert unstalled.reasons == ["SpecRefused", "ShrinkRefused"]
