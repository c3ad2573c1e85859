"""The page over HTTP: who may ask, what is answered, and what a verb changes."""

import asyncio
import json
import re
import time
from importlib import resources
from typing import Any

import aiohttp
import pytest

from stateward.cli.dashboard.host import opened
from stateward.cli.page.server import FILES, SCRIPTS, open_page
from tests.support.memory_server import MemoryServer, many
from tests.unit.cli.page.conftest import Open

FIRST = "default/opensearch/logs-000"
READ_ONLY = pytest.mark.parametrize("page", [True], indirect=True, ids=["read-only"])
ASSETS = resources.files("stateward.cli.page") / "assets"


def spec(page: Open, name: str = "logs-000", namespace: str = "default") -> dict[str, Any]:
    found = [s for s in page.server.store.all("stateward.dev/osclusters") if s.key == (namespace, name)]
    return found[0].doc


async def status(page: Open, method: str, url: str, **headers: str) -> int:
    async with page.http.request(method, url, headers=headers, json={} if method == "POST" else None) as answer:
        return answer.status


async def test_the_files_of_the_page_have_a_policy_without_inline_scripts(page: Open) -> None:
    for path in FILES:
        async with page.http.get(page.url + path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert answer.status == 200
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_without_the_token_there_is_nothing(page: Open) -> None:
    for path in ("/", "/page.js", f"/{'x' * 32}/", f"/{'x' * 32}/events"):
        assert await status(page, "GET", page.origin + path) == 404


async def test_another_host_name_is_refused_although_it_leads_here(page: Open) -> None:
    assert await status(page, "GET", page.url, Host="evil.example") == 421
    assert await status(page, "GET", page.url, Host="localhost:1") == 421
    assert await status(page, "GET", page.url.replace("127.0.0.1", "localhost")) == 200


async def test_only_the_page_itself_may_change_something(page: Open) -> None:
    act = page.url + "act"
    assert await status(page, "POST", act) == 403
    assert await status(page, "POST", act, Origin="https://evil.example") == 403
    assert await status(page, "POST", act, Origin="null") == 403
    assert await status(page, "POST", act, Origin=page.origin, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert await status(page, "POST", act, Origin=page.origin, **{"Content-Type": "text/plain"}) == 403
    assert "update" not in spec(page)["spec"]


async def test_the_stream_begins_with_all_clusters(page: Open) -> None:
    found = dict(await page.events(3))
    assert json.loads(found["hello"])["host"] == "dashboard"
    assert len(json.loads(found["clusters"])["rows"]) == 10


async def test_one_cluster_has_its_members_its_timeline_and_what_could_not_be_read(page: Open) -> None:
    found = dict(await page.events(7, FIRST))
    detail = json.loads(found["cluster"])
    assert len(detail["members"]) == 5
    assert json.loads(found["timeline"])["rows"]


async def test_a_change_of_a_cluster_reaches_the_viewer(page: Open) -> None:
    async with page.http.get(f"{page.url}events") as answer:
        await page.post("act", {"cluster": FIRST, "verb": "pause"})
        async with asyncio.timeout(10):
            async for line in answer.content:
                if b'"paused":true' in line:
                    return


@pytest.mark.parametrize(
    ("asked", "changed"),
    [
        ({"verb": "pause"}, {"update": {"paused": True}}),
        ({"verb": "replace", "member": "logs-000-hot-2"}, {"members": {"replace": ["logs-000-hot-2"]}}),
        ({"verb": "keep", "member": "logs-000-hot-2"}, {"members": {"keep": ["logs-000-hot-2"]}}),
    ],
)
async def test_a_verb_changes_what_its_command_changes(
    page: Open, asked: dict[str, str], changed: dict[str, Any]
) -> None:
    assert (await page.post("act", {"cluster": FIRST, **asked}))[0] == 200
    assert changed.items() <= spec(page)["spec"].items()


async def test_a_restart_is_requested_by_the_annotation(page: Open) -> None:
    assert (await page.post("act", {"cluster": FIRST, "verb": "restart"}))[0] == 200
    assert spec(page)["metadata"]["annotations"]["stateward.dev/restart-phase"]


async def test_the_plan_of_a_verb_sends_nothing(page: Open) -> None:
    before = page.server.store.version
    code, plan = await page.post("plan", {"cluster": FIRST, "verb": "pause"})
    assert code == 200, plan
    assert isinstance(plan, dict)
    assert plan["headline"].startswith("logs-000")
    assert plan["verdict"]
    assert page.server.store.version == before


@READ_ONLY
async def test_a_read_only_page_changes_nothing(page: Open) -> None:
    code, answer = await page.post("act", {"cluster": FIRST, "verb": "pause"})
    assert (code, answer) == (409, {"error": "this page is read-only"})
    assert "update" not in spec(page)["spec"]
    assert (await page.post("plan", {"cluster": FIRST}))[0] == 200


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"cluster": FIRST, "verb": "delete"}, 409),
        ({"cluster": FIRST, "verb": "replace"}, 409),
        ({"cluster": FIRST, "verb": "replace", "member": "../x"}, 409),
        ({"cluster": "default/opensearch/none", "verb": "pause"}, 409),
        ({"cluster": "x", "verb": "pause"}, 409),
        ({"cluster": 7}, 400),
        ([], 400),
    ],
)
async def test_a_request_that_names_nothing_is_refused_in_one_line(page: Open, asked: object, code: int) -> None:
    found, answer = await page.post("act", asked)
    assert found == code
    assert isinstance(answer, dict)
    assert answer["error"]


async def test_a_member_is_explained_in_the_words_of_explain(page: Open) -> None:
    code, lines = await page.post("explain", {"cluster": FIRST, "member": "logs-000-hot-1"})
    assert code == 200
    assert isinstance(lines, list)
    assert lines[0].startswith("logs-000-hot-1 is Restarting")


async def test_only_the_tour_has_commands(page: Open) -> None:
    assert (await page.post("command", {"command": "lose-node"}))[0] == 400


async def test_the_page_ends_at_once_although_viewers_are_connected() -> None:
    server = MemoryServer()
    server.add(many(1)[0])
    async with aiohttp.ClientSession() as http:
        async with opened(server.session(), "dashboard", read_only=True) as host, open_page(host) as url:
            answer = await http.get(f"{url}events")
            await answer.content.readline()
            began = time.monotonic()
        assert time.monotonic() - began < 3.0
        answer.close()


def test_the_script_sets_text_and_never_markup() -> None:
    for name in SCRIPTS:
        script = (ASSETS / name).read_text(encoding="utf-8")
        assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)


def test_each_script_is_served_and_imports_only_others_that_are() -> None:
    assert {file.name for file in ASSETS.iterdir()} == {name for name, _ in FILES.values()}
    for name in SCRIPTS:
        script = (ASSETS / name).read_text(encoding="utf-8")
        assert set(re.findall(r'from "\./([^"]+)"', script)) <= set(SCRIPTS) - {"page.js"}
        assert "import(" not in script
        assert len(re.findall(r"\bfrom \"", script)) == len(re.findall(r"^import ", script, re.MULTILINE))


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = (ASSETS / "page.html").read_text(encoding="utf-8")
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="([^"#]+)"', page.replace("data:", "#data:")) == ["page.css", "page.js"]
    assert "@import" not in style
    assert "http" not in style
    assert "<script>" not in page
    assert " style=" not in page
