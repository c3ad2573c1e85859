"""The value of the annotation in each format of the downward API."""

import errno
from pathlib import Path

import pytest

from stateward.agent.process import phase
from stateward.agent.process.configuration import UnreadableError
from stateward.agent.process.phase import Phase


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Phase.NONE),
        ("stop", Phase.STOP),
        ("start-coordinated\n", Phase.START_COORDINATED),
        ("stopp", Phase.NONE),
        ('stateward.dev/restart-phase="stop-coordinated"', Phase.STOP_COORDINATED),
        ('a="x\\n=y"\nstateward.dev/restart-phase="schedule-rolling"\nz="1"', Phase.SCHEDULE_ROLLING),
        ('a="stop"\nb="2"', Phase.NONE),
        ('stateward.dev/restart-phase="no', Phase.NONE),
        ("\xff\xfe", Phase.NONE),
    ],
)
def test_a_file_is_read_as_its_phase_and_what_is_not_understood_as_none(
    tmp_path: Path, text: str, expected: Phase
) -> None:
    path = tmp_path / "phase"
    path.write_bytes(text.encode("latin-1"))
    assert phase.read(path) is expected


def test_a_missing_file_is_no_phase(tmp_path: Path) -> None:
    assert phase.read(tmp_path / "none") is Phase.NONE
    assert phase.read(None) is Phase.NONE


def test_a_file_that_cannot_be_read_for_now_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor is left, for example: the process of a member that a user keeps stopped would start."""
    written = tmp_path / "phase"
    written.write_text("stop")

    def refuse(*_: object, **__: object) -> str:
        raise OSError(errno.ENFILE, "Too many open files in system")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UnreadableError, match=r"restart phase cannot be read: .*Too many"):
        phase.read(written)


def test_only_the_stop_phases_keep_a_member_down() -> None:
    assert {each for each in Phase if each.stays_stopped} == {Phase.STOP, Phase.STOP_COORDINATED}
    assert {each for each in Phase if each.takes_new_configuration} == {Phase.START, Phase.START_COORDINATED}
