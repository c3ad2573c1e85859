"""Starts the operator, and stops it: caches first, then the lease, then the work.

A process that is not the leader keeps its caches warm, so that it takes over at once. A process that loses the lease
exits: the next one starts without memory, which is the only state that is known to be correct.
"""

import asyncio
import random
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import structlog

from stateward import __version__
from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.engines.connection.http import HttpTransport, open_session
from stateward.kube.access.config import connect
from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.client.exec import Execute
from stateward.kube.client.http_client import HttpApi
from stateward.kube.election.fence import FencedApi, LostLease, unfenced
from stateward.kube.election.lease import LeaderElection
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock, SteadyClock
from stateward.operator.admission.judge import Verdict, changed, judge
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.admission.server import Webhook, open_webhook
from stateward.operator.beside.control import BesideControl
from stateward.operator.beside.control import Setting as BesideSetting
from stateward.operator.clusters.controller import Common, Controller
from stateward.operator.clusters.forecast_worker import Compute, ForecastWorker
from stateward.operator.clusters.reached_databases import ReachedDatabases
from stateward.operator.clusters.replacement_limit import ReplacementLimit
from stateward.operator.companion import Companion
from stateward.operator.dashboards.controller import dashboards_control as dashboards_beside
from stateward.operator.dashboards.health import AsksHealth, HealthQuestions
from stateward.operator.database_view.server import DatabaseViewServer
from stateward.operator.databases.engine import Family, SearchFamily, open_families
from stateward.operator.declared.controller import DeclaredControl
from stateward.operator.declared.controller import Setting as DeclaredSetting
from stateward.operator.detection.control import DetectionControl
from stateward.operator.detection.control import Setting as DetectionSetting
from stateward.operator.detection.cronjob import Place
from stateward.operator.exporters.controller import exporters_control as exporters_beside
from stateward.operator.exporters.health import AsksExporter, ExporterQuestions
from stateward.operator.installations.controller import InstallationControl
from stateward.operator.installations.controller import Setting as InstallationSetting
from stateward.operator.installations.execution.background import Background, WorkerPool
from stateward.operator.installations.execution.service_account import Accounts, user
from stateward.operator.installations.execution.tasks import ExecAs
from stateward.operator.network.control import NetworkControl
from stateward.operator.network.control import Setting as NetworkSetting
from stateward.operator.objects.caches import Objects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.observe.inventory import advance_warnings
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.pod_rights.server_validation import ServerValidation
from stateward.operator.remotes.controller import remotes_control as remotes_beside
from stateward.operator.restarts.control import RestartControl
from stateward.operator.restarts.control import Setting as RestartSetting
from stateward.operator.restarts.views import SourceView
from stateward.operator.runtime.health import health_routes, metrics_routes
from stateward.operator.runtime.listener import serve
from stateward.operator.runtime.metrics import Metrics
from stateward.operator.runtime.options import LABELLED, OperatorOptions
from stateward.operator.runtime.signals import until_signalled
from stateward.operator.runtime.traces import open_traces
from stateward.packages.restarts.dependencies import SECRET
from stateward.planning.model.database import Database, Unknown

_log = structlog.get_logger(__name__)
LEASE_MARGIN = 5.0
"""Seconds before the end of the lease at which every write has ended, or is cut off.

How long a request may take does not matter: what is left of the lease bounds it. This is the time that a server has to
carry out, or to drop, what had been sent just before the cut.
"""


