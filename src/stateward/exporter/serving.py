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


def routes(rounds: Rounds) -> list[web.RouteDef]:
    """Return /metrics, /status and /healthz."""
    told = ""

    async def asked() -> Round:
        nonlocal told
        found = await rounds.round()
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
