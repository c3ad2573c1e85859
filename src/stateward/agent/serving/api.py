"""The operator's API: routes and their actions."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from stateward.agent import VERSION
from stateward.agent.io import wire
from stateward.agent.io.files import Token
from stateward.agent.process.configuration import UnreadableError
from stateward.agent.process.database import Database, State
from stateward.agent.process.launch import Launcher, MismatchError
from stateward.agent.process.replacement import Replacement
from stateward.agent.serving.server import ReadBody

_PROCESS = "/v1/process"


class Api:
    """Answers authenticated requests. Every request can be repeated safely."""

    def __init__(self, token: Token, database: Database, launcher: Launcher, replacement: Replacement) -> None:
        self._token = token
        self._database = database
        self._launcher = launcher
        self._replacement = replacement
        self._routes: Mapping[str, tuple[str, frozenset[str]]] = {
            _PROCESS: ("GET", frozenset()),
            f"{_PROCESS}/stop": ("POST", frozenset()),
            f"{_PROCESS}/start": ("POST", frozenset({"checksum"})),
            "/v1/agent/replace": ("POST", frozenset({"path"})),
        }

    async def answer(self, head: wire.Head, read_body: ReadBody) -> wire.Answer:
        """Answer one request. Without a valid token the agent reveals nothing and reads no body."""
        if not self._token.matches(head.fields.get("authorization", b"")):
            return wire.Answer(401, {"error": "wrong or missing token"}, ("WWW-Authenticate: Bearer",))
        if head.path not in self._routes:
            raise wire.RefusedError(404, f"there is nothing at {head.path}")
        method, names = self._routes[head.path]
        if head.method != method:
            return wire.Answer(405, {"error": f"only {method} is possible here"}, (f"Allow: {method}",))
        body = wire.parse_body(await read_body(), names)
        if head.path.endswith("/start"):
            return self._start(body.get("checksum"))
        if head.path.endswith("/stop"):
            self._database.hold()
            self._database.stop()
        if head.path.endswith("/replace"):
            return await self._replace(body.get("path"))
        status = 202 if self._database.facts.state is State.STOPPING else 200
        return wire.Answer(status, self.describe())

    def describe(self) -> dict[str, object]:
        """Return all known facts about the process."""
        facts = self._database.facts
        document: dict[str, object] = {
            "state": facts.state.value,
            "pid": facts.pid,
            "startedAt": _moment(facts.started_at),
            "exitCode": facts.exit_code,
            "restarts": facts.restarts,
            "mountedChecksum": None,
            "runningChecksum": facts.checksum if facts.pid is not None else None,
            "agentVersion": VERSION,
            "engineVersion": os.environ.get("STATEWARD_ENGINE_VERSION"),
        }
        try:
            document["mountedChecksum"] = self._launcher.mounted()
        except UnreadableError as error:
            document["configurationError"] = str(error)
        return document

    def _start(self, expected: str | None) -> wire.Answer:
        if self._replacement.ending:
            # The kernel would kill the new process at the moment when process 1 ends.
            raise wire.RefusedError(409, "the agent is ending with its pod", state=self._database.facts.state.value)
        try:
            self._launcher.start(expected)
        except MismatchError as error:
            raise wire.RefusedError(
                409, str(error), state=self._database.facts.state.value, expected=expected, found=error.found
            ) from None
        except UnreadableError as error:
            raise wire.RefusedError(503, str(error)) from None
        return wire.Answer(200, self.describe())

    async def _replace(self, path: str | None) -> wire.Answer:
        if path is None:
            raise wire.RefusedError(400, 'the body needs "path", the directory of the newer agent')
        after: Callable[[], None] | None = await self._replacement.prepare(Path(path))
        return wire.Answer(200 if after is None else 202, self.describe(), after=after)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