class Operator:
    """Everything one operator process consists of, wired; `run` it in a task and cancel that to stop."""

    def __init__(  # noqa: PLR0913 - the last four are for few callers, and by name
        self,
        api: Api,
        families: Sequence[Family],
        options: OperatorOptions,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        metrics: Metrics | None = None,
        forecast: Compute | None = None,
    ) -> None:
        self.clock = clock or SteadyClock()
        self.rng = rng or random.Random()  # noqa: S311 - spreads load, hides nothing
        self.options = options
        self.metrics = metrics or Metrics()
        self.election = LeaderElection(
            api,
            Key(options.lease_namespace, options.lease_name),
            options.identity,
            timing=options.lease_timing,
            clock=self.clock,
            rng=self.rng,
        )
        self.recorder = EventRecorder(api, "stateward.dev/operator", options.identity, clock=self.clock, rng=self.rng)
        self.objects = Objects(options.namespaces or ("",))
        self._api = api
        self.api = FencedApi(api, self.fence)
        common = Common(
            api=self.api,
            objects=self.objects,
            recorder=self.recorder,
            metrics=self.metrics,
            fence=self.fence,
            clock=self.clock,
            rng=self.rng,
            workers=options.workers,
            limit=ReplacementLimit(options.max_replacements),
            secure_new_clusters=options.secure_new_clusters,
            namespace=options.lease_namespace,
            pod_policy=Level(options.pod_policy),
            labelled=options.pod_references == LABELLED,
            network_policies=options.network_policies,
            forecast=forecast,
            wave=options.wave,
        )
        self.controllers = {family.kind.engine: Controller(family, common) for family in families}
        self.companions: list[Companion] = []

    def follow(self, watched: Mapping[str, Store[SourceView]]) -> None:
        """Requeue clusters when a watch reports a change of data that they use."""
        for controller in self.controllers.values():
            controller.data.follow(watched, controller.queue.add)

    def ready(self) -> bool:
        """Return whether the caches have the whole state; a kind that the server does not serve has none."""
        synced = [controller.caches.synced for controller in self.controllers.values() if not controller.missing]
        return bool(synced) and all(synced)

    async def judge(self, new: Cluster, old: Cluster | None) -> Verdict:
        """Return whether a new or changed cluster may be stored, and what would keep its new pods from starting."""
        key = Key(new.metadata.namespace, new.metadata.name)
        controller = self.controllers[kind_of(new).engine]
        existing = controller.caches.cluster_objects(key) if controller.caches.synced else None
        level = Level(self.options.pod_policy)
        verdict = judge(controller.family, new, old, existing, self.clock.now().timestamp(), level)
        if verdict.refused or not changed(new, old) or not controller.caches.synced:
            return verdict
        asked = ServerValidation(self._api, controller.family)
        refused = [refusal.message for refusal in await asked.refusals(new)]
        if refused and old is not None:  # Asked only then: a webhook has a few seconds.
            known = {refusal.message for refusal in await asked.refusals(old)}
            refused = [message for message in refused if message not in known]
        if refused:
            return Verdict(tuple(refused), verdict.warnings)
        doubts = await advance_warnings(self._api, controller.family, new, controller.caches.shared)
        # A warning and not a refusal: what the spec names may be created, or allowed, after the cluster.
        rights = PodRights(self._api, controller.family, labelled=self.options.pod_references == LABELLED)
        barred = tuple(refusal.message for refusal in await rights.of_spec(new))
        return Verdict(warnings=(*verdict.warnings, *barred, *doubts))

    async def report(self, plural: str, key: Key) -> Database | Unknown | None:
        """Return what a cluster's database reports, by the plural of its kind; None if it is not known here."""
        kinds = {each.family.kind.resource.plural: each for each in self.controllers.values()}
        return await kinds[plural].report(key) if plural in kinds else None

    async def run(self) -> None:
        """Watch, campaign and work until cancelled or the lease is lost (raises LostLease)."""
        watching = ReflectorOptions(clock=self.clock, observer=self.metrics, rng=self.rng)
        async with asyncio.TaskGroup() as group:
            for reflector in self.objects.reflectors(self._api, watching):
                group.create_task(reflector.run())
            for controller in self.controllers.values():
                for reflector in controller.reflectors:
                    group.create_task(reflector.run())
            group.create_task(self.recorder.run())
            await self.objects.wait_synced()
            if self.options.leader_elect:
                group.create_task(self._lead())
                await self.election.wait_elected()
            self.metrics.leader.set(1)
            _log.info("working", version=__version__)
            for worker in (*self.controllers.values(), *self.companions):
                group.create_task(worker.run())

    async def stop(self) -> None:
        """Finish running work within the grace period, and write the last events."""
        grace = self.options.grace_seconds
        await asyncio.gather(*(worker.stop(grace) for worker in (*self.controllers.values(), *self.companions)))
        await self.recorder.close()

    async def _lead(self) -> None:
        await self.election.run(lambda: None)
        raise LostLease("the lease was lost")

    def fence(self) -> AbstractAsyncContextManager[None]:
        """Open a block for writes that need the lease; raises LostLease if the lease may end before the write does."""
        return self.election.fence(LEASE_MARGIN) if self.options.leader_elect else unfenced()


