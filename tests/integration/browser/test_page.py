"""The page in a real Chromium: what a viewer sees, with the mouse, with the keyboard, and with hostile names.

Debian's package `chromium` is installed if no Chromium is there. No API server is needed.
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from sandbox.host import packages
from sandbox.progress import Progress
from stateward.cli.dashboard.host import opened
from stateward.cli.dashboard.in_operator import operator_page
from stateward.cli.page.server import open_page
from stateward.cli.tour.host import TourHost
from stateward.cli.tour.player import Player
from stateward.engines.connection.base import Speed
from stateward.kube.objects.metadata import Key
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.database import Copy, CopyState, Database, Health, Node, Unit, Unknown
from stateward.simulation.interactive.scenario import scenario
from tests.integration.browser.chromium import Tab, program, tab
from tests.support.memory_server import MemoryServer, cluster, many

pytestmark = pytest.mark.integration
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
"""Gives the texts whose contrast with their ground is below 4.5, as WCAG AA asks for."""
HOSTILE = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'


@pytest.fixture(scope="module")
def chromium() -> None:
    """Install Chromium where none is."""
    if program() is None:
        packages.require(packages.BROWSER, Progress())


@pytest.fixture
async def browser(tmp_path: Path, chromium: None) -> AsyncGenerator[Tab]:
    """Give a tab of a new browser; nothing may be on its console at the end."""
    async with tab(tmp_path) as found:
        await found.look(1400, 1000)
        yield found
        assert found.said == []


@pytest.fixture
async def player() -> AsyncGenerator[Player]:
    """Give a tour with time running, without its script."""
    made = Player(scenario("opensearch"), 0, 10.0, lambda _: [])
    await made.start()
    playing = asyncio.create_task(made.play())
    made.paused = False
    yield made
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await made.close()


async def text(browser: Tab, selector: str) -> str:
    return str(await browser.run(f"document.querySelector({selector!r}).innerText"))


async def test_a_viewer_of_the_tour_sees_members_presses_keys_and_watches_the_timeline(
    browser: Tab, player: Player
) -> None:
    async with open_page(TourHost(player)) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('.card').length == 9")
        await browser.until("document.querySelectorAll('.shard.primary').length >= 8")
        await browser.press("v")
        await browser.until("document.querySelector('#upgrade').innerText.includes('2.19.5')")
        await browser.until("[...document.querySelectorAll('#line .label')].some(e => e.textContent == 'wait')")
        await browser.press("k")
        await browser.until("[...document.querySelectorAll('.card')].some(e => e.innerText.includes('Missing'))")
        # The page draws the members at each event, and the timeline once a second.
        await browser.until("document.querySelector('#line').innerText.includes('loses its power')")
        assert "Missing" in await text(browser, "#waits")
        await browser.press("b")
        await browser.press("+")
        await browser.press("+")
        await browser.until("document.querySelector('#verdict').innerText.includes('all found again')", 60)


async def test_a_button_shows_the_plan_and_changes_only_what_is_confirmed(browser: Tab, player: Player) -> None:
    async with open_page(TourHost(player)) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('.card').length == 9")
        pause = "document.querySelector('[data-key=\"verb pause\"]')"
        await browser.run(f"{pause}.click()")
        await browser.until("document.querySelector('#dialog').innerText.includes('no member would change')")
        await browser.press("Escape")
        assert await browser.run("document.querySelector('#dialog').open") is False
        assert player.frame.cluster.spec.update is None
        await browser.run(f"{pause}.click()")
        await browser.until("document.querySelector('#dialog .first') !== null")
        await browser.run("document.querySelector('#dialog .first').click()")
        await browser.until("document.querySelector('#cluster-title').innerText.includes('paused')")
        assert player.frame.cluster.spec.update is not None


async def test_a_member_is_explained_by_keyboard_alone(browser: Tab, player: Player) -> None:
    async with open_page(TourHost(player)) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('.card').length == 9")
        for _ in range(40):
            await browser.press("Tab")
            if await browser.run("document.activeElement.classList.contains('card')"):
                break
        name = await browser.run("document.activeElement.getAttribute('aria-label')")
        assert "Ready" in name
        await browser.press("Enter")
        await browser.until("document.querySelector('#dialog').innerText.includes('it serves, and matches its spec')")
        assert await browser.run("document.activeElement.id") == "dialog-title"


async def test_names_and_messages_are_text_and_never_markup(browser: Tab) -> None:
    server = MemoryServer()
    hostile = cluster(2)
    hostile["status"]["activity"] = hostile["status"]["memberStates"][0]["reason"] = HOSTILE
    wait = {"subject": HOSTILE, "reason": HOSTILE, "message": HOSTILE, "sinceTime": "2026-11-21T11:57:00Z"}
    hostile["status"]["waiting"] = [wait]
    hostile["status"]["memberStates"][0]["node"] = HOSTILE
    server.add(hostile)
    async with opened(server.session(), "dashboard", read_only=False) as host, open_page(host) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('#rows tr').length == 1")
        assert HOSTILE in await text(browser, "#rows")
        await browser.run("document.querySelector('#rows a').click()")
        await browser.until("document.querySelectorAll('.card').length == 5")
        assert HOSTILE in await text(browser, "#waits")
        assert await browser.run("document.images.length") == 0
        assert await browser.run("typeof window.attacked") == "undefined"


async def test_five_hundred_clusters_and_a_hundred_and_twenty_members_are_fast(browser: Tab) -> None:
    server = MemoryServer()
    for each in (*many(500), cluster(998, 120)):
        server.add(each)
    async with opened(server.session(), "dashboard", read_only=True) as host, open_page(host) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('#rows tr').length == 501")
        filtered = """new Promise(done => { const began = performance.now(), filter = document.querySelector('#filter');
            filter.value = 'red'; filter.dispatchEvent(new Event('input'));
            requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began))); })"""
        assert await browser.run(filtered) < 1000
        assert await browser.run("document.querySelectorAll('#rows tr').length") == 71
        await browser.run("location.hash = encodeURIComponent('data/opensearch/logs-998')")
        await browser.until("document.querySelectorAll('.card').length == 120")
        drawn = "(() => { const began = performance.now(); dispatchEvent(new Event('resize'));"
        assert await browser.run(f"{drawn} return performance.now() - began; }})()") < 1000


async def test_clusters_that_need_a_viewer_are_first_and_no_row_moves_under_the_focus(browser: Tab) -> None:
    server = MemoryServer()
    for each in many(30):
        server.add(each)
    order = "[...document.querySelectorAll('#rows tr')].map(row => row.children[3].innerText.trim())"
    first = "document.querySelector('#rows tr').dataset.ref"
    async with opened(server.session(), "dashboard", read_only=True) as host, open_page(host) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('#rows tr').length == 30")
        healths = await browser.run(order)
        assert healths == sorted(healths, key=["red", "unknown", "yellow", "green"].index)
        await browser.run("document.querySelector('#rows tr:nth-child(2) a').focus()")
        late = cluster(5)
        late["metadata"]["name"] = "a-first"
        server.add(late)
        await browser.until("document.querySelectorAll('#rows tr').length == 31")
        assert await browser.run(first) == "data/elasticsearch/a-first"
        key = await browser.run("document.activeElement.dataset.key")
        worse = server.store.get("stateward.dev/osclusters", Key("default", "logs-000"))
        assert worse is not None
        server.store.put(
            "stateward.dev/osclusters",
            {**worse.doc, "status": {**worse.doc["status"], "health": "red"}},
            worse.managers,
        )
        await browser.until(f"{order}.filter(health => health == 'red').length == 6")
        assert await browser.run(f"{order}.lastIndexOf('red')") > 6, "the row moved while the focus was in the list"
        assert await browser.run("document.activeElement.dataset.key") == key
        await browser.run("document.activeElement.blur()")
        await browser.until(f"{order}.lastIndexOf('red') == 5")


class Databases:
    """The operator's own reading: one database answers, and the others do not."""

    async def report(self, plural: str, key: Key) -> Database | Unknown:
        if (plural, key.name) != ("osclusters", "logs-000"):
            return Unknown("no route to it")
        copies = (Copy(CopyState.STARTED, primary=True, member="logs-000-hot-0"), Copy(CopyState.UNASSIGNED))
        node = Node("logs-000-hot-0", "2.19.5", data=True, voting=True, disk_total=100 << 30, disk_free=40 << 30)
        return Database("u", Health.YELLOW, {node.name: node}, (Unit(HOSTILE, 1, copies),), leader=node.name)

    async def speed(self, plural: str, key: Key) -> Speed:
        del plural, key
        return Speed()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_the_page_of_the_operator_shows_what_it_reads_and_what_is_not_known(browser: Tab, *, dark: bool) -> None:
    await browser.look(1400, 1000, dark=dark)
    server = MemoryServer()
    for each in (cluster(0), cluster(6), cluster(12, 60)):
        server.add(each)
    async with operator_page(server.api, OperatorOptions(page=True, page_port=0), Databases()) as port:
        await browser.open(f"http://127.0.0.1:{port}/page/#default/opensearch/logs-000")
        await browser.until("document.querySelectorAll('.shard.primary').length == 2")  # One is in the legend.
        first = "document.querySelector('.card').getAttribute('aria-label')"
        assert "60 GiB of 100 GiB of its disk used, 1 shard, 1 primary" in await browser.run(first)
        assert "1, 1 copy without a member" in await text(browser, "#facts")
        assert "not known" not in await text(browser, "#cluster")
        assert await browser.run("document.querySelectorAll('#verbs button').length") == 1, "it changes nothing"
        for name, members in (("logs-006", 5), ("logs-012", 60)):
            await browser.run(f"location.hash = encodeURIComponent('default/opensearch/{name}')")
            await browser.until("document.querySelector('#facts').innerText.includes('no route to it')")
            await browser.until(f"document.querySelectorAll('.card').length == {members}")
            texts = await browser.run("[...document.querySelectorAll('.card')].map(card => card.innerText)")
            assert all("shards not known" in each for each in texts)
            assert await browser.run("document.querySelectorAll('.card .shard').length") == 0
            assert await browser.run(CONTRAST) == []


