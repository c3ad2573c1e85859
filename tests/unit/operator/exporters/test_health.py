"""What an exporter reports of itself: up, not up with the reason, or unknown."""

import asyncio

import pytest

from stateward.engines.connection.base import Answer
from stateward.operator.exporters.health import ExporterQuestions, Report
from tests.unit.operator.stand_ins import Pods

UP, DOWN = Answer(200, b'{"up":true}'), Answer(200, b'{"up":false,"why":"status 401"}')


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"http://10.0.0.1:9114": UP, "http://[fd00::2]:9114": UP}, Report(up=True)),
        ({"http://10.0.0.1:9114": UP}, Report(None, "no route to http://[fd00::2]:9114")),
        ({"http://[fd00::2]:9114": DOWN}, Report(up=False, said="status 401")),
        ({"http://10.0.0.1:9114": Answer(500, b""), "http://[fd00::2]:9114": UP}, None),
        ({"http://10.0.0.1:9114": Answer(200, b"{"), "http://[fd00::2]:9114": UP}, None),
    ],
)
async def test_the_worst_report_of_all_pods_counts(answers: dict[str, Answer], expected: Report | None) -> None:
    found = await ExporterQuestions(Pods(answers, "/status"))(["10.0.0.1", "fd00::2"])
    if expected is None:
        assert found.up is None
        assert found.said
    else:
        assert found == expected


async def test_without_an_address_nothing_is_known() -> None:
    assert (await ExporterQuestions(Pods({}, "/status"))([])).up is None
    await asyncio.sleep(0)
