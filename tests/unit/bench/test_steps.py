"""Where the time goes that a member is away, from what its agents have said."""

import pytest

from bench.databases.absence import Absence
from bench.databases.steps import PARTS, Diary, medians, told

OLD = """\
2026-01-31T12:00:10.500000000Z [2026-01-31T12:00:10Z] [stateward] stopping process 12: SIGTERM, in 115 s KILL
2026-01-31T12:00:11.000000000Z [2026-01-31T12:00:11,000][INFO ][o.o.n.Node] [logs-0] stopping ...
2026-01-31T12:00:12.250000000Z [2026-01-31T12:00:12Z] [stateward] the process is stopped, exit code 143
"""
NEW = """\
2026-01-31T12:00:13Z [2026-01-31T12:00:13Z] [stateward] started /bin/bash as process 40
2026-01-31T12:00:20Z [2026-01-31T12:00:20Z] [stateward] the process has started
"""
AT = 1769860800.0  # 2026-01-31T12:00:00Z


def test_the_parts_of_an_absence_are_its_own_end_what_others_add_and_its_own_start() -> None:
    diary = Diary()
    diary.read("logs-0", OLD)
    diary.read("logs-0", OLD + NEW)
    parts = diary.parts(Absence("logs-0", AT + 10.6, AT + 19.0, AT + 14.5))
    assert parts == pytest.approx((1.75, 0.75, 1.5, 4.5))
    assert parts is not None
    assert len(parts) == len(PARTS)
    assert told(parts) == "its own end 1.8 s, between 0.8 s, its start script 1.5 s, its own start 4.5 s"


def test_of_two_restarts_each_absence_has_its_own() -> None:
    diary = Diary()
    diary.read("logs-0", OLD + NEW)
    diary.read("logs-0", (OLD + NEW).replace("Z12:", "Z13:").replace("T12:", "T13:"))
    assert diary.parts(Absence("logs-0", AT + 10.6, AT + 19.0, AT + 14.5)) == pytest.approx((1.75, 0.75, 1.5, 4.5))


def test_an_agent_that_did_not_answer_leaves_an_absence_without_parts() -> None:
    diary = Diary()
    diary.read("logs-0", NEW)
    assert diary.parts(Absence("logs-0", AT + 10.6, AT + 19.0, AT + 14.5)) is None
    assert diary.parts(Absence("logs-1", AT + 10.6, AT + 19.0, AT + 14.5)) is None
    assert medians([]) == (0.0,) * len(PARTS)
