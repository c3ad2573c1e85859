"""A real Chromium, driven over its debugging protocol: open a page, run JavaScript in it, press keys, take pictures."""

import asyncio
import base64
import itertools
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--mute-audio",
)
"""The sandbox of Chromium does not run as root."""
PATIENCE = 30.0
"""Seconds for one answer, and for a condition of `until`."""


def program() -> str | None:
    """Return the Chromium of this machine; None without one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Tab:
    """One tab of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.said: list[str] = []
        """Messages on the console, with errors and violations of the content security policy."""

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer of one command of the protocol."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self._socket.receive_json()
                if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                    self.said.append(str(answer["params"]))
                if answer.get("id") == number:
                    assert "error" not in answer, answer
                    return answer["result"]

    async def open(self, url: str) -> None:
        """Open a page."""
        for domain in ("Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, also of a promise."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = PATIENCE) -> Any:
        """Return the value of an expression as soon as it is true."""
        async with asyncio.timeout(seconds):
            while not (value := await self.run(expression)):  # noqa: ASYNC110 - the page has no event for this
                await asyncio.sleep(0.05)
            return value

    async def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        code = {"Tab": 9, "Enter": 13, "Escape": 27}.get(key, ord(key[0]))
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    async def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the page, and the colour scheme that the viewer prefers."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=scheme)

    async def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of the page as PNG; `whole` includes what is below the screen."""
        answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(answer["data"]))


@asynccontextmanager
async def tab(folder: Path) -> AsyncGenerator[Tab]:
    """Give a tab of a new browser, with its profile in a folder; the browser ends with the block."""
    found = program()
    assert found is not None
    browser = await asyncio.create_subprocess_exec(
        found, *FLAGS, f"--user-data-dir={folder}", "about:blank", stderr=asyncio.subprocess.PIPE
    )
    try:
        port = await _port(browser)
        async with aiohttp.ClientSession() as http:
            async with http.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [page for page in await answer.json(content_type=None) if page["type"] == "page"]
            async with http.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        browser.terminate()
        await browser.communicate()


async def _port(browser: asyncio.subprocess.Process) -> str:
    assert browser.stderr is not None
    async with asyncio.timeout(PATIENCE):
        while line := (await browser.stderr.readline()).decode(errors="replace"):
            if "DevTools listening on ws://" in line:
                return line.rpartition("/devtools")[0].rpartition(":")[2]
    raise AssertionError("the browser did not start")
