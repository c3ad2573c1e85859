"""A command in a container: its output comes back, its failure is an error, and a kubelet takes the request at all."""

import asyncio
import json

import pytest
from aiohttp import web

from stateward.engines.foundationdb.database.driver import QUESTION
from stateward.kube.client.exec import ExecError
from stateward.kube.client.exec_stream import PROTOCOL
from stateward.kube.client.transport import Limits
from stateward.kube.objects import errors
from stateward.kube.objects.metadata import Key
from tests.unit.kube.fake_server import Step, answer, serving, status

POD = Key("ns", "a")
DONE = json.dumps({"status": "Success"}).encode()


def writing(*messages: bytes) -> Step:
    """Answer with a WebSocket that says these messages and ends."""

    async def step(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        for message in messages:
            await socket.send_bytes(message)
        await socket.close()
        return socket

    return step


async def test_what_a_command_writes_comes_back() -> None:
    async with serving(writing(b"\1one", b"\2error", b"\1two", b"\3" + DONE)) as (fake, api):
        assert await api.execute(POD, "db", ["sh", "-c", "x y"], 100) == b"onetwo"
    query = fake.requests[0].query
    assert (query.getall("command"), query["container"]) == (["sh", "-c", "x y"], "db")


async def test_any_kind_of_answer_is_accepted() -> None:
    """A kubelet sends no content type, and refuses requests that accept only one with a 406."""
    async with serving(writing(b"\3" + DONE)) as (fake, api):
        await api.execute(POD, "db", ["true"], 100)
    assert fake.requests[0].headers["Accept"] == "*/*"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([b"\2no such file", b'\3{"status": "Failure", "message": "exit code 2"}'], "no such file"),
        ([b'\3{"status": "Failure", "message": "exit code 2"}'], "exit code 2"),
        ([b"\1half"], "ended before"),
        ([b"\1" + b"x" * 200, b"\3" + DONE], "more than 100 bytes"),
    ],
)
async def test_a_failure_is_reported_in_the_commands_words(messages: list[bytes], words: str) -> None:
    async with serving(writing(*messages)) as (_, api):
        with pytest.raises(ExecError, match=words):
            await api.execute(POD, "db", ["true"], 100)


async def test_a_refusal_is_the_servers() -> None:
    async with serving(answer(status(403, "Forbidden"), 403)) as (_, api):
        with pytest.raises(errors.ApiError):
            await api.execute(POD, "db", ["true"], 100)


def slowly(seconds: float) -> Step:
    """Answer with a WebSocket that says something only after a time."""

    async def step(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        await asyncio.sleep(seconds)
        await socket.send_bytes(b"\1late")
        await socket.send_bytes(b"\3" + DONE)
        await socket.close()
        return socket

    return step


async def test_a_command_may_take_longer_than_a_request() -> None:
    """A status of FoundationDB 7.3 takes up to 40 seconds while the database is not available."""
    assert Limits().command > QUESTION > 40
    async with serving(slowly(0.2), limits=Limits(request=0.05)) as (_, api):
        assert await api.execute(POD, "db", ["x"], 100) == b"late"
    async with serving(slowly(5.0), limits=Limits(command=0.05)) as (_, api):
        with pytest.raises(errors.TransportError, match="timed out"):
            await api.execute(POD, "db", ["x"], 100)
