"""Every reason of an installation that waits, and of restart control, has an advice."""

import re
from pathlib import Path

import stateward
from stateward.cli.packages.advice import INSTALLATION_ADVICE, RESTART_ADVICE
from stateward.operator.installations.execution.service_account import NOT_ALLOWED
from stateward.planning.report.reconcile_failure import REASON

SOURCE = Path(stateward.__file__).parent


def found(pattern: str, *rooms: str) -> set[str]:
    files = [file for room in rooms for file in (SOURCE / room).rglob("*.py")]
    return {reason for file in files for reason in re.findall(pattern, file.read_text())}


def test_each_reason_has_an_advice() -> None:
    rooms = ("operator/installations", "packages/plans")
    stops = found(r'(?:Stop|NoPackageError)\(\s*"([A-Z]\w+)"', *rooms)
    others = found(r'(?:reason_of\(error, |write\(status, \(|reason or )"([A-Z]\w+)"', *rooms)
    assert len(stops) >= 7
    assert len(others) >= 4
    assert stops | others | {NOT_ALLOWED, REASON} == INSTALLATION_ADVICE.keys()


def test_each_reason_of_restart_control_has_an_advice() -> None:
    assert found(r'Hold\("([A-Z]\w+)"', "packages") == RESTART_ADVICE.keys()
