"""What takes a processor for long is done while the event loop goes on."""

import asyncio
import threading

import pytest

from stateward.operator.aside import in_thread
from stateward.operator.installations import works
from stateward.operator.installations.works import Works
from stateward.packages.rendering import Place, Use, places
from stateward.packages.steps import Work
from tests.unit.packages.samples import shop

PATIENCE = 20.0
"""Seconds after which whoever holds the loop gives up, so that the test fails and does not hang."""


@pytest.mark.parametrize("fails", [False, True])
async def test_the_loop_goes_on_while_a_package_is_rendered(monkeypatch: pytest.MonkeyPatch, *, fails: bool) -> None:
    loop, begun, may, wanted = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), Work((), (), ())

    def slow(_use: Use, _place: Place) -> Work:
        loop.call_soon_threadsafe(begun.set)
        assert may.wait(PATIENCE), "the loop waits for the rendering"
        if fails:
            raise KeyError("of the package")
        return wanted

    monkeypatch.setattr(works, "work_of", slow)
    use = Use(shop(), "web", "prod")
    rendering = asyncio.create_task(Works(in_thread).of(use, next(places(use.package, "deploy"))))
    await begun.wait()
    may.set()
    if fails:
        with pytest.raises(KeyError, match="of the package"):
            await rendering
    else:
        assert await rendering is wanted
