"""The exporter of a FoundationDB cluster: its scrapes, and its pod."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from stateward.kube.objects import resources as kinds
from stateward.kube.objects.resource import Selection
from tests.e2e.clusters import Clusters
from tests.e2e.metrics.scraping import total

Scrape = Callable[[], Awaitable[str]]


def value(text: str, name: str) -> float:
    """Return the sum of all series of a metric of the database."""
    return total(text, f"stateward_database_{name}")


async def until(scrape: Scrape, holds: Callable[[str], object], seconds: float = 120) -> str:
    """Scrape until something holds, of metrics that may not be there yet; raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            text = await scrape()
            with suppress(AssertionError):
                if holds(text):
                    return text
            await asyncio.sleep(2)


async def asker_images(clusters: Clusters, name: str) -> set[str]:
    """Return the images of the container that asks the database."""
    selection = Selection(clusters.namespace, labels=f"stateward.dev/metrics-of={name}")
    found: list[Any] = list((await clusters.api.list(kinds.PODS.raw(), selection)).items)
    return {c["image"] for pod in found for c in pod["spec"]["containers"] if c["name"] == "fdbcli"}


def members_of(text: str) -> set[str]:
    """Return the members that have series of their own."""
    lines = (line for line in text.splitlines() if line.startswith("stateward_database_process_info{"))
    return {line.partition('node="')[2].partition('"')[0] for line in lines}
