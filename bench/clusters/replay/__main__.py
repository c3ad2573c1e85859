"""`python -m bench.clusters.replay FILE CLUSTERS`: serves a recorded cluster many times, says `ready on port N`."""

import asyncio
import gc
import signal
import sys
from pathlib import Path

from aiohttp import web

from bench.clusters import fleet
from bench.clusters.recording import load, multiplied
from bench.clusters.replay.server import Replay


async def serve(file: Path, count: int) -> None:
    """Serve until a signal asks to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    others = [fleet.name(index) for index in range(1, count)]
    replay = Replay(multiplied(load(file), fleet.name(0), others))
    gc.freeze()
    runner = web.ServerRunner(web.Server(replay.answer, access_log=None), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print("ready on port", runner.addresses[0][1], flush=True)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
