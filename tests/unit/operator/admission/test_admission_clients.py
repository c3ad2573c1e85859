"""Whom the webhook answers where the API server is to show a certificate."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stateward.kube.timing.clock import SystemClock
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.keys import SERVICE
from stateward.operator.admission.server import PATH, Webhook, open_webhook
from tests.unit.agent.authority import Authority
from tests.unit.operator.admission.test_admission_judge import cluster
from tests.unit.operator.admission.test_admission_keys import Patched
from tests.unit.operator.admission.test_admission_server import Waiting, always, question


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "clients")


def made(client_ca: Path | None) -> Webhook:
    return Webhook(Patched(), always(Verdict(refused=("no",))), "ops", SystemClock(), client_ca=client_ca)


async def allowed(webhook: Webhook, port: int, pair: tuple[Path, Path] | None) -> bool:
    """Ask as a client with that certificate; raises ClientError when it gets no answer."""
    assert webhook.shown is not None
    context = ssl.create_default_context(cadata=webhook.shown.trusted)
    if pair is not None:
        context.load_cert_chain(*pair)
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"https://127.0.0.1:{port}{PATH}",
            json=question(cluster()),
            ssl=context,
            server_hostname=f"{SERVICE}.ops.svc",
        ) as answer,
    ):
        found: dict[str, Any] = await answer.json()
        return bool(found["response"]["allowed"])


async def test_a_client_without_a_certificate_of_the_ca_gets_no_answer(tmp_path: Path, authority: Authority) -> None:
    webhook = made(authority.path)
    async with open_webhook(webhook, "127.0.0.1", 0) as port:
        await asyncio.wait_for(webhook.ready.wait(), 10)
        assert not await allowed(webhook, port, authority.issue(tmp_path / "server"))
        for pair in (None, Authority(tmp_path / "others").issue(tmp_path / "other")):
            with pytest.raises(aiohttp.ClientError):
                await allowed(webhook, port, pair)
        assert not await allowed(webhook, port, authority.issue(tmp_path / "server"))


async def test_another_ca_in_the_file_counts_from_the_next_check_on_and_one_before_it_no_more(
    tmp_path: Path, authority: Authority
) -> None:
    webhook = made(authority.path)
    async with open_webhook(webhook, "127.0.0.1", 0) as port:
        await asyncio.wait_for(webhook.ready.wait(), 10)
        before, newer = authority.issue(tmp_path / "before"), Authority(tmp_path / "newer")
        authority.path.write_bytes(newer.path.read_bytes())
        assert not await allowed(webhook, port, before)
        await webhook.renew()
        assert not await allowed(webhook, port, newer.issue(tmp_path / "after"))
        with pytest.raises(aiohttp.ClientError):
            await allowed(webhook, port, before)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
async def test_an_unreadable_ca_admits_no_client_and_is_read_again(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content)
    webhook, clock = made(file), Waiting()
    webhook.clock = clock
    async with open_webhook(webhook, "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
        await asyncio.wait_for(clock.waiting.wait(), 10)
        assert clock.waits == [10.0]
        with pytest.raises(aiohttp.ClientError):
            await session.post(f"https://127.0.0.1:{port}{PATH}", json={}, ssl=False)


async def test_a_ca_that_cannot_be_read_any_more_leaves_the_one_before_it(tmp_path: Path, authority: Authority) -> None:
    webhook = made(authority.path)
    async with open_webhook(webhook, "127.0.0.1", 0) as port:
        await asyncio.wait_for(webhook.ready.wait(), 10)
        pair = authority.issue(tmp_path / "server")
        authority.path.write_text("")
        with pytest.raises((OSError, ValueError)):
            await webhook.renew()
        assert not await allowed(webhook, port, pair)