async def test_small_cards_clip_no_word_and_have_the_facts(browser: Tab) -> None:
    server = MemoryServer()
    server.add(cluster(0, 120))
    clipped = """[...document.querySelectorAll('.card, .card *')]
        .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1).length"""
    async with opened(server.session(), "dashboard", read_only=True) as host, open_page(host) as url:
        await browser.open(f"{url}#default/opensearch/logs-000")
        await browser.until("document.querySelectorAll('.compact .card').length == 120")
        for width in (1400, 1000, 500):
            await browser.look(width, 1000)
            assert await browser.run(clipped) == 0
        restarting = "[...document.querySelectorAll('.card')].find(card => card.innerText.includes('Restarting'))"
        assert "2.19.5" in await browser.run(f"{restarting}.innerText")
        assert "version 2.19.5, on node-" in await browser.run(f"{restarting}.getAttribute('aria-label')")
        await browser.run(f"{restarting}.focus()")
        await browser.press("Enter")
        await browser.until("document.querySelector('#dialog').innerText.includes('version 2.19.5, on node-')")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_texts_have_enough_contrast_in_both_colour_schemes(browser: Tab, player: Player, *, dark: bool) -> None:
    await browser.look(1400, 1000, dark=dark)
    async with open_page(TourHost(player)) as url:
        await browser.open(url)
        await browser.until("document.querySelectorAll('.card').length == 9")
        await browser.press("v")
        await browser.until("document.querySelectorAll('.card.wait').length > 0")
        assert await browser.run(CONTRAST) == []
