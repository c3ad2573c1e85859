"""One round of one cluster's dashboards and routes: read live, decide, apply, report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stateward.api.kinds.access.dashboards import Dashboards, DashboardsStatus
from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.search import SearchCluster
from stateward.api.validation import errors, validate_access
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.values.problem import in_short
from stateward.engines.connection.base import Target
from stateward.engines.pods.beside import config_secret
from stateward.engines.search.dashboards import objects
from stateward.engines.search.dashboards.decision import Asked, Decision, Health, Seen, decide
from stateward.engines.search.dashboards.frontend import PORT, dashboards_name, dns_name, frontend, keys_secret
from stateward.engines.search.dashboards.routes import Route, routes_of
from stateward.engines.search.dashboards.settings import Secrets, files, serves_https, status_path
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, BadRequest, Invalid
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.workloads import Deployment
from stateward.operator.beside.control import Tools
from stateward.operator.beside.hindrance import HINDRANCES, Reasons, hindrance
from stateward.operator.beside.owned import Memo, Owned, StopError
from stateward.operator.beside.pod_check import check_pods
from stateward.operator.beside.pods import addresses_of, pods_of
from stateward.operator.beside.remove import removed, tidy
from stateward.operator.dashboards.health import AsksHealth, access_of
from stateward.operator.dashboards.report import Reporter, dashboards_status, stopped
from stateward.operator.dashboards.routes import keep_routes
from stateward.operator.dashboards.secrets import Context, SecretKeeper
from stateward.operator.objects.translate import trouble
from stateward.operator.pod_rights.finished import DASHBOARDS, beside
from stateward.operator.pod_rights.named import SECRET, NamedReference
from stateward.operator.security.given_secrets import GivenSecrets
from stateward.pki.given import UnusableError

SETTLED_SECONDS = 60.0
"""Seconds until settled dashboards are read again: instances and databases report no changes."""
WAIT_SECONDS = 5.0
"""Seconds until the next attempt while something is missing that comes by itself."""
STOPPED_SECONDS = 30.0
"""Seconds until the next attempt while a person is needed."""
REASONS = Reasons("DashboardsNameTaken", "DashboardsStarting", "DashboardsRefused", "DashboardsNoDatabase")


@dataclass(frozen=True)
class Asks:
    """What the rounds of dashboards need besides the tools of all rounds."""

    given: GivenSecrets
    health: AsksHealth
    routes: bool
    """Whether the operator makes routes."""


def next_round(dashboards: DashboardsStatus | None, routes: RoutesStatus | None) -> float | None:
    """Return the seconds until the next round, None if there is nothing to keep."""
    if dashboards is None and routes is None:
        return None
    if dashboards is not None and not dashboards.available:
        return WAIT_SECONDS
    hindered = any(part is not None and part.reason for part in (dashboards, routes))
    return STOPPED_SECONDS if hindered else SETTLED_SECONDS


class Round:
    """One round of one cluster, from its live state."""

    def __init__(self, tools: Tools, asks: Asks, live: SearchCluster, memo: Memo) -> None:
        self._tools = tools
        self._asks = asks
        self._live = live
        self._which = frontend(live)
        self._owned = Owned(tools.api, live, memo)
        self._selector = objects.selector(live, tools.engine)
        self._reporter = Reporter(tools.api, tools.kind, tools.recorder, live)
        self._now = tools.clock.now().timestamp()

    async def run(self) -> float | None:
        """Reconcile; returns the seconds until the next round, None if there is nothing to keep.

        Raises ApiError, LostLease.
        """
        status = self._live.status
        wanted = (self._live.spec.dashboards, self._live.spec.routes, status.dashboards, status.routes)
        if not any(part is not None for part in wanted):
            return None
        if not status.conditions:
            return WAIT_SECONDS  # The first round of the database writes the status.
        if self._just_started():
            return WAIT_SECONDS
        routes = await self._routes()
        if self._live.spec.dashboards is not None and status.dashboards is None:
            # A process that dies from here on leaves a trace: what it made is found when the block is removed.
            await self._reporter.report(
                stopped(None, "DashboardsStarting", "they are being created", self._now), routes
            )
        dashboards = await self._dashboards()
        await self._reporter.report(dashboards, routes)
        return next_round(dashboards, routes)

    def _just_started(self) -> bool:
        """Return whether this process has not had a round of the database yet, and the status says that all is well.

        A restart of the operator changes nothing about the dashboards, so their status does not change either.
        """
        known = self._live.status.dashboards
        asked = self._live.spec.dashboards is not None
        return asked and known is not None and known.available and self._target() is None

    async def fail(self, sentence: str) -> None:
        """Report that rounds fail; raises ApiError."""
        live = self._live.status
        if live.conditions and (self._live.spec.dashboards is not None or live.dashboards is not None):
            await self._reporter.report(
                stopped(live.dashboards, "DashboardsReconcileFailing", sentence, self._now), live.routes
            )

    async def _routes(self) -> RoutesStatus | None:
        urls = self._live.status.routes.urls if self._live.status.routes is not None else []
        if any(problem.path.startswith(("spec.routes", "spec.dashboards.routes")) for problem in self._problems()):
            text = in_short(
                [problem.public for problem in self._problems() if not problem.path.startswith("spec.metrics")]
            )
            return RoutesStatus(urls=urls, reason="RouteInvalid", message=text)  # What was made before stays.
        desired = routes_of(self._live, secured=self._secured)
        labels = objects.labels(self._which, self._live, self._tools.engine)
        try:
            on, barred = self._asks.routes, self._barred
            return await keep_routes(self._owned, self._live, desired, labels, barred=barred, on=on)
        except ApiError as error:  # Routes that cannot be read or written stop no dashboards.
            return RoutesStatus(urls=urls, reason="RouteFailing", message=error.message[:300])

    async def _barred(self, route: Route) -> str:
        name, field = route.routes.tls_secret_name, "tlsSecretName"
        asked = [] if name is None else [NamedReference(SECRET, name, field)]
        return next((each.message for each in await self._tools.rights.of_objects(asked, self._live)), "")

    @property
    def _secured(self) -> bool:
        known = self._live.status.security
        return known is not None and known.enabled

    def _problems(self) -> list[Any]:
        return errors(validate_access(self._live))

    def _target(self) -> Target | None:
        return self._tools.databases.target(self._live.kind, key_of(self._live))

    async def _dashboards(self) -> DashboardsStatus | None:
        """Keep or remove the dashboards; returns their status."""
        asked, before = self._live.spec.dashboards, self._reporter.live.status.dashboards
        try:
            if asked is None:
                return before if before is None else await self._removed(before)
            return await self._kept(asked, before)
        except HINDRANCES as error:
            return stopped(before, *hindrance(error, REASONS), self._now)

    async def _removed(self, before: DashboardsStatus) -> DashboardsStatus | None:
        # The keys stay until the cluster is deleted: saved objects that are encrypted with them stay, too.
        left = await removed(self._owned, dashboards_name(self._live), self._selector, keys_secret(self._live))
        if left:
            return stopped(before, "DashboardsRemoving", left, self._now)
        target = self._target()
        if target is None:
            return stopped(before, "DashboardsNoDatabase", "their credentials are still in the database", self._now)
        await self._keeper(target).clear()
        return None

    def _keeper(self, target: Target) -> SecretKeeper:
        tools, live = self._tools, self._live
        return SecretKeeper(
            Context(
                api=tools.api,
                cluster=live,
                metadata=objects.metadata(self._which, live, tools.engine),
                target=target,
                ask=lambda where, work: tools.databases.ask(live.kind, where, work),
                given=self._asks.given,
                now=self._now,
            )
        )

    async def _kept(self, asked: Dashboards, before: DashboardsStatus | None) -> DashboardsStatus:
        problems = [each for each in self._problems() if each.path.startswith("spec.dashboards")]
        if problems:
            raise StopError("DashboardsInvalid", in_short([problem.public for problem in problems]))
        deployment = await self._owned.get(kinds.DEPLOYMENTS, dashboards_name(self._live))
        pods = await pods_of(self._owned, dashboards_name(self._live), self._selector)
        known = self._asked(asked)
        seen = await self._seen(asked, deployment, pods, before)
        made = decide(known, seen)
        if made.version and not made.frozen:
            await self._apply(asked, made, new=deployment is None)
        return self._status(asked, before, made, seen)

    def _asked(self, asked: Dashboards) -> Asked:
        return Asked(
            replicas=asked.replicas,
            cluster=self._live.spec.version,
            deployed=self._live.status.version,
            version=asked.version,
            derivable=objects.knows_versions(self._which, self._live, asked),
        )

    async def _seen(
        self, asked: Dashboards, deployment: Deployment | None, pods: tuple[Pod, ...], before: DashboardsStatus | None
    ) -> Seen:
        last = before.version if before is not None else ""
        if deployment is None:
            return Seen(pods=len(pods), last=last)
        status, broken = deployment.status, [found for pod in pods if (found := trouble(pod))]
        health, report = Health.UNKNOWN, ""
        if status.ready_replicas:
            health, report = await self._health(asked, pods)
        return Seen(
            version=deployment.spec.template.metadata.annotations.get(names.ANNOTATION_VERSION, ""),
            replicas=deployment.spec.replicas,
            total=status.replicas,
            updated=status.updated_replicas,
            ready=status.ready_replicas,
            observed=deployment.observed,
            pods=len(pods),
            trouble=broken[0] if broken else "",
            last=last,
            health=health,
            report=report,
        )

    async def _health(self, asked: Dashboards, pods: tuple[Pod, ...]) -> tuple[Health, str]:
        target = self._target()
        if target is None:
            return Health.UNKNOWN, "the operator has not reached the database yet since it started"
        access = None
        if serves_https(asked, secured=target.access is not None):
            try:
                access = access_of(await self._keeper(target).certificate(asked))
            except UnusableError as error:  # The Secret was lost or edited: another certificate is made next.
                return Health.UNKNOWN, f"the certificate that the instances show is not known: {error}"
        return await self._asks.health(addresses_of(pods), status_path(asked), access)

    async def _apply(self, asked: Dashboards, made: Decision, *, new: bool) -> None:
        """Apply all objects for a decision, first those that the pods use."""
        target = self._target()
        if target is None or not target.identity:
            raise StopError("DashboardsNoDatabase", "the operator has not reached the database yet")
        keeper = self._keeper(target)
        secrets = await keeper.keep(asked, doubt=made.reason in ("DashboardsUnavailable", "DashboardsStarting"))
        content = files(self._which, self._live, asked, made.version, secrets)
        config = objects.config_name(self._live, content)
        body = self._deployment(asked, made, secrets, config)
        bare = self._deployment(objects.bare(asked), made, secrets, config)
        offered = beside(body, bare, DASHBOARDS, asked.pod_template)
        await check_pods(self._tools, self._live, offered, "DashboardsPodNotAllowed", new=new)
        labels = objects.metadata(self._which, self._live, self._tools.engine)
        await self._owned.apply(kinds.SECRETS, config_secret(labels, content))
        await self._beside(asked, secrets)
        try:
            changed = await self._owned.apply(kinds.DEPLOYMENTS, body)
        except (BadRequest, Invalid) as error:
            raise StopError(
                "DashboardsNotAccepted", f"{DASHBOARDS}: the API server says: {error.message[:300]}"
            ) from error
        if made.available and not changed:
            await tidy(self._owned, self._selector, config, keys_secret(self._live))
            await keeper.retire()

    def _deployment(self, asked: Dashboards, made: Decision, secrets: Secrets, config: str) -> Json:
        return objects.deployment(
            self._which,
            self._live,
            asked,
            self._tools.engine,
            version=made.version,
            replicas=made.replicas,
            secured=secrets.secured,
            config=config,
        )

    async def _beside(self, asked: Dashboards, secrets: Secrets) -> None:
        """Apply Service, budget and network policy, or remove what is not needed; raises ApiError."""
        which, live, engine, owned = self._which, self._live, self._tools.engine, self._owned
        try:
            await owned.apply(kinds.SERVICES, objects.service(which, live, asked, engine, secured=secrets.secured))
        except (BadRequest, Invalid) as error:
            text = f"spec.dashboards.service: the API server says: {error.message[:300]}"
            raise StopError("DashboardsNotAccepted", text) from error
        optional: Mapping[Resource[Any], Json | None] = {
            kinds.BUDGETS: objects.budget(which, live, engine) if asked.replicas > 1 else None,
            kinds.NETWORK_POLICIES: objects.network_policy(which, live, engine)
            if self._tools.network_policies
            else None,
        }
        for kind, body in optional.items():
            if body is not None:
                await owned.apply(kind, body)
            else:
                await owned.delete(kind, dashboards_name(live))

    def _status(
        self, asked: Dashboards, before: DashboardsStatus | None, made: Decision, seen: Seen
    ) -> DashboardsStatus:
        target = self._target()
        https = serves_https(asked, secured=target is not None and target.access is not None)
        url = f"{'https' if https else 'http'}://{dns_name(self._live)}:{PORT}"
        return dashboards_status(before, made, replicas=asked.replicas, ready=seen.ready, url=url, now=self._now)
