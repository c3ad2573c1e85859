"""The start script of FoundationDB's pods, run with bash and pretended programs: which file, and what starts again."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stateward.engines.foundationdb.objects.shared import start_script

OLD = "logs:old@a:4500,b:4500,c:4500"
NEW = "logs:new@d:4500,e:4500,f:4500"
OTHER = "another:new@d:4500"

SERVER = """#!/bin/bash
while [[ $1 != --cluster_file ]]; do shift; done
file=$(<"$2")
[[ $* =~ --public_address\\ ([^ ]+) ]]
echo "$0 $*" >>"$STATEWARD_ROOT/lines"
echo "${BASH_REMATCH[1]} ${file##*$'\n'}" >>"$STATEWARD_ROOT/started"
trap 'exit 0' TERM
while :; do sleep 0.02; done
"""
CLIENT = """#!/bin/bash
[[ $1 == -C ]] || exit 2
echo "$(<"$2")" >>"$STATEWARD_ROOT/asked"
cat "$STATEWARD_ROOT/answers/$(tail -n 1 "$2" | cut -d: -f2 | cut -d@ -f1)" 2>/dev/null || exec sleep 600
"""


class Pod:
    """The directories and programs that a container sees."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "home" / "data" / "fdb.cluster"
        self.running: list[subprocess.Popen[str]] = []
        for name in ("config", "cluster", "answers", "home/data", "home/logs"):
            (root / name).mkdir(parents=True)
        self.programs("bin")
        (root / "config" / "arguments").write_text("--class\nstorage\n--knob_x=1\n")
        (root / "config" / "processes").write_text("2\n")
        (root / "start.sh").write_text(start_script())

    def programs(self, folder: str) -> None:
        """Put the programs of a version into a folder."""
        (self.root / folder).mkdir(parents=True)
        for name, text in (("fdbserver", SERVER), ("fdbcli", CLIENT)):
            (self.root / folder / name).write_text(text)
            (self.root / folder / name).chmod(0o755)

    def told(self, text: str) -> None:
        """Let the operator's file arrive, as a volume shows it: at once or not at all."""
        fresh = self.root / "cluster" / "new"
        fresh.write_text(f"{text}\n")
        fresh.rename(self.root / "cluster" / "fdb.cluster")

    def answer(self, which: str, *addresses: str, available: bool = True) -> None:
        """Let coordinators answer, with the processes that the database knows."""
        known = "".join(f'{{"address" : "{address}"}}' for address in addresses)
        fresh = self.root / "answers" / f".{which}"
        fresh.write_text(f'"available" : {str(available).lower()}, "database_available" : true, {known}')
        fresh.rename(self.root / "answers" / which)

    def start(self, **more: str) -> subprocess.Popen[str]:
        values = {
            **more,
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "POD_IP": "10.0.0.7",
            "STATEWARD_ROOT": str(self.root),
            "STATEWARD_HOME": str(self.root / "home"),
            "STATEWARD_ENGINE_VERSION": "7.1.57",
            "STATEWARD_MEMBER": "logs-storage-0",
            "STATEWARD_DOMAIN": "n1",
            "STATEWARD_PAUSE": "0.05",
            "STATEWARD_AGAIN": "0.02",
        }
        process = subprocess.Popen(["/bin/bash", str(self.root / "start.sh")], env=values, text=True)
        self.running.append(process)
        return process

    def lines(self, name: str) -> list[str]:
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, (self.lines("started"), self.lines("asked"))
            time.sleep(0.01)

    def started(self, connection: str) -> set[str]:
        """Return the addresses at which processes were started with a cluster file."""
        return {line.partition(" ")[0] for line in self.lines("started") if line.endswith(connection)}


BOTH = {"10.0.0.7:4500", "10.0.0.7:4501"}


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    made = Pod(tmp_path)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.terminate()
            process.wait(20)


def test_each_process_gets_the_operators_file_and_ends_with_the_pod(pod: Pod) -> None:
    pod.told(NEW)
    process = pod.start()
    pod.until(lambda: pod.started(NEW) == BOTH)
    assert all("--class storage --knob_x=1" in line for line in pod.lines("lines"))
    assert pod.file.read_text() == f"{NEW}\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert pod.lines("asked") == []


def test_a_process_that_ends_is_started_again_and_the_file_is_checked_as_before(pod: Pod) -> None:
    pod.told(OLD)
    process = pod.start()
    pod.until(lambda: pod.started(OLD) == BOTH)
    first = subprocess.run(["pgrep", "-P", str(process.pid), "-f", "4501"], capture_output=True, text=True, check=True)
    os.kill(int(first.stdout.split()[0]), signal.SIGTERM)
    pod.until(lambda: len(pod.lines("started")) == 3)
    assert pod.lines("started")[2].startswith("10.0.0.7:4501 ")
    pod.answer("old", available=False)
    pod.answer("new")
    pod.told(NEW)
    pod.until(lambda: pod.started(NEW) == BOTH)


