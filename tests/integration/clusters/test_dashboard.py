"""`kubectl stateward dashboard` as a user runs it, against a real API server with a running operator."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.integration.api_server import PATIENCE
from tests.integration.clusters.operator_at_work import POOLS, operator_at_work, settled
from tests.integration.packages.newcomer import in_namespace

pytestmark = pytest.mark.integration

PROGRAM = Path(sys.executable).with_name("kubectl-stateward")


@asynccontextmanager
async def dashboard(kubeconfig: Path, *words: str) -> AsyncGenerator[str]:
    """Run the command, and give the address that it prints; Ctrl-C ends it within seconds."""
    environment = os.environ | {"KUBECONFIG": str(kubeconfig)}
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "dashboard", *words, stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            line = (await process.stdout.readline()).decode()
        yield re.findall(r"http://\S+", line)[0]
    finally:
        process.send_signal(2)
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 130


async def stream(http: aiohttp.ClientSession, url: str, *words: str) -> None:
    """Follow the events of a page until one of them has all the words."""
    async with asyncio.timeout(PATIENCE), http.get(url) as answer:
        async for line in answer.content:
            if all(word in line.decode() for word in words):
                return


async def test_a_user_watches_a_cluster_and_pauses_it_in_the_browser(control_plane: Path, tmp_path: Path) -> None:
    async with operator_at_work(control_plane) as work:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(in_namespace(control_plane, work.namespace))
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        ref = f"{work.namespace}/opensearch/logs"
        async with dashboard(kubeconfig, "-n", work.namespace) as url, aiohttp.ClientSession() as http:
            origin = {"Origin": url.rpartition("/")[0].rpartition("/")[0]}
            await stream(http, f"{url}events", '"rows":[{', f'"ref":"{ref}"')
            await stream(http, f"{url}events?cluster={ref}", '"members":[{', "logs-")
            asked = {"cluster": ref, "verb": "pause"}
            async with http.post(f"{url}plan", json=asked, headers=origin) as answer:
                assert "nothing was changed" in await answer.text() or "no member would change" in await answer.text()
            async with http.post(f"{url}act", json=asked, headers=origin) as answer:
                assert answer.status == 200
            await work.until("logs", lambda found: found.spec.update is not None and found.spec.update.paused)
            await stream(http, f"{url}events", '"paused":true')


async def test_a_read_only_dashboard_changes_nothing(control_plane: Path, tmp_path: Path) -> None:
    async with operator_at_work(control_plane) as work:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(in_namespace(control_plane, work.namespace))
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        async with dashboard(kubeconfig, "--read-only") as url, aiohttp.ClientSession() as http:
            origin = {"Origin": url.rpartition("/")[0].rpartition("/")[0]}
            await stream(http, f"{url}events", '"rows":[{')
            asked = {"cluster": f"{work.namespace}/opensearch/logs", "verb": "pause"}
            async with http.post(f"{url}act", json=asked, headers=origin) as answer:
                assert answer.status == 409
        assert (await work.cluster("logs")).spec.update is None
