"""What is missing on a machine is said in one line that tells what to do, before anything is made."""

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from sandbox import packages, prerequisites
from sandbox.errors import CommandError, SandboxError
from sandbox.layout import Layout
from sandbox.progress import Progress
from sandbox.settings import Settings

_QUIET = Progress(quiet=True)


def _nothing(*_: Any, **__: Any) -> None:
    return None


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("STATEWARD_SANDBOX_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("STATEWARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Layout.of("test")


def _refusal(layout: Layout, wanted: Settings | None = None) -> str:
    with pytest.raises(SandboxError) as caught:
        prerequisites.require_machine(layout, wanted or Settings(), _QUIET)
    message = str(caught.value)
    assert "\n" not in message
    assert not layout.root.exists()
    return message


def test_not_root(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "sudo" in _refusal(layout)


def test_a_taken_port(layout: Layout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert f"port {port} of 127.0.0.1 is taken; choose another with --port" in _refusal(layout, Settings(port=port))


def test_too_little_memory(layout: Layout) -> None:
    assert "ask for fewer with --nodes" in _refusal(layout, Settings(nodes=100_000))


def test_too_few_inotify_instances(layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = tmp_path / "limit"
    limit.write_text("30\n")
    monkeypatch.setattr(prerequisites, "_WATCH_LIMIT", limit)
    monkeypatch.setattr(prerequisites, "_watches_in_use", lambda: 7)
    message = _refusal(layout)
    assert "7 of 30 inotify instances are in use, 36 are needed for 3 nodes" in message
    assert "sysctl fs.inotify.max_user_instances=512" in message


def test_too_little_disk(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=2**20)

    def little(_path: Any) -> Any:
        return usage

    monkeypatch.setattr(shutil, "disk_usage", little)
    assert "STATEWARD_SANDBOX_DIR" in _refusal(layout)


def test_no_go(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> str:
        raise CommandError("the program go is missing", "")

    monkeypatch.setattr(packages, "require", _nothing)
    monkeypatch.setattr(prerequisites, "run", missing)
    assert "Go is not installed: Kubernetes is built from source; install Go 1.21 or newer" in _refusal(layout)


def test_an_old_go(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "require", _nothing)

    def answers(*_: Any) -> str:
        return "go version go1.19.8 linux/amd64\n"

    monkeypatch.setattr(prerequisites, "run", answers)
    assert "Go is too old ('go version go1.19.8 linux/amd64')" in _refusal(layout)


def test_no_network_for_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(argv: list[str], **_: Any) -> str:
        raise CommandError(f"{argv[0]} failed", "Temporary failure resolving")

    monkeypatch.setattr(packages, "run", fails)

    def apt_get_only(name: str, **_: Any) -> str | None:
        return "/usr/bin/apt-get" if name == "apt-get" else None

    monkeypatch.setattr(shutil, "which", apt_get_only)
    with pytest.raises(SandboxError, match="apt-get could not install thing; is there a network"):
        packages.require({"no-such-program": "thing"}, _QUIET)


def test_no_apt_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", _nothing)
    with pytest.raises(SandboxError, match="there is no apt-get to install them: thing; install them by hand"):
        packages.require({"no-such-program": "thing"}, _QUIET)


def test_a_kernel_without_what_containers_need(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(argv: list[str], **_: Any) -> str:
        if argv[0] == "go":
            return "go version go1.26.0 linux/amd64\n"
        raise CommandError("unshare failed", "bridges (CONFIG_BRIDGE)")

    monkeypatch.setattr(packages, "require", _nothing)
    monkeypatch.setattr(prerequisites, "run", answers)
    assert "this kernel (or this container) does not allow bridges (CONFIG_BRIDGE)" in _refusal(layout)
