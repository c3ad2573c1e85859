"""A new pod waits for the configuration that it was made for, and one that comes back does not."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from stateward.agent.process import configuration
from stateward.agent.process.database import Database
from stateward.agent.process.launch import Launcher
from stateward.agent.process.phase import Phase
from stateward.agent.process.settings import Settings
from tests.unit.agent.pod import WAITS, Pod

OLD, NEW = {"database.yml": b"a: 1\n"}, {"database.yml": b"a: 2\n"}


def expecting(pod: Pod, files: dict[str, bytes]) -> tuple[str, ...]:
    (pod.root / "expected").write_text(f"{configuration.checksum(files)}\n")
    return ("--keep", str(pod.root / "kept"), "--expected", str(pod.root / "expected"))


def test_it_starts_when_the_configuration_it_was_made_for_has_arrived(pod: Pod) -> None:
    pod.run(WAITS, *expecting(pod, NEW))
    pod.expect("waiting for the configuration")
    before = pod.get()
    assert (before["state"], before["mountedChecksum"]) == ("stopped", configuration.checksum(OLD))
    assert pod.probe("/ready") == 503
    (pod.config / "database.yml").write_bytes(NEW["database.yml"])
    pod.expect("up")
    assert pod.get()["runningChecksum"] == configuration.checksum(NEW)


def test_a_process_that_comes_back_has_what_it_had(pod: Pod) -> None:
    options = expecting(pod, OLD)
    pod.run(WAITS, *options)
    pod.expect("up")
    pod.close()
    (pod.config / "database.yml").write_bytes(NEW["database.yml"])
    expecting(pod, {"database.yml": b"a: 3\n"})
    pod.run(WAITS, *options)
    pod.expect("up")
    assert pod.get()["runningChecksum"] == configuration.checksum(OLD)


def test_a_word_of_the_operator_ends_the_wait(pod: Pod) -> None:
    pod.run(WAITS, *expecting(pod, NEW))
    pod.expect("waiting for the configuration")
    assert pod.post("start")[0] == 200
    pod.expect("up")


def test_a_stop_that_is_written_meanwhile_keeps_it_stopped_when_the_configuration_comes(pod: Pod) -> None:
    written = pod.root / "restart-phase"
    written.write_text("")
    pod.run(WAITS, *expecting(pod, NEW), "--phase", str(written))
    pod.expect("waiting for the configuration")
    written.write_text("stop")
    (pod.config / "database.yml").write_bytes(NEW["database.yml"])
    pod.expect("restart phase stop: the process stays stopped")
    assert pod.get()["state"] == "stopped"
    assert pod.post("start")[0] == 200
    pod.expect("up")


def test_a_stop_that_was_written_before_the_configuration_is_seen_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both change between two reads, while the agent reads the first of its two files."""
    written, expected = tmp_path / "restart-phase", tmp_path / "expected"
    written.write_text("")
    expected.write_text(configuration.checksum(NEW))

    def before(_folder: Path) -> dict[str, bytes]:
        return OLD

    def arrives(_folder: Path) -> dict[str, bytes]:
        written.write_text("stop")
        return NEW

    settings = SimpleNamespace(phase=written, expected=expected, kept=None, configuration=tmp_path)
    launcher = Launcher(cast("Settings", settings), cast("Database", None))
    monkeypatch.setattr(configuration, "read", before)
    assert launcher.due() is None
    monkeypatch.setattr(configuration, "read", arrives)
    assert launcher.due() is Phase.STOP


def test_it_ends_when_the_configuration_does_not_come(pod: Pod) -> None:
    impatient = "from stateward.agent import agent\nagent._PATIENCE = 0.5\nsys.exit(main"
    pod.launcher[-1] = pod.launcher[-1].replace("sys.exit(main", impatient)
    pod.run(WAITS, *expecting(pod, NEW))
    pod.expect("not the one that this pod was made for")
    assert pod.wait() == 1


def test_a_process_that_comes_back_needs_no_space_for_what_is_kept_already(pod: Pod) -> None:
    """A full disk would keep the process down, although its configuration is complete."""
    options = expecting(pod, OLD)
    pod.run(WAITS, *options).expect("up")
    pod.close()
    (pod.root / "kept" / "new").write_text("nothing can be written where the next copy begins")
    pod.run(WAITS, *options).expect("up")
    assert pod.get()["runningChecksum"] == configuration.checksum(OLD)
