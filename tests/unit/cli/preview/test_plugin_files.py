"""A plan looks for the files of plug-ins only on request, and says which version has none."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web as server

from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.preview.plugin_files import Status, Web, web, with_plugin_files
from tests.unit.cli.clusters import SPEC, running, typed

PLUGINS = {"plugins": [{"name": "icu"}, {"name": "knn", "file": "{name}-{version}.0.zip"}]}
MIRROR = "https://mirror.example/all/"


def inputs(version: str = "2.19.5", **spec: Any) -> PlanInputs:
    cluster = typed({**SPEC, **PLUGINS, "version": version, "pluginSource": {"url": MIRROR}, **spec}, "2.17.1")
    return PlanInputs(cluster, running(), (), (), exists=True)


def answering(answers: Mapping[str, int | Exception], asked: list[str] | None = None) -> Web:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Status]:
        async def status(address: str) -> int:
            if asked is not None:
                asked.append(address)
            answer = answers.get(address.removeprefix(MIRROR), 200)
            if isinstance(answer, Exception):
                raise answer
            return answer

        yield status

    return opened


async def test_without_a_request_nothing_is_asked_and_the_plan_says_so() -> None:
    found = await with_plugin_files(inputs(), None)
    assert found.notes == ("--check-plugins shows whether there are plug-ins for 2.19.5: icu, knn",)
    assert (await with_plugin_files(inputs("2.17.1"), None)).notes == ()
    assert (await with_plugin_files(inputs(plugins=None, pluginSource=None), None)).notes == ()


async def test_each_file_of_the_new_version_is_looked_for_where_members_download_it() -> None:
    asked = list[str]()
    before = inputs()
    assert await with_plugin_files(before, answering({}, asked)) == before
    assert asked == [f"{MIRROR}icu-2.19.5.zip", f"{MIRROR}knn-2.19.5.0.zip"]


@pytest.mark.parametrize("code", [403, 404, 410])
async def test_a_version_without_the_plugin_would_not_start(code: int) -> None:
    found = await with_plugin_files(inputs(), answering({"knn-2.19.5.0.zip": code}))
    (problem,) = found.obstacles
    assert (problem.path, problem.value) == ("spec.plugins", "knn")
    assert f"there is none for 2.19.5: {MIRROR}knn-2.19.5.0.zip is answered with {code}" in problem.message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (500, "is answered with 500 from here"),
        (OSError("Connection refused"), "could not be asked from here: Connection refused"),
        (TimeoutError(), "could not be asked from here: no answer"),
    ],
)
async def test_what_is_not_known_is_not_missing(answer: int | Exception, said: str) -> None:
    found = await with_plugin_files(inputs(), answering({"icu-2.19.5.zip": answer}))
    assert not found.obstacles
    (note,) = found.notes
    assert said in note


@pytest.mark.parametrize("source", [{"image": "registry.example/plugins:{version}"}, {"claimName": "plugins"}])
async def test_files_of_an_image_or_a_claim_are_not_looked_for(source: dict[str, str]) -> None:
    asked = list[str]()
    await with_plugin_files(inputs(pluginSource=source), answering({}, asked))
    assert not asked


async def test_a_server_without_head_is_asked_with_get() -> None:
    methods = list[str]()

    async def answer(request: server.Request) -> server.Response:
        methods.append(request.method)
        return server.Response(status=405 if request.method == "HEAD" else 404)

    application = server.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = server.AppRunner(application)
    await runner.setup()
    try:
        site = server.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        async with web() as status:
            assert await status(f"http://{host}:{port}/icu.zip") == 404
            with pytest.raises(OSError, match="Cannot connect"):
                await status("http://127.0.0.1:1/icu.zip")
    finally:
        await runner.cleanup()
    assert methods == ["HEAD", "GET"]
