"""Selects the configuration of a process, and starts the process with exactly that."""

import os
from collections.abc import Mapping
from pathlib import Path

from stateward.agent.process import configuration, kept
from stateward.agent.process.configuration import UnreadableError
from stateward.agent.process.database import UP, Database, State
from stateward.agent.process.handover import VARIABLES
from stateward.agent.process.phase import Phase, read
from stateward.agent.process.settings import Settings


class MismatchError(Exception):
    """The configuration is not the requested one."""

    def __init__(self, reason: str, found: str | None) -> None:
        super().__init__(reason)
        self.found = found


class Launcher:
    """Starts the database: automatically when the container starts, later on the operator's request."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database

    @property
    def configuration(self) -> Path:
        """Directory of the process's configuration: the kept copy, otherwise the mount."""
        keep = self._settings.kept
        return keep / kept.CURRENT if keep else self._settings.configuration

    def mounted(self) -> str:
        """Return the checksum of the mounted configuration. Raise `UnreadableError`."""
        return configuration.checksum(configuration.read(self._settings.configuration))

    def due(self) -> Phase | None:
        """Return the phase in which the process of a new pod boots; None until its configuration has arrived.

        A kubelet that learns of a change late mounts an old Secret. Without this check the pod would run the old
        configuration but be marked with the new one, and nothing would ever restart it.

        The configuration is checked before the phase: a stop that was written before the configuration arrived is then
        visible too.
        """
        arrived = self._arrived()
        now = read(self._settings.phase)
        return now if arrived or now.stays_stopped or now.takes_new_configuration else None

    def _arrived(self) -> bool:
        keep = self._settings.kept
        if keep is not None and kept.kept(keep) is not None:
            return True
        wanted = self._expected()
        try:
            return not wanted or self.mounted() == wanted
        except UnreadableError:
            return not wanted

    def _expected(self) -> str:
        if self._settings.expected is None:
            return ""
        try:
            return self._settings.expected.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def boot(self, phase: Phase) -> None:
        """Act on the phase after the container has started.

        A process that comes back after a crash gets its previous configuration; a newer one waits for the plan.
        """
        if phase.stays_stopped:
            return
        files = None
        if self._settings.kept is not None and not phase.takes_new_configuration:
            files = kept.kept(self._settings.kept)
        self._start(configuration.read(self._settings.configuration) if files is None else files)

    def start(self, expected: str | None) -> None:
        """Start with the mounted configuration, if it is the expected one; a process that runs with it continues.

        A Secret takes up to two minutes to arrive in the pod. Without this check a member could start with the old
        configuration while the operator assumes the new one. The compared bytes are the bytes kept for the process, so
        nothing can change in between. Raise `MismatchError` and `UnreadableError`.
        """
        facts = self._database.facts
        if facts.state in UP:
            if expected not in {None, facts.checksum}:
                raise MismatchError("the process runs with another configuration; stop it first", facts.checksum)
            return
        if facts.state is not State.STOPPED:
            raise MismatchError(f"the process is {facts.state.value}; ask again", None)
        files = configuration.read(self._settings.configuration)
        found = configuration.checksum(files)
        if expected not in {None, found}:
            raise MismatchError("another configuration is mounted", found)
        self._start(files)

    def _start(self, files: Mapping[str, bytes]) -> None:
        checksum = configuration.checksum(files)
        if self._settings.kept is not None:
            try:
                kept.keep(files, self._settings.kept)
            except OSError as error:
                raise UnreadableError(f"the configuration could not be kept: {error}") from error
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environment["STATEWARD_CONFIG"] = str(self.configuration)
        environment["STATEWARD_CONFIG_CHECKSUM"] = checksum
        self._database.start(checksum, environment, ready=self._settings.started_url is None)
