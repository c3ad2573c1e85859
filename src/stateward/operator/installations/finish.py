"""The end of a plan: restarts pods whose data has changed in between, and prunes.

A later step may change a ConfigMap that a workload of an earlier step uses. Its pods restart once, here, and not in
between; only for data of this installation, because no request exists for other data. The end waits for these pods
alone: the health of others is up to the steps that create them. A plan that waited for all could not save the data of
unhealthy pods, whose repair waits for the end of the plan.

What did not exist when a workload was applied is recorded here, too: else its first change would count as its arrival.
"""

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import Conflict, NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.deletion import remove_in_turn
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.objects.owned_objects import OwnedObject, owned_objects
from stateward.operator.installations.objects.views import kinds_in
from stateward.operator.restarts.sources import read_sources
from stateward.operator.restarts.views import WORKLOADS
from stateward.packages.format.parameters import BadValue
from stateward.packages.plans.health import Health, health_of
from stateward.packages.plans.steady_state import KEPT
from stateward.packages.plans.steps import superfluous
from stateward.packages.plans.work import ANNOTATION_RUN, run_in
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Use, places
from stateward.packages.rendering.templates import TemplateProblem
from stateward.packages.restarts.dependencies import dependencies
from stateward.packages.restarts.digests import digests_of
from stateward.packages.restarts.guards import too_large, too_many_objects
from stateward.packages.restarts.restarts import Verdict, annotated, judge, read_record


class Finisher:
    """Ends plans of one installation; `restarted` collects what pods were restarted for."""

    def __init__(self, shared: SharedTools, installation: Installation) -> None:
        self._tools = shared.tools_of(installation)
        self._rendered_steps = shared.rendered_steps
        self._applier = shared.applier(installation)
        self._cached_objects = shared.known_objects(installation)
        self._installation = installation
        self.restarted: list[str] = []

    async def finish(self, use: Use, run: str) -> str:
        """Return what the end of a run (by its start) waits for, or nothing; raises HeldError, ApiError."""
        if await self._nothing_left(use, run):
            return ""
        owned = await owned_objects(self._tools.api, self._tools.kinds, self._installation)
        waits = [text for found in owned if (text := await self._settle(found, owned, run))]
        if waits:
            return "; ".join(waits)
        waits = await remove_in_turn(self._applier, await self._unwanted(use, owned))
        if not waits:
            self._cached_objects.memory.listed(self._cached_objects.set_id)
        return "; ".join(waits)

    async def _nothing_left(self, use: Use, run: str) -> bool:
        """Return whether it is certain, without a request, that no pods have to restart and nothing is to be pruned.

        It is certain if this process has created everything of the run, the caches have observed all of it, and
        everything that exists would be created again. Objects from before this process were listed once.
        """
        memory = self._cached_objects.memory
        seen = self._cached_objects.inventory(kinds_in(self._installation.metadata.annotations))
        if seen is None or not memory.knows(self._cached_objects.set_id, run):
            return False
        bodies = [(kind, body.metadata) for kind, found in seen.items() for body in found]
        workloads = [meta for kind, meta in bodies if kind[0] == "apps" and kind[1] in WORKLOADS]
        if not all(memory.up_to_date(self._cached_objects.set_id, meta.uid) for meta in workloads):
            return False
        return not await self._gone(use, [Identity(*kind, meta.namespace, meta.name) for kind, meta in bodies])

    async def _settle(self, found: OwnedObject, owned: list[OwnedObject], run: str) -> str:
        if found.identity.group != "apps" or found.identity.kind not in WORKLOADS:
            return ""
        key = ObjectKey(found.meta.metadata.namespace, found.meta.metadata.name)
        live = await self._applier.read(found.kind, key)
        if live is None or (before := read_record(live)) is None or "deletionTimestamp" in live["metadata"]:
            return ""
        used = dependencies(live)
        if too_many_objects(used):
            return ""  # Others have added them: the package could not.
        sources = await read_sources(self._tools.api, used, key.namespace)
        digest_key = self._tools.root.of(key.namespace)
        verdict = judge(live, used, digests_of(used, sources, digest_key), digest_key)
        if too_large(verdict.record):
            return ""  # It grew after the workload was applied, and cannot be written: the next apply says so.
        if _own(verdict, owned):
            live = await self._write(found, live, verdict, {ANNOTATION_RUN: run})
            self.restarted.append(f"{found.identity}: {', '.join(verdict.because)}")
        elif not verdict.restarts and verdict.record != before.text():
            live = await self._write(found, live, verdict, {})
        if run_in(live) != run:
            return ""  # What this end has not restarted may be unhealthy: a backup is not less done for it.
        finding = health_of(live)
        return finding.message if finding.health is Health.WAITING else ""

    async def _write(self, found: OwnedObject, live: Json, verdict: Verdict, notes: dict[str, str]) -> Json:
        head = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"annotations": notes}}
        patch = annotated(head, verdict)
        meta = live["metadata"]
        patch["metadata"] |= {"resourceVersion": meta["resourceVersion"]}
        try:
            made = await self._tools.api.patch(
                found.kind, ObjectKey(meta["namespace"], meta["name"]), patch, kind=PatchKind.MERGE
            )
        except (Conflict, NotFound) as error:
            raise HeldError(f"{found.identity} was changed by another client") from error
        return {**made, "apiVersion": live["apiVersion"], "kind": live["kind"]}

    async def _unwanted(self, use: Use, owned: list[OwnedObject]) -> list[OwnedObject]:
        gone = await self._gone(use, [found.identity for found in owned])
        return [found for found in owned if found.identity in gone]

    async def _gone(self, use: Use, there: list[Identity]) -> frozenset[Identity]:
        """Return what is there and is rendered no more, and may be removed."""
        every = [place for plan in use.package.operator.plans for place in places(use.package, plan)]
        try:
            rendered_steps = await self._rendered_steps.each(use, every)
            gone = superfluous(there, use, every, lambda _use, place: rendered_steps[place])
        except (TemplateProblem, BadValue, HeldError):
            return frozenset()  # What cannot be rendered is not known to be gone.
        kept = KEPT if self._installation.spec.deletion_policy is Retention.RETAIN else frozenset[tuple[str, str]]()
        return frozenset(identity for identity in gone if (identity.group, identity.kind) not in kept)


def _own(verdict: Verdict, owned: list[OwnedObject]) -> bool:
    """Return whether pods restart for data that the installation itself has created."""
    mine = {f"{found.identity.kind}/{found.identity.name}" for found in owned}
    return any(key.partition(":")[0] in mine for key in verdict.because)
