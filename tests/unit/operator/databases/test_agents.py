"""The operator's client and the real agent: names are verified, requests are performed, and failures have messages."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from stateward import pki
from stateward.operator.databases import agents
from stateward.operator.databases.agents import (
    Access,
    AgentError,
    AgentRefusedError,
    HttpAgents,
    MutualRejectionError,
    Peer,
    open_agents,
)
from stateward.planning.model.process import ProcessState
from tests.unit.agent.authority import Authority
from tests.unit.agent.pod import TOKEN, WAITS, Pod

NAME = "logs-hot-0.prod.agent"
PEER = Peer("127.0.0.1", NAME)


@pytest.fixture
def authority() -> pki.Authority:
    return pki.new_authority("logs", time.time())


@pytest.fixture
def pod(tmp_path: Path, authority: pki.Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pod]:
    pod = Pod(tmp_path, Authority(tmp_path))
    pair = pki.issue(authority.signs, "logs-hot-0", [NAME], time.time())
    pod.certificate.write_text(pair.certificate)
    pod.key.write_text(pair.key)
    pod.run(WAITS)
    pod.expect("up")
    monkeypatch.setattr(agents, "API_PORT", pod.api)
    yield pod
    pod.close()


@pytest.fixture
async def client() -> AsyncIterator[HttpAgents]:
    async with open_agents() as opened:
        assert isinstance(opened, HttpAgents)
        yield opened


async def test_a_process_is_stopped_and_started_with_what_was_requested(
    pod: Pod, client: HttpAgents, authority: pki.Authority
) -> None:
    access = Access(authority.bundle, TOKEN)
    said = await client.ask(access, PEER)
    assert said.state is ProcessState.RUNNING
    assert said.running == said.mounted
    await client.stop(access, PEER)
    await asyncio.to_thread(pod.expect, "the process is stopped")
    assert (await client.ask(access, PEER)).state is ProcessState.STOPPED
    with pytest.raises(AgentRefusedError, match="409"):
        await client.start(access, PEER, "sha256:other")
    await client.start(access, PEER, said.mounted)
    assert (await client.ask(access, PEER)).running == said.mounted


@pytest.mark.parametrize(("status", "refused"), [(409, True), (503, True), (500, False), (502, False)])
async def test_only_what_an_agent_answers_before_it_does_anything_is_a_refusal(
    tmp_path: Path,
    client: HttpAgents,
    authority: pki.Authority,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    *,
    refused: bool,
) -> None:
    """The disaster this prevents: an agent fails in the middle of a stop, and the steps after it go on."""
    pair = pki.issue(authority.signs, "logs-hot-0", [NAME], time.time())
    (tmp_path / "pair.pem").write_text(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "pair.pem")

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(status=status)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    monkeypatch.setattr(agents, "API_PORT", runner.addresses[0][1])
    try:
        with pytest.raises(AgentError) as raised:
            await client.stop(Access(authority.bundle, TOKEN), PEER)
    finally:
        await runner.cleanup()
    assert isinstance(raised.value, AgentRefusedError) == refused


async def test_another_members_agent_is_not_believed(pod: Pod, client: HttpAgents, authority: pki.Authority) -> None:
    """Addresses of pods are used again: a word for one member must not stop another one."""
    access = Access(authority.bundle, TOKEN)
    with pytest.raises(MutualRejectionError, match="certificate"):
        await client.stop(access, Peer("127.0.0.1", "logs-hot-1.prod.agent"))
    assert (await client.ask(access, PEER)).state is ProcessState.RUNNING


async def test_another_clusters_authority_is_not_believed(pod: Pod, client: HttpAgents) -> None:
    other = pki.new_authority("logs", time.time())
    with pytest.raises(MutualRejectionError, match="certificate"):
        await client.ask(Access(other.bundle, TOKEN), PEER)


async def test_an_agent_without_a_usable_certificate_has_its_secret_checked(
    tmp_path: Path, client: HttpAgents, authority: pki.Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = Pod(tmp_path, Authority(tmp_path))
    with contextlib.closing(pod):
        pod.key.write_text("edited")
        pod.run(WAITS).expect("up")
        monkeypatch.setattr(agents, "API_PORT", pod.api)
        with pytest.raises(MutualRejectionError, match="cannot be reached"):
            await client.ask(Access(authority.bundle, TOKEN), PEER)


async def test_a_configuration_that_cannot_be_read_is_reported_with_the_reason(
    pod: Pod, client: HttpAgents, authority: pki.Authority
) -> None:
    access = Access(authority.bundle, TOKEN)
    assert (await client.ask(access, PEER)).problem == ""
    pod.config.rename(pod.config.with_name("elsewhere"))
    said = await client.ask(access, PEER)
    assert said.mounted == ""
    assert "does not exist" in said.problem
    assert said.problem in said.lateness


async def test_a_refusal_is_reported_as_a_sentence(pod: Pod, client: HttpAgents, authority: pki.Authority) -> None:
    with pytest.raises(MutualRejectionError, match="refuses: 401"):
        await client.ask(Access(authority.bundle, "wrong"), PEER)


async def test_an_agent_that_has_the_token_of_before_is_talked_to_with_that(
    pod: Pod, client: HttpAgents, authority: pki.Authority
) -> None:
    said = await client.ask(Access(authority.bundle, "new", TOKEN), PEER)
    assert said.state is ProcessState.RUNNING
    with pytest.raises(MutualRejectionError, match="refuses: 401"):
        await client.ask(Access(authority.bundle, "new", "wrong"), PEER)


async def test_an_unreachable_peer_is_reported_in_words(
    client: HttpAgents, authority: pki.Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "API_PORT", 1)
    with pytest.raises(AgentError, match="cannot be asked"):
        await client.ask(Access(authority.bundle, TOKEN), PEER)


async def test_silent_agents_take_no_time_from_those_that_answer(
    pod: Pod, authority: pki.Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "AT_ONCE", 2)
    monkeypatch.setattr(agents, "PATIENCE", 3.0)
    access = Access(authority.bundle, TOKEN)
    silent = Peer("127.0.0.2", NAME)
    with socket.create_server((silent.address, agents.API_PORT)):
        async with open_agents() as client:
            asked = [asyncio.create_task(client.ask(access, silent)) for _ in range(3)]
            await asyncio.sleep(0)
            assert (await client.ask(access, PEER)).state is ProcessState.RUNNING
            found = await asyncio.gather(*asked, return_exceptions=True)
    assert all("did not answer in time" in str(each) for each in found)
