"""The start script, run with bash in front of a pretended entrypoint: who may form a cluster, and how it ends."""

import base64
import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.engines.search.configuration.keystore import Setting, files
from stateward.engines.search.objects.shared import start_script
from stateward.packages.restarts.dependencies import Dependency
from stateward.packages.restarts.digests import Key

SETTING = "cluster.initial_cluster_manager_nodes"
ENTRYPOINT = """#!/bin/bash
printf '%s\\n' "$@" >"$STATEWARD_ROOT/started.new"
mv "$STATEWARD_ROOT/started.new" "$STATEWARD_ROOT/started"
exit "${ENDS_WITH:-0}"
"""
SHELL_ENTRYPOINT = """#!/bin/bash
# Neither execs nor forwards signals, like that of the official images before 2.15; what it runs takes its time to stop.
bash -c 'trap "sleep 0.3; echo closed >\\"$STATEWARD_ROOT/closed\\"; exit 0" TERM
  echo up >"$STATEWARD_ROOT/started"; while :; do sleep 0.05; done'
"""


class Pod:
    """The directories that a member's container sees."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.processes: list[subprocess.Popen[str]] = []
        for name in ("config", "seeds", "pod", "run", "home/config", "home/data"):
            (root / name).mkdir(parents=True)
        self.configure("first")
        self.annotate("")
        (root / "seeds" / "unicast_hosts.txt").write_text("10.0.0.1:9300\n")
        (root / "start.sh").write_text(start_script())
        self.entrypoint(ENTRYPOINT)

    def configure(self, content: str) -> None:
        (self.root / "config" / "opensearch.yml").write_text(content)

    def annotate(self, value: str) -> None:
        (self.root / "pod" / "bootstrap").write_text(value)

    def declare_formed(self) -> None:
        (self.root / "seeds" / "formed").write_text("uuid\n")

    def entrypoint(self, text: str) -> None:
        path = self.root / "entrypoint"
        path.write_text(text)
        path.chmod(0o755)

    def hold_state(self) -> None:
        state = self.home / "data" / "nodes" / "0" / "_state"
        state.mkdir(parents=True)
        (state / "node-0.st").touch()

    def start(self, *, candidate: bool = False, patience: float = 60, **environment: str) -> subprocess.Popen[str]:
        """Run the script as the kubelet would."""
        values = {
            "PATH": os.environ["PATH"],
            "STATEWARD_ROOT": str(self.root),
            "STATEWARD_HOME": str(self.home),
            "STATEWARD_MEMBER": "logs-managers-0",
            "STATEWARD_ENGINE": "opensearch",
            "STATEWARD_ENTRYPOINT": str(self.root / "entrypoint"),
            "STATEWARD_INITIAL_NODES": SETTING,
            "STATEWARD_BOOTSTRAP_PATIENCE": str(patience),
            "STATEWARD_BOOTSTRAP_PAUSE": "0.02",
            **({"STATEWARD_BOOTSTRAP_CANDIDATE": "true"} if candidate else {}),
            **environment,
        }
        process = subprocess.Popen(
            ["/bin/bash", str(self.root / "start.sh")], env=values, stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process

    def run(self, *, candidate: bool = False, patience: float = 60, **environment: str) -> tuple[int, str]:
        """Run the script to its end; return its status and what it said."""
        process = self.start(candidate=candidate, patience=patience, **environment)
        output, _ = process.communicate(timeout=30)
        return process.returncode, output

    @property
    def arguments(self) -> list[str] | None:
        """The arguments of the entrypoint; None if it was not started."""
        path = self.root / "started"
        return path.read_text().splitlines() if path.exists() else None

    def wait_for(self, name: str) -> None:
        """Wait for a file that the processes make."""
        deadline = time.monotonic() + 20
        while not (self.root / name).exists():
            assert time.monotonic() < deadline, f"{name} was never made"
            time.sleep(0.01)


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    made = Pod(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.communicate()


def test_a_member_that_is_no_candidate_starts_at_once_and_forms_nothing(pod: Pod) -> None:
    pod.annotate("granted")
    assert pod.run()[0] == 0
    assert pod.arguments == ["opensearch"]


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def test_a_pod_waits_for_the_configuration_it_was_made_for(pod: Pod) -> None:
    process = pod.start(STATEWARD_CONFIG_SHA256=digest("second"))
    assert process.stdout is not None
    assert "waiting for the configuration" in process.stdout.readline()
    assert pod.arguments is None
    pod.configure("second")
    pod.wait_for("started")
    assert (pod.home / "config" / "opensearch.yml").read_text() == "second"


def test_a_pod_that_never_gets_its_configuration_ends_and_has_started_nothing(pod: Pod) -> None:
    status, output = pod.run(patience=0, STATEWARD_CONFIG_SHA256=digest("second"))
    assert status == 1
    assert "not the one that this pod was made for" in output
    assert pod.arguments is None


def test_a_container_that_starts_again_does_not_ask_for_its_configuration_again(pod: Pod) -> None:
    assert pod.run(STATEWARD_CONFIG_SHA256=digest("first"))[0] == 0
    pod.configure("second")
    assert pod.run(STATEWARD_CONFIG_SHA256=digest("first"))[0] == 0
    assert (pod.home / "config" / "opensearch.yml").read_text() == "first"


KEYSTORE = """#!/bin/bash
# Does to a file what the tool does to the keystore: `create` makes it, `add-file` takes names and files.
store=${0%/bin/*}/config/opensearch.keystore
[[ -z ${OPENSEARCH_JAVA_OPTS:-} ]] || exit 1
case $1 in
create) [[ -e $store ]] && exit 1; : >"$store" ;;
add-file) shift 2; while (($#)); do printf '%s=%s\\n' "$1" "$(base64 -w0 <"$2")" >>"$store"; shift 2; done ;;
esac
"""


def with_settings(pod: Pod, **values: bytes) -> None:
    """Put settings into the configuration, as the operator writes them."""
    home = pod.root / "config"
    for old in home.glob("stateward-keystore*"):
        old.unlink()
    source = [Setting(name, Dependency("Secret", "s", name), value) for name, value in values.items()]
    for name, content in files(source, Key(b"x" * 32)).items():
        (home / name).write_text(content)
    (pod.home / "bin").mkdir(exist_ok=True)
    (pod.home / "bin" / "opensearch-keystore").write_text(KEYSTORE)
    (pod.home / "bin" / "opensearch-keystore").chmod(0o755)


def stored(pod: Pod) -> dict[str, bytes] | None:
    path = pod.home / "config" / "opensearch.keystore"
    if not path.exists():
        return None
    pairs = (line.split("=", 1) for line in path.read_text().splitlines())
    return {name: base64.b64decode(value) for name, value in pairs}


def test_the_keystore_is_made_of_the_settings_byte_by_byte_and_nothing_of_them_lies_about(pod: Pod) -> None:
    with_settings(pod, a=b"word", b=b"\x00\n two\nlines\n")
    left = pod.root / "run" / "keystore"
    left.mkdir()
    (left / "of-a-start-that-was-killed").write_text("x")
    assert pod.run(TMPDIR="/nowhere: only memory may hold what is in Secrets", OPENSEARCH_JAVA_OPTS="-Xms1g")[0] == 0
    assert stored(pod) == {"a": b"word", "b": b"\x00\n two\nlines\n"}
    assert not left.exists()
    assert sorted(p.name for p in (pod.home / "config").iterdir()) == [
        ".stateward-keystore",
        "opensearch.keystore",
        "opensearch.yml",
        "unicast_hosts.txt",
    ]


def test_a_restart_in_place_makes_the_keystore_again_and_without_settings_it_goes(pod: Pod) -> None:
    given = str(pod.root / "config")
    with_settings(pod, a=b"1", b=b"2")
    assert pod.run(STATEWARD_CONFIG=given)[0] == 0
    with_settings(pod, b=b"3")
    assert pod.run(STATEWARD_CONFIG=given)[0] == 0
    assert stored(pod) == {"b": b"3"}
    for file in (pod.root / "config").glob("stateward-keystore*"):
        file.unlink()
    assert pod.run(STATEWARD_CONFIG=given)[0] == 0
    assert stored(pod) is None


def test_a_keystore_that_the_image_brings_stays_where_no_settings_are_requested(pod: Pod) -> None:
    (pod.home / "config" / "opensearch.keystore").write_text("image=\n")
    assert pod.run()[0] == 0
    assert stored(pod) == {"image": b""}


def test_a_container_without_an_agent_keeps_the_settings_that_its_pod_was_made_with(pod: Pod) -> None:
    with_settings(pod, a=b"1")
    assert pod.run()[0] == 0
    with_settings(pod, a=b"2", b=b"2")
    assert pod.run()[0] == 0
    assert stored(pod) == {"a": b"1"}


def test_a_member_whose_keystore_cannot_be_made_starts_nothing(pod: Pod) -> None:
    with_settings(pod, a=b"1")
    (pod.home / "bin" / "opensearch-keystore").write_text("#!/bin/sh\nexit 1\n")
    status, output = pod.run()
    assert (status, pod.arguments) == (1, None)
    assert "the keystore could not be made" in output


def test_a_candidate_with_leave_forms_the_cluster_alone(pod: Pod) -> None:
    pod.annotate("granted")
    assert pod.run(candidate=True)[0] == 0
    assert pod.arguments == ["opensearch", f"-E{SETTING}=logs-managers-0"]


def test_a_candidate_waits_for_permission_and_logs_it(pod: Pod) -> None:
    process = pod.start(candidate=True)
    assert process.stdout is not None
    assert "waiting for the operator's leave" in process.stdout.readline()
    assert pod.arguments is None
    pod.annotate("granted")
    pod.wait_for("started")
    assert pod.arguments == ["opensearch", f"-E{SETTING}=logs-managers-0"]


def test_a_candidate_gives_up_without_permission_and_has_started_nothing(pod: Pod) -> None:
    status, output = pod.run(candidate=True, patience=0)
    assert status == 1
    assert "is the operator running?" in output
    assert pod.arguments is None


def test_a_candidate_whose_volume_may_belong_to_a_cluster_starts_in_the_end_but_forms_nothing(pod: Pod) -> None:
    pod.hold_state()
    assert pod.run(candidate=True, patience=0)[0] == 0
    assert pod.arguments == ["opensearch"]


def test_a_start_that_failed_half_way_can_still_form_the_cluster(pod: Pod) -> None:
    pod.hold_state()
    pod.annotate("granted")
    pod.run(candidate=True)
    assert pod.arguments == ["opensearch", f"-E{SETTING}=logs-managers-0"]


def test_once_the_cluster_is_formed_no_member_forms_another(pod: Pod) -> None:
    pod.declare_formed()
    pod.annotate("granted")
    status, output = pod.run(candidate=True, patience=0)
    assert (status, pod.arguments) == (0, ["opensearch"])
    assert "the cluster has been formed" in output


def test_another_word_than_granted_is_no_leave(pod: Pod) -> None:
    pod.annotate("granted?")
    assert pod.run(candidate=True, patience=0)[0] == 1
    assert pod.arguments is None


def test_the_configuration_and_the_seeds_are_in_place(pod: Pod) -> None:
    pod.run()
    assert (pod.home / "config" / "opensearch.yml").read_text() == "first"
    seeds = pod.home / "config" / "unicast_hosts.txt"
    assert seeds.read_text() == "10.0.0.1:9300\n"
    (pod.root / "seeds" / "unicast_hosts.txt").write_text("10.0.0.2:9300\n")
    assert seeds.read_text() == "10.0.0.2:9300\n"


def test_a_pod_keeps_the_configuration_it_was_made_with(pod: Pod) -> None:
    pod.run()
    pod.configure("second")
    pod.run()
    assert (pod.home / "config" / "opensearch.yml").read_text() == "first"


def test_without_a_configuration_nothing_is_started(pod: Pod) -> None:
    (pod.root / "config" / "opensearch.yml").unlink()
    status, output = pod.run()
    assert (status, pod.arguments) == (1, None)
    assert "could not be put in place" in output


def test_the_exit_status_is_that_of_the_database(pod: Pod) -> None:
    assert pod.run(ENDS_WITH="78")[0] == 78


def test_a_stop_reaches_the_database_through_a_shell_and_waits_for_it(pod: Pod) -> None:
    pod.entrypoint(SHELL_ENTRYPOINT)
    process = pod.start()
    pod.wait_for("started")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGTERM
    assert (pod.root / "closed").exists()


def test_a_stop_while_waiting_for_leave_ends_at_once(pod: Pod) -> None:
    process = pod.start(candidate=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGTERM
    assert pod.arguments is None


SECURED_ENTRYPOINT = """#!/bin/bash
echo "DISABLE_SECURITY_PLUGIN=$DISABLE_SECURITY_PLUGIN" >"$STATEWARD_ROOT/started"
"""


def secure(pod: Pod, *, plugin: bool = True, certificates: bool = True) -> None:
    """Make it the pod of a secured member."""
    (pod.root / "config" / "security").write_text("on\n")
    (pod.root / "config" / "internal_users.yml").write_text("no users\n")
    (pod.root / "tls").mkdir()
    if plugin:
        (pod.home / "plugins" / "opensearch-security").mkdir(parents=True)
    if certificates:
        (pod.root / "tls" / "tls.crt").write_text("certificate")
        (pod.root / "tls" / "http.key").write_text("key")
    pod.entrypoint(SECURED_ENTRYPOINT)


def test_a_secured_member_finds_its_certificates_where_they_follow_the_secret(pod: Pod) -> None:
    secure(pod)
    assert pod.run(DISABLE_SECURITY_PLUGIN="true")[0] == 0
    assert pod.arguments == ["DISABLE_SECURITY_PLUGIN=false"]
    (pod.root / "tls" / "tls.crt").write_text("renewed")
    assert (pod.home / "config" / "tls" / "tls.crt").read_text() == "renewed"
    assert (pod.home / "config" / "opensearch-security" / "internal_users.yml").read_text() == "no users\n"
    assert pod.run(DISABLE_SECURITY_PLUGIN="true")[0] == 0


def test_a_member_that_is_not_secured_keeps_the_plugin_off(pod: Pod) -> None:
    pod.entrypoint(SECURED_ENTRYPOINT)
    assert pod.run(DISABLE_SECURITY_PLUGIN="true")[0] == 0
    assert pod.arguments == ["DISABLE_SECURITY_PLUGIN=true"]


def test_an_image_without_the_plugin_reports_it(pod: Pod) -> None:
    """In its log, and in the words that Kubernetes keeps of the container's end: the cluster's status shows those."""
    secure(pod, plugin=False)
    last_words = pod.root / "termination-log"
    last_words.touch()
    status, said = pod.run(STATEWARD_LAST_WORDS=str(last_words))
    assert status == 1
    assert "set spec.security.enabled to false, or choose an image that has it" in said
    assert last_words.read_text().startswith("this image has no security plugin: ")
    assert pod.arguments is None


def test_without_certificates_nothing_starts(pod: Pod) -> None:
    secure(pod, certificates=False)
    status, said = pod.run(patience=1)
    assert status == 1
    assert "the certificates have not arrived" in said


def test_the_users_of_elasticsearch_follow_the_secret(pod: Pod) -> None:
    secure(pod, plugin=False)
    (pod.root / "tls" / "users").write_text("one\n")
    assert pod.run(STATEWARD_ENGINE="elasticsearch")[0] == 0
    (pod.root / "tls" / "users").write_text("two\n")
    assert (pod.home / "config" / "users").read_text() == "two\n"
    assert not (pod.home / "config" / "opensearch-security").exists()
