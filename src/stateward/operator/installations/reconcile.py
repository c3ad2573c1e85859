"""One reconciliation of one installation: read it, decide, continue, and write the result."""

from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.installation import Installation, InstallationStatus, RunStatus, StateStatus
from stateward.kube.events.event_record import Severity
from stateward.kube.objects.errors import ApiError, Conflict, Forbidden, NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import key_of
from stateward.operator.installations.annotations import remove_finalizer
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.deletion import is_namespace_deleted, may_be_outside, remove_objects
from stateward.operator.installations.digest_renewal import renew_records
from stateward.operator.installations.drift import DriftCorrection
from stateward.operator.installations.execution.opening import NoPackageError
from stateward.operator.installations.execution.service_account import NOT_ALLOWED, error_text, reason_of, refusal
from stateward.operator.installations.execution.step_execution import kinds_of
from stateward.operator.installations.objects.faults import FatalError, HeldError, NotAllowedError
from stateward.operator.installations.objects.views import FINALIZER, INSTALLATIONS, GroupKind, kinds_in
from stateward.operator.installations.removed_objects import removed_objects
from stateward.operator.installations.run import BUSY_SECONDS, RunContext, continue_run
from stateward.operator.installations.status_writer import StatusWriter
from stateward.packages.format.parameters import BadValue, in_force
from stateward.packages.format.records import Package
from stateward.packages.plans.choice import CLEANUP, Chosen, State
from stateward.packages.plans.decision import (
    ANNOTATION_TRIGGER,
    Begin,
    Decision,
    GoOn,
    Rest,
    Stop,
    accepted,
    decide,
    follows,
    stopped,
)
from stateward.packages.plans.run_record import (
    at_once,
    begun,
    fixed_values,
    is_running,
    state_status,
    with_values,
)
from stateward.packages.plans.steps import set_id
from stateward.packages.plans.work import Cause
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.templates import TemplateProblem

SETTLED_SECONDS = 600.0
"""The resync interval of an installation that matches its spec; watches report changes at once."""
CLEANUP_SECONDS = 600.0
"""Seconds that a step of the plan `cleanup` may take by default: a deletion comes to an end."""
DELETED = "the installation is deleted"


@dataclass(frozen=True, slots=True)
class Found:
    """A decision, and its package and desired state (None if there is no usable one)."""

    decision: Decision
    package: Package | None = None
    wanted: State | None = None

    def follows(self, run: RunStatus) -> str:
        """Return what comes after a run, in a sentence; empty for nothing, or if it is not known."""
        stopped = isinstance(self.decision, GoOn) and self.decision.problem is not None
        if self.package is None or self.wanted is None or stopped:
            return ""
        return follows(self.package, run, self.wanted)


async def reconcile(shared: SharedTools, key: ObjectKey) -> float | None:
    """Reconcile an installation; returns the seconds until the next reconciliation. Raises ApiError, LostLease."""
    if shared.is_gone(key):
        shared.forget(key)
        return None
    shown = shared.shown(key)
    if shown is not None and await (first := Reconciliation(shared, shown)).begins():
        with suppress(Conflict, NotFound):  # It is not as the watch shows it: only a read tells.
            return await _attempt(shared, first)
    try:
        live = await shared.read(key)
    except NotFound:
        shared.forget(key)
        return None
    reconciliation = Reconciliation(shared, live)
    if live.metadata.deletion_timestamp is not None:
        return await reconciliation.end()
    return await _attempt(shared, reconciliation)


async def _attempt(shared: SharedTools, reconciliation: "Reconciliation") -> float | None:
    try:
        shared.accounts.user_of(reconciliation.live)
        return await reconciliation.go()
    except (HeldError, Forbidden) as error:
        return await reconciliation.refused(error)


async def tell_failure(shared: SharedTools, key: ObjectKey, sentence: str) -> None:
    """Write into the status that looking at an installation fails; raises ApiError, LostLease.

    The generation that was observed stays what it was: an edit that was not obeyed is still one.
    """
    try:
        status_writer = StatusWriter(shared, await shared.tools.api.get(INSTALLATIONS, key))
    except NotFound:
        return
    await status_writer.fail(sentence)


