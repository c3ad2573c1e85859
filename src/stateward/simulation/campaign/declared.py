"""The part of a run that concerns declared resources: their users, and what is checked about them."""

import random
from collections.abc import Callable, Mapping

from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.simulation.apiserver.audit import Audit, Audits, Write
from stateward.simulation.opensearch.http import DatabaseAudits
from stateward.simulation.properties.declared.database_users import UsersWatchdog
from stateward.simulation.properties.declared.goal import unmet_declared
from stateward.simulation.properties.declared.secrecy import Secrecy
from stateward.simulation.properties.declared.settings import SettingsWatchdog
from stateward.simulation.properties.declared.snapshots import SnapshotWatchdog
from stateward.simulation.properties.declared.task_audit import TaskAudit
from stateward.simulation.properties.declared.verification import VerificationWatchdog
from stateward.simulation.properties.declared.watchdog import DeclaredWatchdog
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.users.declared.people import Declarations
from stateward.simulation.world.declared_objects import SECRETS
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import World

SHARE = 0.15
"""The part of all storms in which users declare objects."""
SECURED_SHARE = 0.15
"""The part of these in which the cluster is secured, and users of the database are declared."""
SECURITY: Json = {"enabled": True}
"""The security of their clusters."""
ROTATION = 3500.0
"""Seconds from the creation of such a cluster to its first fault: passwords are rotated after an hour at least."""
COUNTED = "declared: objects"
"""The counter name of runs with declared resources."""
COUNTED_USERS = "declared: users"
"""The counter name of runs with users of the database."""


def drawn(seed: int) -> bool:
    """Return whether a seed has declared resources, without a change of what else it draws."""
    return random.Random(f"{seed}/declared").random() < SHARE  # noqa: S311 - the seed repeats the run


def drawn_secured(seed: int) -> bool:
    """Return whether the declared resources of a seed are for a secured cluster, with users of its database."""
    return random.Random(f"{seed}/secured").random() < SECURED_SHARE  # noqa: S311 - the seed repeats the run


class WithoutOthers:
    """An audit without what tasks do that are about declared objects.

    A verification reads the cluster whose snapshots it verifies: that begins no round of that cluster. The Secrets of
    users of the database belong to no cluster; `own_secrets` says whether the current task writes those.
    """

    def __init__(self, audit: Audit, beside: Callable[[], bool], own_secrets: Callable[[], bool]) -> None:
        self._audit = audit
        self._beside = beside
        self._own_secrets = own_secrets

    def read(self, kind: str, key: Key) -> None:
        """Note a live read of one object."""
        if not self._beside():
            self._audit.read(kind, key)

    def listed(self, kind: str, selection: Selection) -> None:
        """Note a live read of several objects."""
        self._audit.listed(kind, selection)

    def writing(self, write: Write) -> None:
        """Check a write right before the server performs it."""
        if write.kind != SECRETS or not self._own_secrets():
            self._audit.writing(write)

    def wrote(self, write: Write) -> None:
        """Note a write that changed something."""
        self._audit.wrote(write)


class DeclaredPart:
    """Declared resources in one run."""

    def __init__(self, world: World, violations: list[Violation], *, secured: bool = False) -> None:
        world.context.count(COUNTED)
        self.declarations = Declarations(world, secured=secured)
        passwords = self.declarations.passwords
        self._users = UsersWatchdog(world, violations, passwords) if secured else None
        if secured:
            world.context.count(COUNTED_USERS)
        self._world = world
        self._watchdog = DeclaredWatchdog(world, violations)
        self._snapshots = SnapshotWatchdog(world, violations)
        self._settings = SettingsWatchdog(world, violations)
        self._verification = VerificationWatchdog(world, violations)
        self._secrecy = Secrecy(world, violations, self.declarations.values, passwords)

    @property
    def requests(self) -> int:
        """How many requests of the operator have changed objects in databases."""
        users = self._users.requests if self._users is not None else 0
        return self._watchdog.requests + self._snapshots.requests + self._settings.requests + users

    def attach(self, process: Process) -> None:
        """Let a process keep declared resources, and check what it does."""
        process.declares = True
        own: list[TaskAudit] = [self._watchdog, self._snapshots, self._settings, self._verification]
        if self._users is not None:
            own.append(self._users)
        process.database_audit = DatabaseAudits(*own)
        own_secrets = self._users.beside if self._users is not None else lambda: False
        process.audit = Audits(WithoutOthers(process.audit, process.database_audit.beside, own_secrets), *own)

    def unmet(self) -> list[str]:
        """Return the differences between what is declared and the database."""
        return [
            *unmet_declared(self._world, self._watchdog),
            *self._snapshots.unmet(),
            *self._settings.unmet(),
            *self._verification.unmet(),
            *(self._users.unmet() if self._users is not None else ()),
        ]

    def logged(self, event: str, values: Mapping[str, object]) -> None:
        """Check a line of the operator's log."""
        self._secrecy.logged(event, values)
