"""The kubelet's probes, in plain HTTP and without secrets: they reveal only states.

Any client may call them, so their cost is limited: the agent sends the database one query at a time, all waiting probes
share its answer, and only some may wait. The others get the known state at once.
"""

from collections.abc import Callable

from stateward.agent.io import wire
from stateward.agent.io.loop import sleep
from stateward.agent.process.database import UP, Database, State
from stateward.agent.process.launch import Launcher
from stateward.agent.process.settings import Settings
from stateward.agent.serving import inquiry
from stateward.agent.serving.server import ReadBody

_PATIENCE = 10  # consecutive missed answers before a process counts as not ready
_WAITING = 8  # probes that may wait for the database at the same time: half of the server's connections
_LOOK = 0.02  # seconds between checks of a query by another probe
_BUSY = "the database has not answered yet, and other requests wait for it"


class _Question:
    """A query to the database, and its answer."""

    def __init__(self) -> None:
        self.answer: tuple[bool, str] = (False, "the database could not be reached")
        self.over = False


class Probes:
    """Answers `/live`, `/started` and `/ready`."""

    def __init__(
        self, settings: Settings, database: Database, launcher: Launcher, broken: Callable[[], str | None]
    ) -> None:
        self._settings = settings
        self._database = database
        self._launcher = launcher
        self._broken = broken
        self._serving: int | None = None
        self._missed = 0
        self._waiting = 0
        self._questions: dict[tuple[inquiry.Url, int | None], _Question] = {}

    async def answer(self, head: wire.Head, _read_body: ReadBody) -> wire.Answer:
        """Answer one probe."""
        if head.path not in {"/live", "/started", "/ready"}:
            raise wire.RefusedError(404, f"there is nothing at {head.path}")
        if head.method != "GET":
            return wire.Answer(405, {"error": "only GET is possible here"}, ("Allow: GET",))
        if head.path == "/live":
            return self._live()
        return await (self._started() if head.path == "/started" else self._ready())

    async def came_up(self) -> None:
        """Query whether the database has started, and record it if so."""
        asked = self._database.facts.pid
        good, _, _ = await self._ask(self._settings.started_url)
        if good and asked == self._database.facts.pid:
            self._database.came_up()

    def _live(self) -> wire.Answer:
        """Report whether the agent is live.

        It does not query the database: a killed container would undo an intended stop.
        """
        broken = self._broken()
        return self._say(broken is None, broken or "the agent runs")

    async def _started(self) -> wire.Answer:
        """Report also an intentionally stopped database as started.

        Otherwise a container that comes back in a stop phase would fail its startup probe for as long as the stop
        lasts, and the kubelet would kill the container again and again.
        """
        if self._database.facts.state in {State.STOPPING, State.STOPPED}:
            return self._say(good=True, why="the process is being stopped")
        if self._waiting >= _WAITING:
            return self._say(self._database.facts.state is State.RUNNING, _BUSY)
        good, why, _ = await self._ask(self._settings.started_url)
        return self._say(good, why)

    async def _ready(self) -> wire.Answer:
        """Report an intentionally stopped process as not ready at once, and a busy one only after some missed answers.

        The kubelet cannot distinguish them: if it were patient with both, it would send clients to an unavailable
        member.
        """
        asked = self._database.facts.pid
        if self._waiting >= _WAITING:
            up = self._database.facts.state in UP and asked is not None
            return self._say(up and asked == self._serving and self._missed < _PATIENCE, _BUSY)
        good, why, first = await self._ask(self._settings.ready_url)
        up = self._database.facts.state in UP and asked is not None and asked == self._database.facts.pid
        if first:
            self._missed = 0 if good else self._missed + 1
        if good and up:
            self._serving = asked
        elif up and asked == self._serving and self._missed < _PATIENCE:
            return self._say(good=True, why=f"it served before, and missed {self._missed} answers: {why}")
        else:
            self._serving = None
        return self._say(good and up, why)

    async def _ask(self, setting: str | None) -> tuple[bool, str, bool]:
        """Return whether the database answers well, its answer, and whether this probe sent the query."""
        if self._database.facts.state not in UP:
            return False, "the process does not run", True
        if setting is None:
            return True, "the process runs", True
        try:
            url = inquiry.resolve(setting, self._launcher.configuration)
        except (OSError, ValueError) as error:
            return False, str(error), True
        self._waiting += 1
        try:
            return await self._shared(url)
        finally:
            self._waiting -= 1

    async def _shared(self, url: inquiry.Url) -> tuple[bool, str, bool]:
        """Query the database, or wait for the answer to the same query about the same process."""
        about = url, self._database.facts.pid
        question = self._questions.get(about)
        if question is not None:
            while not question.over:
                await sleep(_LOOK)
            return *question.answer, False
        question = self._questions[about] = _Question()
        try:
            question.answer = await inquiry.ask(url, self._settings.credentials, self._settings.probe_seconds)
        finally:
            question.over = True
            del self._questions[about]
        return *question.answer, True

    def _say(self, good: bool, why: str) -> wire.Answer:
        return wire.Answer(200 if good else 503, {"state": self._database.facts.state.value, "reason": why})