def test_the_file_of_the_volume_is_kept_while_its_coordinators_answer(pod: Pod) -> None:
    pod.told(OLD)
    pod.file.write_text(f"# DO NOT EDIT!\n{NEW}\n")
    pod.answer("new")
    pod.start()
    pod.until(lambda: pod.started(NEW) == BOTH)
    assert pod.started(OLD) == set()
    assert pod.file.read_text() == f"# DO NOT EDIT!\n{NEW}\n"


@pytest.mark.parametrize(("program", "folder"), [("7.3.63", "beside/7.3.63"), ("7.1.68", "bin"), ("7.3.64", "")])
def test_it_runs_the_programs_that_the_configuration_names(pod: Pod, program: str, folder: str) -> None:
    pod.programs("beside/7.3.63")
    pod.told(NEW)
    (pod.root / "config" / "program").write_text(f"{program}\n")
    process = pod.start()
    if not folder:  # The old programs on data that the new ones may have written would be a mistake.
        assert process.wait(20) == 1
        return
    pod.until(lambda: pod.started(NEW) == BOTH)
    assert {line.partition(" ")[0] for line in pod.lines("lines")} == {f"{pod.root / folder}/fdbserver"}
    assert (pod.root / "run" / "programs").resolve() == pod.root / folder


@pytest.mark.parametrize("own", [OLD, OTHER, ""])
def test_the_file_of_the_volume_goes_when_no_member_answers_or_it_names_another_database(pod: Pod, own: str) -> None:
    pod.told(NEW)
    pod.file.write_text(f"{own}\n")
    pod.answer("old", available=False)
    pod.start()
    pod.until(lambda: pod.started(NEW) == BOTH)
    assert len(pod.lines("started")) == 2


def test_data_of_another_database_is_never_given_to_this_one(pod: Pod) -> None:
    """A cluster was deleted and created again: its new database would take the kept volumes and delete their data."""
    pod.told(NEW)
    pod.file.write_text(f"# DO NOT EDIT!\n{OTHER}\n")
    (pod.file.parent / "1").mkdir()
    (pod.file.parent / "1" / "storage-7.sqlite").write_text("documents")
    last_words = pod.root / "termination-log"
    last_words.touch()
    process = pod.start(STATEWARD_LAST_WORDS=str(last_words))
    assert process.wait(20) == 1
    assert last_words.read_text().startswith("the volume has data of another database, 'another'; this one is 'logs'.")
    assert pod.lines("started") == []
    assert OTHER in pod.file.read_text()


def test_processes_that_were_started_with_coordinators_of_before_start_again_with_those_of_now(pod: Pod) -> None:
    """A new pod was given the file from before a change; those coordinators went, and it never found the others."""
    pod.told(OLD)
    pod.start()
    pod.until(lambda: pod.started(OLD) == BOTH)
    pod.answer("old", available=False)
    pod.answer("new", "10.0.0.1:4500", "10.0.0.17:4500")
    pod.told(NEW)
    pod.until(lambda: pod.started(NEW) == BOTH)
    assert pod.file.read_text() == f"{NEW}\n"


@pytest.mark.parametrize("case", ["known", "old answers", "new does not", "another database"])
def test_processes_continue_where_the_database_knows_one_or_there_is_any_doubt(pod: Pod, case: str) -> None:
    pod.told(OLD)
    pod.start()
    pod.until(lambda: pod.started(OLD) == BOTH)
    pod.answer("old", available=case == "old answers")
    pod.answer("new", *(["10.0.0.7:4501"] if case == "known" else []), available=case != "new does not")
    pod.told(OTHER if case == "another database" else NEW)
    if case == "another database":
        time.sleep(0.3)  # It sends no request then, so the test waits for several of its checks.
    else:
        pod.until(lambda: len(pod.lines("asked")) >= 6)
    assert pod.started(NEW) | pod.started(OTHER) == set()
    assert pod.file.read_text() == f"{OLD}\n"


def test_it_ends_at_once_also_while_no_member_answers_it(pod: Pod) -> None:
    pod.told(OLD)
    process = pod.start()
    pod.until(lambda: pod.started(OLD) == BOTH)
    pod.told(NEW)
    pod.until(lambda: pod.lines("asked"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0, "it waited for who does not answer"


def test_with_certificates_processes_listen_with_tls(pod: Pod) -> None:
    pod.told(NEW)
    pod.start(FDB_TLS_CERTIFICATE_FILE="/stateward/tls/tls.crt")
    pod.until(lambda: pod.started(NEW) == {f"{address}:tls" for address in BOTH})
    assert all("--listen_address 10.0.0.7:450" in line and line.count(":tls") == 2 for line in pod.lines("lines"))
