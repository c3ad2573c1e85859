"""A pod without Kubernetes: the agent as a real process over a small script, with its files, its API and its log."""

import contextlib
import http.client
import json
import os
import queue
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

from stateward.agent.process import session
from tests.unit.agent.authority import Authority

DEADLINE = 20.0  # seconds; reached only by a test that fails
SOURCE = Path(__file__).parents[3] / "src"
TOKEN = "secret"
_DATABASE = """
import signal, sys
numbers = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("up", flush=True)
while True:
    number = signal.Signals(signal.sigwait(numbers))
    print("got", number.name, flush=True)
    if number in {signal.SIGTERM, signal.SIGINT}:
        sys.exit(7)
"""
WAITS = [sys.executable, "-I", "-S", "-B", "-c", _DATABASE]
ISOLATED = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


class Pod:
    """Runs the agent. Nothing sleeps: what is waited for is a line of the log or the end of the process."""

    def __init__(self, root: Path, authority: Authority) -> None:
        self.root = root
        self.authority = authority
        self.config = root / "config"
        self.config.mkdir()
        (self.config / "database.yml").write_text("a: 1\n")
        self.token = root / "token"
        self.token.write_text(f"{TOKEN}\n")
        self.phase = root / "phase"
        self.certificate, self.key = authority.issue(root / "tls")
        self.launcher: list[str] = [sys.executable, "-I", "-S", "-B", "-c", _MAIN.format(source=str(SOURCE))]
        self.prefix: list[str] = []
        self.environment: dict[str, str] = {}
        self.api = 0
        self.probes = 0
        self._lines: queue.Queue[str] = queue.Queue()
        self.seen: list[str] = []

    def arguments(self, script: str | list[str], *options: str) -> list[str]:
        command = ["bash", "-c", script] if isinstance(script, str) else script
        fixed = {
            "--config": self.config,
            "--phase": self.phase,
            "--token": self.token,
            "--certificate": self.certificate,
            "--key": self.key,
            "--api": "127.0.0.1:0",
            "--probes": "127.0.0.1:0",
            "--grace": "10",
        }
        flat = [str(word) for pair in fixed.items() for word in pair]
        return ["run", *flat, *options, "--", *command]

    def run(self, script: str | list[str], *options: str) -> Self:
        """Start the agent and wait until it listens."""
        self._lines = queue.Queue()
        self.seen = []
        self.process = subprocess.Popen(
            [*self.prefix, *self.launcher, *self.arguments(script, *options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **self.environment},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.listening()
        return self

    def listening(self) -> None:
        found = re.search(r"API on port (\d+), probes on port (\d+)", self.expect("API on port"))
        assert found is not None
        self.api, self.probes = int(found[1]), int(found[2])

    def _read(self) -> None:
        assert self.process.stdout is not None
        into = self._lines
        with self.process.stdout as lines:
            for line in lines:
                into.put(line.decode(errors="replace").rstrip("\n"))
        into.put("(end)")

    def expect(self, text: str) -> str:
        """Return the next line of the log that holds the text."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                line = "(too late)"
            self.seen.append(line)
            if text in line:
                return line
            if line in {"(end)", "(too late)"}:
                raise AssertionError(f"no line with {text!r} in:\n" + "\n".join(self.seen))

    @property
    def pid(self) -> int:
        """The agent's process id, as seen from outside of its namespace."""
        if not self.prefix:
            return self.process.pid
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        return self.process.wait(DEADLINE)

    def call(self, method: str, path: str, body: Any = None, token: str = TOKEN) -> tuple[int, Any]:
        """Call the API and return the status and the document."""
        context = ssl.create_default_context(cafile=str(self.authority.path))
        connection = http.client.HTTPSConnection("127.0.0.1", self.api, context=context, timeout=DEADLINE)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request(method, path, data, {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def get(self) -> Any:
        status, document = self.call("GET", "/v1/process")
        assert status == 200
        return document

    def post(self, verb: str, body: Any = None) -> tuple[int, Any]:
        return self.call("POST", f"/v1/process/{verb}", body)

    def stop(self) -> None:
        """Stop the process and wait until it is gone."""
        assert self.post("stop")[0] in {200, 202}
        self.expect("the process is stopped")

    def probe(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.probes, timeout=DEADLINE)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().status

    def close(self) -> None:
        """End everything, whatever state the test left it in."""
        if not hasattr(self, "process"):
            return
        if self.process.poll() is None:
            self._kill_database()
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)

    def _kill_database(self) -> None:
        if not self.prefix:
            pid = self.process.pid
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                session.kill(int(child))


_MAIN = """
import sys
sys.path.insert(0, {source!r})
from stateward.agent.commandline import main
sys.exit(main(sys.argv[1:]))
"""
