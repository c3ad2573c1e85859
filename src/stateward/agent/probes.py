"""The kubelet's probes, in plain HTTP and without secrets: they tell states and nothing else."""

from collections.abc import Callable

from stateward.agent import inquiry, wire
from stateward.agent.database import UP, Database, State
from stateward.agent.launch import Launcher
from stateward.agent.server import ReadBody
from stateward.agent.settings import Settings

_PATIENCE = 10  # answers that a process may miss one after the other before it counts as not ready


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

    async def answer(self, head: wire.Head, _read_body: ReadBody) -> wire.Answer:
        """Answer one probe."""
        if head.path not in {"/live", "/started", "/ready"}:
            raise wire.RefusedError(404, f"nothing is at {head.path}")
        if head.method != "GET":
            return wire.Answer(405, {"error": "only GET is possible here"}, ("Allow: GET",))
        if head.path == "/live":
            return self._live()
        return await (self._started() if head.path == "/started" else self._ready())

    async def came_up(self) -> None:
        """Ask the database whether it has started, and note it when it has."""
        asked = self._database.facts.pid
        good, _ = await self._ask(self._settings.started_url)
        if good and asked == self._database.facts.pid:
            self._database.came_up()

    def _live(self) -> wire.Answer:
        """Live is the agent. The database is not asked: a kill of the container would undo a stop that was wanted."""
        broken = self._broken()
        return self._say(broken is None, broken or "the agent runs")

    async def _started(self) -> wire.Answer:
        """Say that it has started also of a database that was told to stop.

        The disaster this prevents: a container comes back in a stop phase, its startup probe fails for as long as the
        stop lasts, and the kubelet kills the container again and again.
        """
        if self._database.facts.state in {State.STOPPING, State.STOPPED}:
            return self._say(good=True, why="the process was told to stop")
        return self._say(*await self._ask(self._settings.started_url))

    async def _ready(self) -> wire.Answer:
        """Say at once that a process does not serve which was told to stop, and of a busy one only after a while.

        The kubelet cannot tell one from the other: patient with both, it sends clients to a member that is away.
        """
        asked = self._database.facts.pid
        good, why = await self._ask(self._settings.ready_url)
        up = self._database.facts.state in UP and asked is not None and asked == self._database.facts.pid
        self._missed = 0 if good else self._missed + 1
        if good and up:
            self._serving = asked
        elif up and asked == self._serving and self._missed < _PATIENCE:
            return self._say(good=True, why=f"it has served, and missed {self._missed} answers: {why}")
        else:
            self._serving = None
        return self._say(good and up, why)

    async def _ask(self, setting: str | None) -> tuple[bool, str]:
        if self._database.facts.state not in UP:
            return False, "the process does not run"
        if setting is None:
            return True, "the process runs"
        try:
            url = inquiry.resolve(setting, self._launcher.configuration)
        except (OSError, ValueError) as error:
            return False, str(error)
        return await inquiry.ask(url, self._settings.credentials, self._settings.probe_seconds)

    def _say(self, good: bool, why: str) -> wire.Answer:
        return wire.Answer(200 if good else 503, {"state": self._database.facts.state.value, "reason": why})
