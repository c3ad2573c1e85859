"""One round of one cluster's exporter: read live, apply, report."""

from collections.abc import Mapping

from stateward.api.kinds.access.metrics import Metrics, MetricsStatus
from stateward.api.kinds.cluster import Cluster
from stateward.api.validation import errors, validate_access
from stateward.api.values.base import Json
from stateward.api.values.problem import in_short
from stateward.engines.exporter import objects
from stateward.engines.exporter.objects import asked_of, exporter_name
from stateward.engines.pods.beside import config_secret
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import BadRequest, Invalid
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.workloads import Deployment
from stateward.operator.beside.control import Tools
from stateward.operator.beside.hindrance import HINDRANCES, Reasons, hindrance
from stateward.operator.beside.owned import Memo, Owned, StopError
from stateward.operator.beside.pod_check import check_pods
from stateward.operator.beside.pods import addresses_of, pods_of
from stateward.operator.beside.remove import removed, tidy
from stateward.operator.exporters.health import AsksExporter
from stateward.operator.exporters.part import part_of
from stateward.operator.exporters.report import Reporter, dated, stopped
from stateward.operator.objects.translate import trouble
from stateward.operator.pod_rights.finished import METRICS, beside

SETTLED_SECONDS = 60.0
"""Seconds until a settled exporter is read again: neither it nor the database reports changes."""
WAIT_SECONDS = 5.0
"""Seconds until the next attempt while something is missing that comes by itself."""
STOPPED_SECONDS = 30.0
"""Seconds until the next attempt while something else is missing."""
SOON = ("MetricsStarting", "MetricsRemoving", "MetricsWaitForDatabase")
"""Reasons that usually end within seconds."""
REASONS = Reasons("MetricsNameTaken", "MetricsStarting", "MetricsRefused", "MetricsWaitForDatabase")