OpenPage = Callable[[Api, Execute, OperatorOptions], AbstractAsyncContextManager[object]]
"""Serves the page of clusters for a block."""


async def run_operator(options: OperatorOptions, page: OpenPage | None = None) -> None:
    """Run the operator, with a page if one is given, until SIGTERM or SIGINT.

    Raises ConfigError, OSError or LostLease.
    """
    connection = connect(kubeconfig=options.kubeconfig, context=options.context)
    options = replace(
        options,
        lease_namespace=options.lease_namespace or connection.namespace,
        identity=options.identity or f"{socket.gethostname()}-{uuid4().hex[:8]}",
    )
    async with AsyncExitStack() as stack:
        stack.enter_context(open_traces(options.traces_endpoint, options.identity))
        api = await stack.enter_async_context(HttpApi(connection))
        families = await stack.enter_async_context(open_families(api.execute, options.agent_image))
        operator = Operator(api, families, options, forecast=ForecastWorker())
        restarts, beside = restart_control(operator), WorkerPool()
        operator.follow(restarts.sources)
        objects = declared_control(operator, restarts.sources)
        operator.companions += [restarts, network_control(operator), objects]
        outside = HttpTransport(await stack.enter_async_context(open_session()))
        operator.companions.append(dashboards_control(operator, HealthQuestions(outside)))
        operator.companions.append(exporters_control(operator, ExporterQuestions(outside)))
        operator.companions.append(remotes_control(operator))
        if not options.wave:  # What belongs to no cluster has one operator.
            operator.companions.append(installation_control(operator, lambda user: api.acting_as(user).execute, beside))
        if options.agent_image:
            operator.companions.append(detection_control(operator))
        else:
            _log.info("only this process detects missing members: it has no image for detection Jobs")
        await stack.enter_async_context(serve(options.health_host, options.health_port, health_routes(operator.ready)))
        routes = metrics_routes(operator.metrics.registry)
        await stack.enter_async_context(serve(options.metrics_host, options.metrics_port, routes))
        if options.database_view:
            view = DatabaseViewServer(api, operator.report, options.lease_namespace, operator.clock, objects.preview)
            await stack.enter_async_context(view.serving(options.database_view_host, options.database_view_port))
        if page is not None:
            await stack.enter_async_context(page(api, api.execute, options))
        if options.webhook:
            package_reviews = PackageReviews(api, options.namespaces or ("",), beside)
            ca = Path(options.webhook_client_ca) if options.webhook_client_ca else None
            webhook = Webhook(
                api, operator.judge, options.lease_namespace, operator.clock, package_reviews, client_ca=ca
            )
            await stack.enter_async_context(open_webhook(webhook, options.webhook_host, options.webhook_port))
        await until_signalled(operator.run, operator.stop)


def restart_control(operator: Operator) -> RestartControl:
    """Return the controller of restarts beside an operator."""
    options = operator.options
    return RestartControl(
        RestartSetting(
            api=operator.api,
            recorder=operator.recorder,
            clock=operator.clock,
            namespace=options.lease_namespace,
            namespaces=options.namespaces or ("",),
            rng=operator.rng,
            gauge=operator.metrics,
            workloads=not options.wave,
        )
    )


