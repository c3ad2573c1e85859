"""The script that asks the database, run with bash and a pretended program: whole answers, by the present file."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.engines.foundationdb.exporter.objects import script
from stateward.engines.foundationdb.exporter.settings import MARK
from stateward.exporter.foundationdb.answers import Answers
from tests.unit.exporter.foundationdb.recordings import RECORDED, WHOSE

FIRST, SECOND = "test:first@a:4500,b:4500,c:4500", "test:second@d:4500,e:4500,f:4500"
CLIENT = """#!/bin/bash
[[ "$1 $3 $5 $6" == "-C --timeout --exec status json" ]] || exit 2
echo "$(<"$2")" >>"$STATEWARD_ROOT/asked"
[[ ! -e $STATEWARD_ROOT/hangs ]] || exec sleep 600
[[ ! -e $STATEWARD_ROOT/rewrites ]] || cp "$STATEWARD_ROOT/rewrites" "$2"
cat "$STATEWARD_ROOT/prints"
"""


class Pod:
    """The directories and the program that the container sees."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.running: list[subprocess.Popen[bytes]] = []
        for name in ("cluster", "own", "answers", "bin"):
            (root / name).mkdir()
        (root / "bin" / "fdbcli").write_text(CLIENT)
        (root / "bin" / "fdbcli").chmod(0o755)
        (root / "ask.sh").write_text(script())
        self.prints((RECORDED / "healthy-status.json").read_text())
        self.told(FIRST)

    def told(self, text: str) -> None:
        """Let the operator's file arrive, as a volume shows it: at once or not at all."""
        fresh = self.root / "cluster" / "new"
        fresh.write_text(f"{text}\n")
        fresh.rename(self.root / "cluster" / "fdb.cluster")

    def prints(self, text: str) -> None:
        (self.root / "new").write_text(text)
        (self.root / "new").rename(self.root / "prints")

    def start(self, pause: str = "0.05", killed: str = "5", largest: int = 1 << 20) -> subprocess.Popen[bytes]:
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        words = ["bash", str(self.root / "ask.sh"), pause, "40", killed, str(largest), MARK]
        values = {"PATH": path, "STATEWARD_ROOT": str(self.root)}
        with self.said.open("wb") as said:
            found = subprocess.Popen(words, env=values, start_new_session=True, stdout=said, stderr=said)
        self.running.append(found)
        return found

    def asked(self) -> list[str]:
        path = self.root / "asked"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def said(self) -> Path:
        return self.root / "said"

    @property
    def answer(self) -> Path:
        return self.root / "answers" / "status"

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < end, (self.asked(), list((self.root / "answers").iterdir()))
            time.sleep(0.02)


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    found = Pod(tmp_path)
    yield found
    for process in found.running:
        # `timeout` gives the program a process group of its own, but no session.
        for pid in of_session(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def of_session(session: int) -> list[int]:
    """Return the processes of a session."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            found += [int(path.name)] if os.getsid(int(path.name)) == session else []
    return found


async def test_an_answer_is_what_the_exporter_reads(pod: Pod) -> None:
    pod.start()
    pod.until(pod.answer.exists)
    found = await Answers(replace(WHOSE, answer=str(pod.answer))).ask()
    assert found.failure == ""
    assert {each.value for each in found.samples if each.metric.name == "stateward_database_available"} == {1}
    assert all(each.value < 10 for each in found.samples if each.metric.name.endswith("_age_seconds"))


def test_each_answer_is_whole_and_there_is_always_one(pod: Pod) -> None:
    pod.start(pause="0.01")
    pod.until(pod.answer.exists)
    end = time.monotonic() + 2
    while time.monotonic() < end:
        text = pod.answer.read_bytes()
        assert text.endswith(b"\n")
        assert text.splitlines()[-1].startswith(MARK.encode())
    assert len(pod.asked()) > 3


def test_a_question_that_hangs_is_ended_and_leaves_an_answer_without_a_status(pod: Pod) -> None:
    pod.start()
    pod.until(pod.answer.exists)
    (pod.root / "hangs").touch()
    pod.running[0].send_signal(signal.SIGTERM)
    pod.until(lambda: pod.running[0].poll() is not None)
    pod.start(killed="0.3")
    pod.until(lambda: b"{" not in pod.answer.read_bytes())
    before = len(pod.asked())
    (pod.root / "hangs").unlink()
    pod.until(lambda: b"{" in pod.answer.read_bytes())
    assert len(pod.asked()) > before


async def test_an_endless_answer_is_cut_and_is_none(pod: Pod) -> None:
    pod.prints("x" * 3000)
    pod.start(largest=1000)
    pod.until(pod.answer.exists)
    assert len(pod.answer.read_bytes()) < 1100
    assert pod.answer.read_bytes().startswith(b"xxx")
    assert "printed no status" in (await Answers(replace(WHOSE, answer=str(pod.answer))).ask()).failure


def test_the_file_that_the_database_writes_is_used_until_the_operators_file_changes(pod: Pod) -> None:
    (pod.root / "rewrites").write_text(f"{SECOND}\n")
    pod.start()
    pod.until(lambda: pod.asked()[:1] == [FIRST] and pod.asked()[-3:] == [SECOND] * 3)
    (pod.root / "rewrites").unlink()
    third = FIRST.replace("first", "third")
    pod.told(third)
    pod.until(lambda: pod.asked()[-1:] == [third])
    assert (pod.root / "cluster" / "fdb.cluster").read_text() == f"{third}\n"


def test_a_container_that_starts_again_begins_with_the_operators_file(pod: Pod) -> None:
    (pod.root / "own" / "fdb.cluster").write_text(f"{SECOND}\n")
    pod.start()
    pod.until(lambda: len(pod.asked()) > 1)
    assert set(pod.asked()) == {FIRST}


def test_the_script_ends_when_it_is_told_to_also_during_a_question(pod: Pod) -> None:
    (pod.root / "hangs").touch()
    pod.start(killed="600")
    pod.until(pod.asked)
    pod.running[0].send_signal(signal.SIGTERM)
    pod.until(lambda: pod.running[0].poll() == 0)


def test_it_prints_nothing(pod: Pod) -> None:
    """The answers have names and addresses, and an error of the program may have the cluster file."""
    pod.prints(f"ERROR: {FIRST}")
    pod.start()
    pod.until(lambda: len(pod.asked()) > 2)
    assert pod.said.read_bytes() == b""