class Round:
    """One round of one cluster, from its live state; `image` is the operator's own."""

    def __init__(self, tools: Tools, image: str, ask: AsksExporter, live: Cluster, memo: Memo) -> None:
        self._tools = tools
        self._image = image
        self._exporter = ask
        self._live = live
        self._name = exporter_name(live)
        self._owned = Owned(tools.api, live, memo)
        self._part = part_of(tools, live, self._owned)
        self._selector = objects.selector(live, tools.engine)
        self._reporter = Reporter(tools.api, tools.kind, tools.recorder, live)
        self._now = tools.clock.now().timestamp()

    async def run(self) -> float | None:
        """Reconcile; returns the seconds until the next round, None if there is nothing to keep.

        Raises ApiError, LostLease.
        """
        asked, known = asked_of(self._live), self._live.status.metrics
        if asked is None and known is None:
            return None
        if not self._live.status.conditions:
            return WAIT_SECONDS  # The first round of the database writes the status.
        if asked is not None and known is not None and known.available and self._part.unready():
            return WAIT_SECONDS  # This process has just started, and nothing has changed about the exporter.
        if asked is not None and known is None:
            # A process that dies from here on leaves a trace: what it made is found when the block is removed.
            await self._reporter.report(stopped(None, "MetricsStarting", "it is being created", self._now))
        found = await self._standing(asked)
        await self._reporter.report(found)
        if found is None:
            return None
        if found.available:
            return SETTLED_SECONDS
        return WAIT_SECONDS if found.reason in SOON else STOPPED_SECONDS

    async def fail(self, sentence: str) -> None:
        """Report that rounds fail; raises ApiError."""
        live = self._live
        if live.status.conditions and (asked_of(live) is not None or live.status.metrics is not None):
            await self._reporter.report(stopped(live.status.metrics, "MetricsReconcileFailing", sentence, self._now))

    async def _standing(self, asked: Metrics | None) -> MetricsStatus | None:
        """Keep or remove the exporter; returns its status."""
        before = self._reporter.live.status.metrics
        try:
            return await self._removed(before) if asked is None else await self._kept(asked, before)
        except HINDRANCES as error:
            return stopped(before, *hindrance(error, REASONS), self._now)

    async def _removed(self, before: MetricsStatus | None) -> MetricsStatus | None:
        """Remove pods first, then what they use, then what the engine has kept for them."""
        left = await removed(self._owned, self._name, self._selector, *self._part.keeps)
        if left:
            return stopped(before, "MetricsRemoving", left, self._now)
        await self._part.clear()
        return None

    async def _kept(self, asked: Metrics, before: MetricsStatus | None) -> MetricsStatus:
        problems = [each for each in errors(validate_access(self._live)) if each.path.startswith("spec.metrics")]
        if problems:
            raise StopError("MetricsInvalid", in_short([problem.public for problem in problems]))
        if not self._image:
            raise StopError("MetricsNoImage", "the operator does not know its own image, from which exporters run")
        if unready := self._part.unready():
            raise StopError("MetricsWaitForDatabase", unready)
        deployment = await self._owned.get(kinds.DEPLOYMENTS, self._name)
        pods = await pods_of(self._owned, self._name, self._selector)
        now = await self._seen(deployment, pods, before)
        content = await self._part.files(doubt=now.reason == "MetricsUnavailable")
        config = objects.config_name(self._live, content)
        body = self._deployment(asked, config)
        offered = beside(body, self._deployment(objects.bare(asked), config), METRICS, asked.pod_template)
        await check_pods(self._tools, self._live, offered, "MetricsPodNotAllowed", new=deployment is None)
        changed = await self._apply(body, content)
        if now.available and not changed:
            await tidy(self._owned, self._selector, config, *self._part.keeps)
            await self._part.settle()
        return stopped(before, "MetricsStarting", "the exporter restarts", self._now) if changed and pods else now

    def _deployment(self, asked: Metrics, config: str) -> Json:
        live, engine, more = self._live, self._tools.engine, self._part.additions()
        return objects.deployment(live, asked, engine, image=self._image, config=config, additions=more)

    async def _seen(
        self, deployment: Deployment | None, pods: tuple[Pod, ...], before: MetricsStatus | None
    ) -> MetricsStatus:
        """Return the status of the exporter as it is."""
        where = objects.url(self._live)
        if deployment is None:
            return dated(before, MetricsStatus(reason="MetricsStarting", message="its pod starts"), self._now)
        counts = deployment.status
        rolled = deployment.observed and counts.replicas == counts.updated_replicas == counts.ready_replicas == 1
        if not rolled:
            broken = next((found for pod in pods if (found := trouble(pod))), "")
            reason = "MetricsFailing" if broken else "MetricsStarting"
            return dated(before, MetricsStatus(url=where, reason=reason, message=broken or "its pod starts"), self._now)
        report = await self._exporter(addresses_of(pods))
        if report.up:
            return dated(before, MetricsStatus(available=True, url=where), self._now)
        reason = "MetricsSilent" if report.up is None else "MetricsUnavailable"
        reason = "MetricsStarting" if report.starting else reason
        return dated(before, MetricsStatus(url=where, reason=reason, message=report.said), self._now)

    async def _apply(self, body: Json, content: Mapping[str, str]) -> bool:
        """Apply all objects, first those that the pod uses; returns whether the Deployment has changed."""
        live, engine, owned = self._live, self._tools.engine, self._owned
        await owned.apply(kinds.SECRETS, config_secret(objects.metadata(live, engine), content))
        await owned.apply(kinds.SERVICES, objects.service(live, engine))
        if self._tools.network_policies:
            await owned.apply(kinds.NETWORK_POLICIES, objects.network_policy(live, engine))
        else:
            await owned.delete(kinds.NETWORK_POLICIES, self._name)
        try:
            return await owned.apply(kinds.DEPLOYMENTS, body)
        except (BadRequest, Invalid) as error:
            raise StopError("MetricsNotAccepted", f"{METRICS}: the API server says: {error.message[:300]}") from error
