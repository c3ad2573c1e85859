"""The exporter's HTTP server: /metrics for Prometheus, /status for the operator, and /healthz for the kubelet.

A database that does not answer is no failure of the exporter: it serves `stateward_database_up` 0.
"""

import sys

import msgspec
from aiohttp import web

from stateward.api.values.problem import printable
from stateward.engines.exporter.settings import STANDING_PATH, Standing
from stateward.exporter.rounds import Round, Rounds
from stateward.exporter.text import TEXT, text_of

MOST_WAITING = 32
"""Requests that may wait for a database at the same time: half of the connections, so that the kubelet's has one."""


def routes(rounds: Rounds) -> list[web.RouteDef]:
    """Return /metrics, /status and /healthz."""
    told, waiting = "", 0

    async def asked() -> Round:
        nonlocal told, waiting
        if waiting >= MOST_WAITING:
            raise web.HTTPServiceUnavailable(text="other requests wait for the database")
        waiting += 1
        try:
            found = await rounds.round()
        finally:
            waiting -= 1
        if found.failure != told:  # One line for each change, and not for each scrape.
            told = found.failure
            sys.stderr.write(f"{printable(told) or 'the database answers'}\n")
        return found

    async def metrics(_: web.Request) -> web.Response:
        found = await asked()
        return web.Response(body=text_of(found.samples), headers={"Content-Type": f"{TEXT}; charset=utf-8"})

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def status(_: web.Request) -> web.Response:
        found = await asked()
        body = msgspec.json.encode(Standing(not found.failure, found.failure, found.starting))
        return web.Response(body=body, content_type="application/json")

    return [web.get("/metrics", metrics), web.get(STANDING_PATH, status), web.get("/healthz", healthz)]
