"""The process as a pod runs it: its files, its three paths, and a log without secrets."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from stateward.engines.exporter.settings import SETTINGS
from stateward.engines.search.exporter.settings import PASSWORD, TRUSTED, SearchSettings
from stateward.exporter.process import access_in, run, settings_in
from stateward.exporter.rounds import Round, Rounds
from stateward.exporter.serving import routes
from stateward.kube.timing.background import in_background
from stateward.operator.runtime.listener import serve
from tests.support.own import lasting_port
from tests.unit.exporter.search.recordings import WHOSE, recorded


@asynccontextmanager
async def database() -> AsyncGenerator[str]:
    """Serve recorded answers; yields the base URL."""
    answers = recorded("opensearch-2.19.5")

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(answers["health" if request.path == "/_cluster/health" else "nodes"])

    app = web.Application()
    app.add_routes([web.get("/{tail:.*}", answer)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def folder(tmp_path: Path, **changes: Any) -> Path:
    settings = {**msgspec.to_builtins(WHOSE), **changes}
    (tmp_path / SETTINGS).write_text(json.dumps(settings))
    return tmp_path


async def get(port: int, path: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session:
        for _ in range(200):
            try:
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    return answer.status, answer.headers["Content-Type"], await answer.text()
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)  # A real process starts.
    raise AssertionError("it does not listen")


def test_credentials_are_read_from_files_and_shown_nowhere(tmp_path: Path) -> None:
    folder(tmp_path, server="logs.prod.svc", user="stateward-metrics-1")
    (tmp_path / PASSWORD).write_text("very secret")
    (tmp_path / TRUSTED).write_text("authority")
    settings = settings_in(tmp_path)
    assert isinstance(settings, SearchSettings)
    access = access_in(tmp_path, settings)
    assert access is not None
    assert (access.name, access.trusted, access.user) == ("logs.prod.svc", "authority", "stateward-metrics-1")
    assert "very secret" not in f"{settings} {access}"


def test_without_security_there_are_no_credentials(tmp_path: Path) -> None:
    assert access_in(folder(tmp_path), WHOSE) is None


async def test_a_process_serves_metrics_until_it_is_told_to_stop(tmp_path: Path) -> None:
    port = lasting_port()
    async with database() as url:
        code = (
            f"import asyncio; from stateward.exporter.process import run; asyncio.run(run({str(tmp_path)!r}, {port}))"
        )
        folder(tmp_path, endpoint=url)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stderr=asyncio.subprocess.PIPE, env={**os.environ}
        )
        status, kind, text = await get(port, "/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert 'stateward_database_up{engine="opensearch",name="logs",namespace="prod"} 1.0' in text
        assert (await get(port, "/status"))[2] == '{"up":true,"why":"","starting":false}'
        assert (await get(port, "/healthz"))[::2] == (200, "ok")
        process.send_signal(signal.SIGTERM)
        _, said = await process.communicate()
        assert process.returncode == 0
        assert said == b""


async def test_requests_that_wait_for_a_slow_database_leave_room_for_the_kubelet() -> None:
    slow = asyncio.Event()

    class Slow:
        async def ask(self) -> Round:
            await slow.wait()
            return Round(())

    unlimited = aiohttp.TCPConnector(limit=0)
    async with (
        serve("127.0.0.1", 0, routes(Rounds(Slow()))) as port,
        aiohttp.ClientSession(connector=unlimited) as session,
    ):

        async def status(path: str) -> int:
            async with session.get(f"http://127.0.0.1:{port}{path}", headers={"Connection": "close"}) as answer:
                return answer.status

        waiting = [asyncio.create_task(status("/metrics")) for _ in range(64)]
        await asyncio.sleep(0.5)
        async with asyncio.timeout(5):
            assert await status("/healthz") == 200
        slow.set()
        found = await asyncio.gather(*waiting)
        assert (found.count(200), found.count(503)) == (32, 32)
        assert await status("/metrics") == 200


async def test_a_database_that_is_away_is_said_once_and_the_exporter_stays_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = lasting_port()
    folder(tmp_path, endpoint="http://127.0.0.1:1")
    async with in_background(run(str(tmp_path), port)):
        assert 'namespace="prod"} 0.0' in (await get(port, "/metrics"))[2]
        assert json.loads((await get(port, "/status"))[2])["up"] is False
        assert (await get(port, "/healthz"))[0] == 200
    assert capsys.readouterr().err.count("cannot be reached") == 1
