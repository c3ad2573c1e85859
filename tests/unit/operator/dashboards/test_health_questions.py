"""What instances of dashboards report of themselves: available, not available with the reason, or unknown."""

import pytest

from stateward.engines.connection.base import Answer
from stateward.engines.search.dashboards.decision import Health
from stateward.operator.dashboards.health import HealthQuestions
from tests.unit.operator.stand_ins import Pods

GREEN = Answer(200, b'{"status":{"overall":{"state":"green"}}}')
AVAILABLE = Answer(200, b'{"status":{"overall":{"level":"available"}}}')
RED = Answer(200, b'{"status":{"overall":{"level":"critical"}}}')
FIRST, SECOND = "http://10.0.0.1:5601", "http://[fd00::2]:5601"


@pytest.mark.parametrize(
    ("answers", "health", "said"),
    [
        ({FIRST: GREEN, SECOND: AVAILABLE}, Health.AVAILABLE, ""),
        ({FIRST: GREEN}, Health.UNKNOWN, f"no route to {SECOND}"),
        ({SECOND: GREEN}, Health.UNKNOWN, f"no route to {FIRST}"),
        ({}, Health.UNKNOWN, f"no route to {FIRST}"),
        ({SECOND: RED}, Health.UNAVAILABLE, f"{SECOND}/api/status reports critical"),
        ({FIRST: Answer(503, b""), SECOND: GREEN}, Health.UNAVAILABLE, f"{FIRST}/api/status answers with status 503"),
        ({FIRST: Answer(200, b"{}"), SECOND: GREEN}, Health.UNAVAILABLE, f"{FIRST}/api/status reports no level"),
    ],
)
async def test_the_worst_report_of_all_instances_counts(answers: dict[str, Answer], health: Health, said: str) -> None:
    assert await HealthQuestions(Pods(answers, "/api/status"))(["10.0.0.1", "fd00::2"], "/api/status", None) == (
        health,
        said,
    )


async def test_without_an_address_nothing_is_known() -> None:
    assert (await HealthQuestions(Pods({}, "/api/status"))([], "/api/status", None))[0] is Health.UNKNOWN