def declared_control(operator: Operator, watched: Mapping[str, Store[SourceView]]) -> DeclaredControl:
    """Return the controller of declared objects beside an operator; `watched` are stores by kind, of Secrets too."""
    options = operator.options
    return DeclaredControl(
        DeclaredSetting(
            api=operator.api,
            databases=ReachedDatabases(operator.api, operator.controllers, operator.fence, options.wave),
            recorder=operator.recorder,
            clock=operator.clock,
            namespace=options.lease_namespace,
            kinds=[controller.caches for controller in operator.controllers.values()],
            secrets=watched.get(SECRET),
            namespaces=options.namespaces or ("",),
            verifies=options.verify_snapshots,
            rng=operator.rng,
            gauge=operator.metrics,
            metrics=operator.metrics,
        )
    )


def installation_control(operator: Operator, execute: ExecAs, background: Background) -> InstallationControl:
    """Return the controller of installations beside an operator.

    `execute` runs commands in pods as a user, `aside` does what takes a processor for long.
    """
    options = operator.options
    return InstallationControl(
        InstallationSetting(
            api=operator.api,
            recorder=operator.recorder,
            clock=operator.clock,
            namespace=options.lease_namespace,
            namespaces=options.namespaces or ("",),
            execute=execute,
            accounts=accounts_of(options),
            background=background,
            rng=operator.rng,
            gauge=operator.metrics,
            image=options.agent_image,
        )
    )


def accounts_of(options: OperatorOptions) -> Accounts:
    """Return the accounts that installations may use: never that of the detection Jobs."""
    detection = options.detection_service_account
    refused = frozenset({user(options.lease_namespace, detection)} if detection else ())
    return Accounts(options.default_service_account, refused)


def detection_control(operator: Operator) -> DetectionControl:
    """Return the controller of the detection CronJobs of an operator."""
    options = operator.options
    return DetectionControl(
        DetectionSetting(
            api=operator.api,
            recorder=operator.recorder,
            clock=operator.clock,
            place=Place(options.lease_namespace, options.agent_image, options.detection_service_account),
            kinds=[controller.caches for controller in operator.controllers.values()],
            namespaces=options.namespaces or ("",),
            gauge=operator.metrics,
        )
    )


def network_control(operator: Operator) -> NetworkControl:
    """Return the controller of network policies beside an operator."""
    options = operator.options
    return NetworkControl(
        NetworkSetting(
            api=operator.api,
            recorder=operator.recorder,
            clock=operator.clock,
            namespace=options.lease_namespace,
            kinds=[controller.caches for controller in operator.controllers.values()],
            namespaces=options.namespaces or ("",),
            everywhere=options.network_policies,
            gauge=operator.metrics,
        )
    )


def dashboards_control(operator: Operator, health: AsksHealth) -> BesideControl:
    """Return the controller of dashboards and routes beside an operator; `health` asks their instances."""
    return dashboards_beside(beside(operator, search(operator)), health, routes=operator.options.routes)


def remotes_control(operator: Operator) -> BesideControl:
    """Return the controller of remote clusters beside an operator."""
    return remotes_beside(beside(operator, search(operator)))


def search(operator: Operator) -> dict[str, Controller]:
    """Return the controllers of search clusters, by engine."""
    return {engine: each for engine, each in operator.controllers.items() if isinstance(each.family, SearchFamily)}


def exporters_control(operator: Operator, ask: AsksExporter) -> BesideControl:
    """Return the controller of exporters of metrics beside an operator; `ask` asks them."""
    return exporters_beside(beside(operator, operator.controllers), operator.options.agent_image, ask)


def beside(operator: Operator, controllers: Mapping[str, Controller]) -> BesideSetting:
    """Return the setting of a controller of what is beside the clusters of some kinds."""
    options = operator.options
    return BesideSetting(
        api=operator.api,
        databases=ReachedDatabases(operator.api, operator.controllers, operator.fence, options.wave),
        recorder=operator.recorder,
        clock=operator.clock,
        kinds=[controller.caches for controller in controllers.values()],
        rights={engine: controller.rights for engine, controller in controllers.items()},
        namespaces=options.namespaces or ("",),
        rng=operator.rng,
        gauge=operator.metrics,
        level=Level(options.pod_policy),
        labelled=options.pod_references == LABELLED,
        network_policies=options.network_policies,
    )
