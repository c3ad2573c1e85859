"""The demo shows the plan of its upgrade, and the timeline of its cluster."""

import asyncio
import io
from collections.abc import Awaitable, Callable

from rich.console import Console, RenderableType

from demo import pictures
from demo.story import NAME, manifest
from demo.view import View
from stateward.api.parse import convert_cluster
from stateward.cli.shared.session import Session, Target
from tests.unit.cli.diagnosis.objects import with_history
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.samples import cluster


def shown(picture: RenderableType) -> str:
    out = io.StringIO()
    with View(Console(file=out, width=80), 0.0, lambda: 0.0) as view:
        view.show(picture)
    return out.getvalue()


def asked(api: FakeApi, namespace: str, ask: Callable[[Session], Awaitable[RenderableType]]) -> RenderableType:
    async def work() -> RenderableType:
        async with api.open(Target(namespace=namespace)) as session:
            return await ask(session)

    return asyncio.run(work())


def test_the_plan_has_an_effect_for_each_member_on_one_line() -> None:
    changed = convert_cluster(manifest("stateward-demo", "2.19.5", 3))

    async def ask(session: Session) -> RenderableType:
        return await pictures.plan(session, changed)

    text = shown(asked(FakeApi(), "stateward-demo", ask))
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith(f"{NAME}-")]
    assert [f"{NAME}-hot-0", "create"] in rows
    assert len(rows) == 6


def test_the_timeline_has_a_row_for_each_member() -> None:
    api = FakeApi()
    api.add("osclusters", cluster())
    with_history(api)

    async def ask(session: Session) -> RenderableType:
        return await pictures.timeline(session, "logs")

    text = shown(asked(api, "default", ask))
    assert any(line.split()[:1] == ["logs-hot-1"] and "U" in line for line in text.splitlines())
    assert " U  upgrade: restarts with another version" in text


def test_a_picture_that_cannot_be_made_ends_nothing() -> None:
    async def ask(session: Session) -> RenderableType:
        return await pictures.or_why_not(pictures.timeline(session, "absent"))

    assert shown(asked(FakeApi(), "default", ask)).startswith("not shown: there is no cluster 'absent'")