class Reconciliation:
    """One reconciliation of one installation, from its state when it was read."""

    def __init__(self, shared: SharedTools, live: Installation) -> None:
        self._shared = shared
        self._spec = live.spec
        self._name = live.metadata.name
        self._namespace = live.metadata.namespace
        self._status_writer = StatusWriter(shared, live)

    @property
    def live(self) -> Installation:
        """The installation after the last write."""
        return self._status_writer.live

    async def begins(self) -> bool:
        """Return whether a plan begins: then a write that names the version comes before everything else."""
        if self._spec.paused:
            return False
        try:
            return isinstance((await self._decided()).decision, Begin)
        except (HeldError, ApiError):
            return False  # It is reported from what is read live.

    async def go(self) -> float | None:
        """Decide and continue."""
        live, status = self._status_writer.live, self._status_writer.live.status
        if self._spec.paused:
            await self._status_writer.write(status, ("Paused", "spec.paused: no new step is taken"))
            return None
        if not await renew_records(self._shared, live):
            return BUSY_SECONDS
        found = await self._decided()
        if isinstance(found.decision, Stop):
            await self._status_writer.write(status, (found.decision.reason, found.decision.message))
            return SETTLED_SECONDS
        if isinstance(found.decision, GoOn | Rest) and found.decision.problem is not None:
            self._status_writer.standing = (found.decision.problem.reason, found.decision.problem.message)
        if isinstance(found.decision, Begin) and found.package is not None:
            status = await self._begin(found.decision, found.package)
        elif isinstance(found.decision, Rest) and found.decision.problem is None and found.wanted is not None:
            status = with_values(status, found.wanted)
        elif status.run is not None and is_running(status.run) and _edited(live):
            status = replace(status, run=at_once(status.run))
        if status.run is not None and is_running(status.run):
            return await self._go_on(
                status, status.run, float(self._spec.step_timeout_seconds), found.follows(status.run)
            )
        return await self._rest(status)

    async def refused(self, error: Exception) -> float:
        """Report a missing account, the right that it lacks, or what else has to pass; raises ApiError, LostLease."""
        reason = NOT_ALLOWED if isinstance(error, NotAllowedError | Forbidden) else "StepRetried"
        await self._status_writer.write(self._status_writer.live.status, (reason, error_text(error)))
        return SETTLED_SECONDS / 10

    async def _decided(self) -> Found:
        status, meta = self._status_writer.live.status, self._status_writer.live.metadata
        try:
            package = await self._shared.library.load(self._namespace, self._spec.package)
        except NoPackageError as error:
            stop = Stop(error.reason, error.message)
            return Found(GoOn(stop) if is_running(status.run) else stopped(status, stop))
        wanted = State(package.digest, in_force(package, self._spec.parameters, fixed_values(status.installed)))
        wish = meta.annotations.get(ANNOTATION_TRIGGER, "")
        return Found(decide(package, status, wanted, wish, self._name), package, wanted)

    async def _begin(self, decision: Begin, package: Package) -> InstallationStatus:
        status, chosen = self._status_writer.live.status, decision.chosen
        target = state_status(package, self._spec.package, chosen.state.values)
        run = begun(chosen, target, package, self._status_writer.now(), _cause(decision, status))
        use = Use(package, self._name, self._namespace, chosen.state.values)
        # Its kinds are recorded at once, and watched from its start; what cannot be rendered is told by its step.
        works = await self._shared.rendered_steps.renderable(use, chosen.plan)
        removed = await removed_objects(self._shared.rendered_steps, use, works, status.removed, done=False)
        kinds = frozenset[GroupKind]().union(*(kinds_of(work) for work in works.values()))
        await self._status_writer.mark(kinds, sure=False)
        granted = accepted(package, status, decision)
        written = await self._status_writer.write(replace(status, run=run, last_request=granted, removed=removed))
        mine = set_id(self._name, self._namespace)
        self._shared.memory.begin(mine, run.start_time, first=status.run is None)
        self._status_writer.tell(Severity.NORMAL, "PlanBegins", f"plan {chosen.plan}: {chosen.why}")
        return written

    async def _go_on(self, status: InstallationStatus, run: RunStatus, patience: float, after: str = "") -> float:
        try:
            use = await self._use(run.target)
        except NoPackageError as error:
            await self._status_writer.write(status, (error.reason, error.message))
            return SETTLED_SECONDS
        context = RunContext(self._shared, self._status_writer, use, patience, after)
        _, again = await continue_run(context, status, run)
        return again

    async def _use(self, state: StateStatus | None) -> Use:
        """Return the use of a package that a state speaks of; raises NoPackageError when it is not there any more."""
        if state is None:
            raise NoPackageError("PackageMissing", "the status does not name the package")
        return Use(await self._content(state), self._name, self._namespace, state.parameters)

    async def _content(self, state: StateStatus) -> Package:
        """Return the package of a state, also if the installation now names the same content differently."""
        if state.package != self._spec.package:
            try:
                package = await self._shared.library.load(self._namespace, self._spec.package)
            except NoPackageError:
                package = None
            if package is not None and package.digest == state.digest:
                return package
        package = await self._shared.library.load(self._namespace, state.package)
        if package.digest != state.digest:
            message = f"{state.package} has changed since it was used: restore it, or choose another package"
            raise NoPackageError("PackageChanged", message)
        return package

    async def _rest(self, status: InstallationStatus) -> float | None:
        """Keep what is installed as it is, and say what stands in the way of that, or of what is desired."""
        live, stuck = self._status_writer.live, self._status_writer.standing
        if status.installed is None:
            await self._status_writer.write(status)
            return None
        applier = self._shared.applier(live)
        seen = self._shared.watches.of(key_of(live), kinds_in(live.metadata.annotations))
        if seen is None:
            await self._status_writer.write(status)
            return BUSY_SECONDS
        keeper, mended = DriftCorrection(applier, self._shared.memory, self._shared.rendered_steps), list[str]()
        try:
            mended = await keeper.keep(await self._use(status.installed), seen, status.removed)
        except (NoPackageError, FatalError, HeldError, TemplateProblem, BadValue, ApiError) as error:
            told = f"changes by other clients cannot be reverted: {error_text(error)}"
            reason, before = stuck or (reason_of(error, "NotPutRight"), "")
            await self._status_writer.write(status, (reason, f"{before}; {told}" if before else told))
            return SETTLED_SECONDS / 10
        await self._status_writer.write(status)
        if mended:
            self._status_writer.tell(
                Severity.NORMAL, "PutRight", f"changes by other clients were reverted: {', '.join(mended)}"
            )
        return SETTLED_SECONDS

    async def end(self) -> float | None:
        """Run the plan `cleanup`, remove the objects, and remove the finalizer."""
        live = self._status_writer.live
        if FINALIZER not in live.metadata.finalizers:
            return None
        if kinds_in(live.metadata.annotations) or self._has_account():
            again = await self._emptied()
            if again is not None:
                return again
        await remove_finalizer(self._shared.tools.api, self._status_writer.live)
        self._shared.forget(ObjectKey(self._namespace, self._name))
        return None

    def _has_account(self) -> bool:
        try:
            return bool(self._shared.accounts.user_of(self._status_writer.live))
        except NotAllowedError:
            return False

    async def _emptied(self) -> float | None:
        """Run the plan `cleanup` and remove the objects; None when none is left."""
        going = await is_namespace_deleted(self._shared.tools.api, self._namespace)
        if going and not await may_be_outside(self._shared.tools.kinds, self._status_writer.live):
            return None  # All of it goes with the namespace, without any right.
        try:
            again = None if going else await self._clean_up(self._status_writer.live.status)
        except NotAllowedError as error:
            return await self._not_removed(error)
        if again is not None:
            return again
        try:
            applier = self._shared.applier(self._status_writer.live)
            waits = await remove_objects(
                self._shared.tools_of(self._status_writer.live), applier, self._status_writer.live, outside=going
            )
        except (HeldError, ApiError) as error:
            return await self._not_removed(error)
        if waits:
            await self._status_writer.write(self._status_writer.live.status, doing=f"is being removed: {waits}")
            return BUSY_SECONDS
        return None

    async def _not_removed(self, error: Exception) -> float:
        """Say why objects stay, and for a right that is missing also the way out without it."""
        told = f"its objects cannot be removed: {error_text(error)}"
        if refusal(error):
            told += f"; or leave the objects as they are, and remove the finalizer {FINALIZER} from the installation"
        await self._status_writer.write(self._status_writer.live.status, (reason_of(error, "NotRemoved"), told))
        return SETTLED_SECONDS / 10 if refusal(error) else BUSY_SECONDS

    async def _clean_up(self, status: InstallationStatus) -> float | None:
        """Continue the plan `cleanup`; None if there is none, or if it is done."""
        run, state = status.run, status.installed or (status.run.target if status.run else None)
        if run is not None and _for_the_end(run) and not is_running(run):
            return None
        try:
            use = await self._use(state)
        except NoPackageError as error:
            if state is not None:
                self._status_writer.tell(Severity.WARNING, error.reason, f"no cleanup: {error.message}")
            return None
        if CLEANUP not in use.package.operator.plans:
            return None
        if state is not None and (run is None or not _for_the_end(run)):
            chosen = Chosen(CLEANUP, State(use.package.digest, use.values), DELETED)
            fresh = begun(chosen, state, use.package, self._status_writer.now(), Cause.DELETION)
            # A requested cleanup that still runs continues: nothing can have been created since it started.
            going = run is not None and run.plan == CLEANUP and is_running(run)
            run = replace(run, cause=Cause.DELETION, description=DELETED) if run is not None and going else fresh
            status = await self._status_writer.write(replace(status, run=run))
        if run is None:
            return None
        timeout = self._spec.step_timeout_seconds or CLEANUP_SECONDS
        return await self._go_on(status, run, timeout, "is being removed")


def _cause(decision: Begin, status: InstallationStatus) -> Cause:
    """Return what started a run; a request stays the cause when a change restarts its plan."""
    run = status.run
    again = run is not None and is_running(run) and (run.plan, run.cause) == (decision.chosen.plan, Cause.REQUEST)
    return Cause.REQUEST if decision.granted or again else Cause.CHANGE


def _for_the_end(run: RunStatus) -> bool:
    """Return whether a run is the last one: objects that an earlier `cleanup` removed may exist again.

    A server with an older CRD of installations stores no cause; without the reason the deletion would never end there.
    """
    return run.plan == CLEANUP and (run.cause == Cause.DELETION or run.description == DELETED)


def _edited(live: Installation) -> bool:
    """Return whether the installation was edited since the last reconciliation: then no delay applies."""
    return live.metadata.generation != live.status.observed_generation
