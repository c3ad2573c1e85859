"""`python -m bench.planner.answering SHARDS REPLICAS FAILED`: a database that answers the same until it is ended."""

import asyncio
import sys

from aiohttp import web

from bench.planner.answers import answers


async def answer(shards: int, replicas: int, failed: int) -> None:
    """Serve, and print the base URL."""
    bodies = answers(shards, replicas, failed=failed)

    async def replay(request: web.Request) -> web.Response:
        return web.Response(body=bodies[f"{request.method} {request.path}"], content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", replay)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(answer(*(int(word) for word in sys.argv[1:])))
