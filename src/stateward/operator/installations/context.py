"""What looking at an installation needs of the process that it happens in."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from stateward.api.kinds.installation import Installation
from stateward.kube.cache.store import Store
from stateward.kube.client.exec import Execute
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key, key_of
from stateward.kube.timing.clock import Clock
from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.library import Library
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.operator.installations.execution.service_account import Accounts
from stateward.operator.installations.execution.tasks import ExecAs, no_exec_as
from stateward.operator.installations.objects.applier import Applier, ObjectTools
from stateward.operator.installations.objects.cached_objects import CachedObjects
from stateward.operator.installations.objects.faults import NotAllowedError
from stateward.operator.installations.objects.views import INSTALLATIONS, GroupKind, kinds_in
from stateward.operator.installations.objects.watches import Watches
from stateward.operator.installations.objects.write_memory import WriteMemory
from stateward.packages.plans.steps import set_id
from stateward.packages.plans.work import AT_REST, Errand


@dataclass(frozen=True, slots=True)
class SharedTools:
    """The shared tools of all installations: packages, known objects, and the sinks for events."""

    tools: ObjectTools
    library: Library
    watches: Watches
    memory: WriteMemory
    installations: Store[Installation]
    recorder: EventRecorder
    clock: Clock
    rendered_steps: RenderedSteps
    background: Background
    execute: ExecAs = no_exec_as
    accounts: Accounts = field(default_factory=Accounts)
    image: str = ""
    """The operator's own image; empty if it is unknown."""
    written: dict[Key, str] = field(default_factory=dict[Key, str])
    findable: dict[tuple[str, str, GroupKind], float] = field(default_factory=dict[tuple[str, str, GroupKind], float])
    """Until when it is known, by the monotonic clock, that a user may list a kind in a namespace."""

    def wrote(self, live: Installation) -> None:
        """Record the version of an installation that this process has written."""
        self.written[key_of(live)] = live.metadata.resource_version

    async def read(self, key: Key) -> Installation:
        """Return an installation; raises NotFound, ApiError.

        It is read live, unless the watch shows it exactly as this process wrote it last: then it has not changed since.
        Every write goes through only if it is still the same.
        """
        known = self.installations.get(key)
        fresh = known is not None and key not in self.installations.unreadable
        if known is not None and fresh and known.metadata.resource_version == self.written.get(key):
            return known
        return await self.tools.api.get(INSTALLATIONS, key)

    def is_gone(self, key: Key) -> bool:
        """Return whether the watch shows that an installation does not exist; one that appears later is queued."""
        return self.installations.has_synced and self.installations.get(key) is None and not self.unreadable(key)

    def unreadable(self, key: Key) -> bool:
        """Return whether the watch has an installation that it cannot decode."""
        return key in self.installations.unreadable

    def shown(self, key: Key) -> Installation | None:
        """Return an installation as the watch shows it, if nothing is done for it before a plan begins; else None.

        Its state may be outdated. The first write of a plan names its version, so an outdated state begins nothing.
        """
        known = self.installations.get(key)
        if known is None or self.unreadable(key) or known.metadata.deletion_timestamp is not None:
            return None
        fresh = self.memory.renewed(set_id(key.name, key.namespace)) or not kinds_in(known.metadata.annotations)
        return known if fresh else None

    def forget(self, key: Key) -> None:
        """Forget an installation that is gone."""
        self.written.pop(key, None)
        self.memory.forget(set_id(key.name, key.namespace))

    def known_objects(self, live: Installation) -> CachedObjects:
        """Return what is known of the objects of an installation without asking."""
        return CachedObjects(self.watches, self.memory, key_of(live))

    def tools_of(self, live: Installation) -> ObjectTools:
        """Return the tools with the rights of an installation's account; raises NotAllowedError without one.

        Everything that the spec or a package names goes through these, and nothing of it through the operator's own.
        """
        return replace(self.tools, api=self.tools.api.acting_as(self.accounts.user_of(live)))

    def execute_of(self, live: Installation) -> Execute:
        """Return a runner of commands in pods with the rights of an account; raises NotAllowedError without one.

        The API server gives no reason when it refuses such a connection, so the missing right is named here.
        """
        execute, home = self.execute(self.accounts.user_of(live)), live.metadata.namespace
        name = live.spec.service_account_name or self.accounts.default

        async def allowed(pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
            try:
                return await execute(pod, container, command, limit)
            except Forbidden as error:
                raise NotAllowedError(
                    f"service account {name} of namespace {home} may not run commands in pod {pod.name} in namespace"
                    f" {home}: give it the verbs create and get of pods/exec"
                ) from error

        return allowed

    def applier(self, live: Installation, errand: Errand = AT_REST) -> Applier:
        """Return the applier of an installation's objects; raises NotAllowedError without an account."""
        return Applier(self.tools_of(live), live, self.known_objects(live), errand)
