"""Sentences of statuses and notes of events have only printable characters, wherever their words come from."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.access.dashboards import DashboardsStatus
from stateward.api.kinds.access.metrics import MetricsStatus
from stateward.api.kinds.access.remote import RemoteClusterStatus
from stateward.api.kinds.installation import InstallationStatus
from stateward.api.kinds.search_object import SearchObjectStatus
from stateward.api.kinds.status import ClusterStatus, MemberStatus, PoolStatus, WaitStatus
from stateward.api.values.base import Record
from stateward.api.values.conditions import readable
from stateward.api.values.problem import Problem, printable
from stateward.kube.events.event_record import Occurrence, Series, Severity, manifest
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.records import ObjectReference
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.reviews import review
from stateward.operator.dashboards import report as dashboards_report
from stateward.operator.declared.reporting import Outcome, Stage, shortened
from stateward.operator.declared.reporting import reported as declared_report
from stateward.operator.exporters import report as exporter_report
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.remotes import report as remote_report
from stateward.packages.plans.reporting import reported as installation_report
from stateward.planning.report.reconcile_failure import failure_status
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.beside.recorded import RecordingApi, Said

HOSTILE = "\x1b[2J\r\n\x9b\u202e\u2028 gone"
SHOWN = r"\x1b[2J\r\n\x9b\u202e\u2028 gone"


def texts(value: Any) -> set[str]:
    """Return all texts in a document."""
    if isinstance(value, dict):
        return set[str]().union(*map(texts, value.values()))
    if isinstance(value, list):
        return set[str]().union(*map(texts, value))
    return {value} if isinstance(value, str) else set()


def hostile() -> ClusterStatus:
    return ClusterStatus(
        activity=HOSTILE,
        waiting=[WaitStatus(subject="c", reason="R", message=HOSTILE, since_time="")],
        member_states=[MemberStatus(name="c-0", pool="p", state="Down", reason=HOSTILE, missing_reason="\ud800")],
        pools=[PoolStatus(name="p")],
    )


def test_sentences_are_escaped_at_any_depth_and_all_else_stays() -> None:
    before = hostile()
    found = readable(before)
    assert (found.activity, found.waiting[0].message, found.member_states[0].reason) == (SHOWN, SHOWN, SHOWN)
    assert found.member_states[0].missing_reason == r"\ud800"
    assert found.pools == before.pools
    assert readable(found) == found
    exact = ClusterStatus(version=HOSTILE)
    assert readable(exact) == exact


def test_a_status_without_such_characters_is_the_same_object() -> None:
    status = ClusterStatus(activity="the cluster matches its spec: é 日")
    assert readable(status) is status


@pytest.mark.parametrize(
    "status",
    [
        failure_status(ClusterStatus(), "c", HOSTILE, 0.0),
        installation_report(InstallationStatus(), ("R", HOSTILE), 1, 0.0),
        installation_report(InstallationStatus(), None, 1, 0.0, other=HOSTILE),
        declared_report(SearchObjectStatus(), Outcome(Stage.STALLED, "R", HOSTILE), 1, 0.0),
    ],
    ids=["cluster", "installation", "removal", "declared"],
)
def test_reports_have_only_printable_characters(status: Record) -> None:
    found = texts(msgspec.to_builtins(status))
    assert all(text.isprintable() for text in found)
    assert SHOWN in found


DASHBOARDS = DashboardsStatus(reason="R", message=HOSTILE)
METRICS = MetricsStatus(reason="R", message=HOSTILE)
REMOTE = RemoteClusterStatus(name="east", reason="R", message=HOSTILE)
WRITTEN = ClusterStatus(dashboards=readable(DASHBOARDS), metrics=readable(METRICS), remote_clusters=[readable(REMOTE)])


@pytest.mark.parametrize(
    ("reporter", "said"),
    [
        (dashboards_report.Reporter, (DASHBOARDS, None)),
        (exporter_report.Reporter, (METRICS,)),
        (remote_report.Reporter, ({"east": REMOTE}, None)),
    ],
    ids=["dashboards", "exporter", "remotes"],
)
async def test_a_part_of_a_status_with_an_escape_is_written_once(reporter: Any, said: Any) -> None:
    """What is written differs from what the operator says: compared with that, it would be written in each round."""
    for status, times in ((ClusterStatus(), 1), (WRITTEN, 0)):
        live = msgspec.structs.replace(cluster(), status=status)
        api = RecordingApi(live)
        await reporter(api, OPENSEARCH.resource, Said(), live).report(*said)
        assert len(api.patches) == times
        found = texts(api.patches)
        assert all(text.isprintable() for text in found)
        assert (SHOWN in found) is bool(times)


def test_a_declared_resource_compares_the_sentence_that_its_status_has() -> None:
    assert shortened(Outcome(Stage.STALLED, "R", HOSTILE)).message == SHOWN


def test_notes_of_events_have_only_printable_characters() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    happened = Occurrence(ObjectReference(name="c"), Severity.NORMAL, "R", "A", HOSTILE + "\x1b" * 2000)
    note = manifest(happened, Series(now, now, 0.0), Key("ns", "e"))["note"]
    assert note.startswith(SHOWN)
    assert note.isprintable()
    assert len(note.encode()) <= 1024


def test_a_problem_without_its_value_has_only_printable_characters() -> None:
    assert Problem(f"spec.{HOSTILE}", "value", "is not known").public == f"spec.{SHOWN}: is not known"


def test_texts_that_are_printable_stay() -> None:
    assert printable("é 日 → █ \U0001f600") == "é 日 → █ \U0001f600"
    assert printable("a\nb\x1b", "\n") == "a\nb\\x1b"


def test_answers_of_the_webhook_have_only_printable_characters() -> None:
    answer = review("u", Verdict(refused=(HOSTILE,), warnings=(HOSTILE,)))["response"]
    assert (answer["status"]["message"], answer["warnings"]) == (SHOWN, [SHOWN])
