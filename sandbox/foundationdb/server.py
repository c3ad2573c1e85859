"""`fdbserver`: the program."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence

from sandbox.foundationdb.finding import ClusterFile
from sandbox.foundationdb.options import UsageError, parse
from sandbox.foundationdb.process import Process
from stateward.simulation.foundationdb.state import protocol


def main(version: str, words: Sequence[str]) -> int:
    """Run the program; return its code. Like the real one it ends with 0 when it is killed by a client."""
    if list(words) in (["--version"], ["-v"]):
        print(about(version))
        return 0
    try:
        options = parse(words)
        file = ClusterFile.read(options.cluster_file)
    except (UsageError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    asyncio.run(_run(Process(options, version, file)))
    return 0


async def _run(process: Process) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.ended.set)
    with contextlib.suppress(asyncio.CancelledError):
        await process.run()


def about(version: str) -> str:
    """Return what `--version` prints."""
    minor = version.rpartition(".")[0]
    return f"FoundationDB {minor} (v{version})\nsource version stand-in\nprotocol {protocol(version)[1:]}"
