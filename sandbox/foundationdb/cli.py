"""`fdbcli`: the program, for `--exec` alone."""

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sandbox.foundationdb import wire
from sandbox.foundationdb.finding import ClusterFile, find
from sandbox.foundationdb.options import UsageError, named
from sandbox.foundationdb.server import about
from stateward.simulation.foundationdb import status
from stateward.simulation.foundationdb.commandline import Run
from stateward.simulation.foundationdb.state import protocol

FLAGS = frozenset({"--no-status", "--no-hints", "--log"})
LOUD = ("ERROR", "WARNING", "Specified timeout", "Usage", "Type `")


class Client:
    """One client of a cluster."""

    def __init__(self, version: str, file: ClusterFile) -> None:
        self.protocol = protocol(version)
        self.file = file

    async def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Send a request to the leader; None if there is no leader."""
        found = await find(self.file.current.coordinators, self.file.current.key, self.protocol)
        if found.forward:
            self.file.follow(found.forward)
            found = await find(self.file.current.coordinators, self.file.current.key, self.protocol)
        answer = await self._leader(found.leader, request) if found.leader else None
        if request["op"] == "status":
            path, now = str(self.file.path), time.time()
            if answer is None or "untrusted" in answer:
                message = status.UNREACHED if answer is None else status.UNTRUSTED
                return status.empty(found.reached, path, now, message)
            return status.joined(answer, found.reached, path, now)
        if answer is not None and "connection" in answer:
            self.file.follow(answer["connection"])
        return answer

    async def _leader(self, leader: str, request: dict[str, Any]) -> dict[str, Any] | None:
        question = {"op": "ask", "key": self.file.current.key, "request": request, "protocol": self.protocol}
        try:
            return (await wire.ask(leader, question, 5.0)).get("answer")
        except wire.SilentError:
            return None


def main(version: str, words: Sequence[str]) -> int:
    """Run the program; return its code."""
    if list(words) in (["--version"], ["-v"]):
        print(about(version))
        return 0
    try:
        options = named([word for word in words if word not in FLAGS])
        default = os.environ.get("FDB_CLUSTER_FILE", "/etc/foundationdb/fdb.cluster")
        file = ClusterFile.read(Path(options.get("cluster_file", default)))
        seconds = float(options.get("timeout", "0"))
    except (UsageError, ValueError, OSError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    if "exec" not in options:
        print("ERROR: the stand-in has no prompt: use --exec", file=sys.stderr)
        return 1
    run = Run(Client(version, file).ask, identity=lambda: uuid.uuid4().hex)
    code, output = asyncio.run(run.execute(options["exec"], seconds))
    for line in output.splitlines():
        # Like the real one, it complains on the other channel.
        loud = line.startswith(LOUD) or "---- WARNING" in line
        print(line, file=sys.stderr if loud else sys.stdout, flush=True)
    return code
