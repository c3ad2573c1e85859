"""A wrong input, or a missing feature of the machine, ends in one line and exit code 1; nothing is started."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from demo.__main__ import main as demo
from sandbox import cli
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain.kubelite import build_kubelite, go_build
from tests.support.own import lasting_port


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for variable, directory in (("STATEWARD_SANDBOX_DIR", "state"), ("STATEWARD_CACHE", "cache")):
        monkeypatch.setenv(variable, str(tmp_path / directory))
    handler = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, handler)
    assert not (tmp_path / "state").exists()


def _refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setattr(sys, "argv", ["sandbox", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.parametrize("verb", ["up", "down"])
def test_not_root(verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = _refusal(monkeypatch, capsys, verb)
    assert said == "sandbox: namespaces and mounts need root: run it again with sudo\n"


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["up", "--nodes", "101"], "--nodes 101 is out of range: ask for 0 to 100"),
        (["up", "--nodes", "-1"], "--nodes -1 is out of range: ask for 0 to 100"),
        (["up", "--port", "65536"], "--port 65536 is out of range: choose one from 1 to 65535"),
        (["up", "--name", "Not_a_name"], "sandbox name 'Not_a_name' is not usable"),
        (["status"], "there is no sandbox 'stateward'; run 'sandbox up --name stateward'"),
        (["kubeconfig"], "there is no sandbox 'stateward'"),
        (["logs", "n1.kubelet"], "no log 'n1.kubelet' in sandbox stateward; there are: none"),
        (["relay", "nowhere"], "target 'nowhere' is not host:port"),
        (["node", "stop", "n9"], "there is no sandbox 'stateward'"),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer in _refusal(monkeypatch, capsys, *words)


@pytest.mark.usefixtures("as_root")
def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from sandbox.host.ports import listen

    with listen(lasting_port()) as somebody:
        port = somebody.getsockname()[1]
        said = _refusal(monkeypatch, capsys, "up", "--port", str(port))
        assert f"port {port} of 127.0.0.1 is taken; choose another with --port" in said


def test_the_demo_says_it_in_a_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = CliRunner(env={"KUBECONFIG": None, "STATEWARD_IMAGE": None}).invoke(demo)
    assert (result.exit_code, result.stderr) == (
        1,
        "demo: namespaces and mounts need root: run it again with sudo\n",
    )


def _go(machine: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (machine / "bin").mkdir()
    program = machine / "bin" / "go"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{machine / 'bin'}:{os.environ['PATH']}")


def test_no_network_for_the_modules_of_the_build(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _go(machine, monkeypatch, "echo 'dial tcp: lookup registry: no such host' >&2; exit 1")
    output = machine / "cache" / "kubelite" / "0123" / "kubelite"
    with pytest.raises(SandboxError) as caught:
        go_build(machine, output, Progress(quiet=True), "building it", "")
    assert str(caught.value) == (
        "the Go modules could not be fetched; is the module registry reachable? "
        "('go list -deps .' failed with 1: dial tcp: lookup registry: no such host)"
    )
    assert not output.parent.exists()


def test_a_build_that_fails_leaves_nothing_half_made(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It is told where to write by the word after -o.
    script = 'case $1 in list) echo one;; build) shift 6; echo half > "$2"; echo "no space left" >&2; exit 1;; esac'
    _go(machine, monkeypatch, script)
    output = machine / "cache" / "kubelite" / "0123" / "kubelite"
    with pytest.raises(SandboxError, match=r"the Go build failed; .* It said: no space left"):
        go_build(machine, output, Progress(quiet=True), "building it", "")
    assert not output.parent.exists()


def test_a_minor_version_of_kubernetes_that_cannot_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEWARD_KUBERNETES", "1.12")
    with pytest.raises(SandboxError) as caught:
        build_kubelite(Progress(quiet=True))
    assert str(caught.value) == (
        "STATEWARD_KUBERNETES is '1.12'; a sandbox can be built of Kubernetes 1.34, 1.35, 1.36, 1.37"
    )
