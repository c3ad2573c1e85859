"""What is missing on a machine is said in one line that tells what to do, before anything is made."""

import os
import resource
import shutil
import socket
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from sandbox import prerequisites
from sandbox.errors import CommandError, SandboxError
from sandbox.host import cgroups, packages
from sandbox.layout import Layout, cache_root
from sandbox.progress import Progress
from sandbox.settings import Settings

_QUIET = Progress(quiet=True)


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _all(wanted: int) -> int:
    return wanted


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("STATEWARD_SANDBOX_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("STATEWARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    # Other sandboxes may run on this machine, and need theirs.
    monkeypatch.setattr(prerequisites, "_watches_free", _all)
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

    def few(_wanted: int) -> int:
        return 7

    monkeypatch.setattr(prerequisites, "_watches_free", few)
    message = _refusal(layout)
    assert "7 of 30 inotify instances are free, 36 are needed for 3 nodes" in message
    assert "sysctl fs.inotify.max_user_instances=512" in message


def test_inotify_instances_are_counted_by_asking_the_kernel_and_given_back() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    assert prerequisites._watches_free(2) == 2
    assert set(Path("/proc/self/fd").iterdir()) == before
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(before) + 3, hard))
    try:
        assert prerequisites._watches_free(1000) < 1000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_missing_cgroup_controllers(layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answers(*_: Any, **__: Any) -> str:
        return "go version go1.26.0 linux/amd64\n"

    monkeypatch.setattr(packages, "require", _nothing)
    monkeypatch.setattr(prerequisites, "run", answers)
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    (tmp_path / "cpu").mkdir()
    assert f"cgroup controllers are missing under {tmp_path}: cpuset, memory, pids" in _refusal(layout)
    (tmp_path / "cgroup.controllers").write_text("cpu pids\n")
    assert "are missing under" in _refusal(layout)


def test_too_little_disk_for_the_sandbox(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=2**20)

    def little(_path: Any) -> Any:
        return usage

    monkeypatch.setattr(shutil, "disk_usage", little)
    assert "STATEWARD_SANDBOX_DIR" in _refusal(layout)


def test_a_disk_on_which_databases_take_no_shards(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(total=100 * 2**30, free=14 * 2**30)

    def nearly_full(_path: Any) -> Any:
        return usage

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    assert "14% of the disk at" in (message := _refusal(layout))
    assert "make 2.0 GiB of room" in message


def test_too_little_disk_for_the_build_until_it_has_been_made(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(total=8 * 2**30, free=4 * 2**30)

    def four_gib(_path: Any) -> Any:
        return usage

    monkeypatch.setattr(shutil, "disk_usage", four_gib)
    # A build that was begun and failed is none.
    (cache_root() / "kubelite" / "0123").mkdir(parents=True)
    assert "4.0 GiB are free" in (message := _refusal(layout))
    assert "STATEWARD_CACHE" in message
    (cache_root() / "kubelite" / "0123" / "kubelite").touch()

    def too_old(*_: Any) -> str:
        return "go version go1.2 linux/amd64\n"

    monkeypatch.setattr(prerequisites, "run", too_old)
    assert "Go is too old" in _refusal(layout)


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


def test_no_network_for_packages(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(argv: list[str], **_: Any) -> str:
        raise CommandError(f"{argv[0]} failed", "Temporary failure resolving")

    monkeypatch.setattr(packages, "run", fails)

    def apt_get_only(name: str, **_: Any) -> str | None:
        return "/usr/bin/apt-get" if name == "apt-get" else None

    monkeypatch.setattr(shutil, "which", apt_get_only)
    with pytest.raises(SandboxError, match="apt-get could not install thing; is there a network"):
        packages.require({"no-such-program": "thing"}, _QUIET)


def test_two_sandboxes_at_once_install_a_package_once(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    program = layout.root.parent.parent / "thing"
    begun, calls = Event(), list[list[str]]()

    def installs(argv: list[str], **_: Any) -> str:
        calls.append(argv)
        if "install" in argv:
            begun.set()
            second.join(timeout=0.2)  # It waits for the lock, so this is the whole time.
            program.touch()
        return ""

    def require() -> None:
        packages.require({str(program): "thing"}, _QUIET)

    def require_later() -> None:
        assert begun.wait(timeout=10)
        require()

    monkeypatch.setattr(packages, "run", installs)
    second = Thread(target=require_later)
    second.start()
    require()
    second.join()
    assert [argv[-1] for argv in calls] == ["update", "thing"]


def test_no_apt_at_all(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
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
