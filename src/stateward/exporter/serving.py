"""The exporter's HTTP server: /metrics for Prometheus, /status for the operator, and /healthz for the kubelet.

A database that does not answer is no failure of the exporter: it serves `stateward_database_up` 0.
"""

import asyncio
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from stateward import __version__
from stateward.engines.connection.http import Bounds, HttpTransport, open_session
from stateward.engines.search.exporter.settings import PORT, STANDING_PATH, Standing
from stateward.exporter.catalog import BUILD, COUNTER, METRICS, Metric
from stateward.exporter.questions import LARGEST, Questions, Round
from stateward.exporter.settings import read
from stateward.exporter.translation import Sample
from stateward.operator.runtime.listener import serve

TEXT = "text/plain; version=0.0.4"


class Fixed(Collector):
    """Families that were made before."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterator[Family]:
        """Return the families."""
        return iter(self._families)


def text_of(samples: Iterable[Sample]) -> bytes:
    """Return samples in the text format of Prometheus; a metric without samples is not in it."""
    by_metric: dict[str, list[Sample]] = {}
    for sample in (*samples, Sample(BUILD, (__version__,), 1.0)):
        by_metric.setdefault(sample.metric.name, []).append(sample)
    registry = CollectorRegistry()
    registry.register(Fixed(_family(each, by_metric[each.name]) for each in METRICS if each.name in by_metric))
    return generate_latest(registry)


def _family(metric: Metric, samples: list[Sample]) -> Family:
    kind = CounterMetricFamily if metric.type == COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.meaning, labels=metric.labels)
    for sample in samples:
        family.add_metric(sample.labels, sample.value)
    return family


def routes(questions: Questions) -> list[web.RouteDef]:
    """Return /metrics, /status and /healthz."""
    told = ""

    async def asked() -> Round:
        nonlocal told
        found = await questions.round()
        if found.failure != told:  # One line for each change, and not for each scrape.
            told = found.failure
            sys.stderr.write(f"{told or 'the database answers'}\n")
        return found

    async def metrics(_: web.Request) -> web.Response:
        found = await asked()
        return web.Response(body=text_of(found.samples), headers={"Content-Type": f"{TEXT}; charset=utf-8"})

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def status(_: web.Request) -> web.Response:
        found = await asked()
        body = msgspec.json.encode(Standing(not found.failure, found.failure))
        return web.Response(body=body, content_type="application/json")

    return [web.get("/metrics", metrics), web.get(STANDING_PATH, status), web.get("/healthz", healthz)]


async def run(folder: str, port: int = PORT) -> None:
    """Serve until SIGTERM or SIGINT; raises OSError, msgspec.DecodeError for settings that cannot be used."""
    settings, access = read(Path(folder))
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with open_session() as session:
        transport = HttpTransport(session, Bounds(largest=LARGEST))
        questions = Questions(transport if access is None else transport.within(access), settings)
        async with serve("", port, routes(questions)):
            await stop.wait()
