"""Credentials from a command: kept as long as they are good, and every way to fail is named.

These run real processes, which know nothing of virtual time.
"""

import asyncio
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.access.exec_plugin import ExecCommand, ExecCredentials
from stateward.kube.objects.errors import ConfigError
from stateward.kube.timing.clock import Clock, SystemClock

REAL_TIME = True
V1 = "client.authentication.k8s.io/v1"


def plugin(folder: Path, body: str, clock: Clock | None = None, **options: Any) -> ExecCredentials:
    """Make credentials from a script that counts its runs in `runs`."""
    script = folder / "plugin.py"
    head = "import json, os, sys, time\nopen('runs', 'a').write('x')\n"
    script.write_text(f"import os\nos.chdir({str(folder)!r})\n{head}{textwrap.dedent(body)}", encoding="utf-8")
    command = ExecCommand("users[c].user.exec", V1, (sys.executable, str(script)), **options)
    return ExecCredentials(command, clock=clock or SystemClock())


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text(encoding="utf-8"))


def printing(**status: str) -> str:
    return f"print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential', 'status': {status!r}}}))"


class SettableClock(SystemClock):
    """The system's clock, but for a wall time that the test sets."""

    wall = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.wall


async def test_a_plugin_is_run_once_until_shortly_before_its_credentials_expire(tmp_path: Path) -> None:
    clock = SettableClock()
    source = plugin(tmp_path, printing(token="t", expirationTimestamp="2026-01-01T00:10:00Z"), clock)
    for _ in range(3):
        assert (await source.current()).token == "t"
    assert runs(tmp_path) == 1
    clock.wall += timedelta(minutes=9)
    await source.current()
    assert runs(tmp_path) == 2


async def test_requests_that_wait_for_a_plugin_share_one_run(tmp_path: Path) -> None:
    source = plugin(tmp_path, printing(token="t"))
    await asyncio.gather(*(source.current() for _ in range(5)))
    assert runs(tmp_path) == 1


async def test_a_plugin_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"did not answer within 0\.1 s"):
        await plugin(tmp_path, "time.sleep(600)", timeout=0.1).current()


async def test_a_refused_credential_makes_the_plugin_run_again(tmp_path: Path) -> None:
    source = plugin(tmp_path, printing(token="t"))
    source.invalidate(await source.current())
    await source.current()
    assert runs(tmp_path) == 2


async def test_requests_that_are_refused_at_once_make_the_plugin_run_again_once(tmp_path: Path) -> None:
    source = plugin(tmp_path, printing(token="t"))
    refused = await source.current()

    async def again() -> None:
        source.invalidate(refused)
        await source.current()

    await asyncio.gather(*(again() for _ in range(5)))
    assert runs(tmp_path) == 2


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    source = plugin(tmp_path, printing(clientCertificateData="CERT", clientKeyData="KEY"))
    credential = await source.current()
    assert (credential.certificate, credential.key) == (b"CERT", b"KEY")
    assert credential.headers() == {}


async def test_a_plugin_hears_of_its_environment_and_the_cluster(tmp_path: Path) -> None:
    body = """
    info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    token = info["spec"]["cluster"]["server"] + os.environ["EXTRA"]
    print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token}}))
    """
    source = plugin(tmp_path, body, environment={"EXTRA": "!"}, cluster={"server": "https://c"})
    assert (await source.current()).token == "https://c!"


BROKEN: dict[str, tuple[str, str]] = {
    "fails": ("sys.stderr.write('log in first'); sys.exit(3)", "ended with code 3: log in first"),
    "prints nonsense": ("print('hello')", "did not print an ExecCredential"),
    "prints nothing useful": (printing(), "printed neither a token nor a client certificate"),
    "speaks another version": ("print(json.dumps({'apiVersion': 'v9'}))", "printed apiVersion 'v9'"),
}


@pytest.mark.parametrize(("body", "message"), BROKEN.values(), ids=BROKEN.keys())
async def test_a_plugin_that_does_not_work_is_named_with_what_it_reported(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=rf"users\[c\]\.user\.exec: the credential plugin {message}"):
        await plugin(tmp_path, body).current()


async def test_a_plugin_that_is_not_installed_comes_with_its_hint() -> None:
    command = ExecCommand("exec", V1, ("no-such-command-at-all",), install_hint="install it so")
    with pytest.raises(
        ConfigError, match="cannot run 'no-such-command-at-all': No such file or directory; install it so"
    ):
        await ExecCredentials(command).current()


@pytest.mark.parametrize("never", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_a_credential_without_an_end_is_kept(tmp_path: Path, never: str) -> None:
    """Go writes a time that is not set as the first moment of year 1."""
    source = plugin(tmp_path, printing(token="t", expirationTimestamp=never))
    for _ in range(2):
        assert (await source.current()).token == "t"
    assert runs(tmp_path) == 1


@pytest.mark.parametrize(
    "body",
    [
        printing(token="t", expirationTimestamp="2026-01-01T00:10:00"),
        'sys.stdout.buffer.write(b\'{"kind": "\\xff"}\')',
    ],
)
async def test_an_answer_that_cannot_be_compared_or_read_is_the_plugins_mistake(tmp_path: Path, body: str) -> None:
    source = plugin(tmp_path, body)
    with pytest.raises(ConfigError, match="did not print an ExecCredential"):
        await source.current()
