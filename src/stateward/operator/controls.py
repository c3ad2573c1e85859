"""The controllers beside those of the clusters, each with what it needs of an operator."""

from collections.abc import Mapping

from stateward.api.pod_policy import Level
from stateward.kube.cache.store import Store
from stateward.operator.assembly import Operator
from stateward.operator.beside.control import BesideControl
from stateward.operator.beside.control import Setting as BesideSetting
from stateward.operator.clusters.controller import Controller
from stateward.operator.clusters.reached_databases import ReachedDatabases, ReadDatabases
from stateward.operator.dashboards.controller import dashboards_control as dashboards_beside
from stateward.operator.dashboards.health import AsksHealth
from stateward.operator.databases.engine import SearchFamily
from stateward.operator.declared.controller import DeclaredControl
from stateward.operator.declared.controller import Setting as DeclaredSetting
from stateward.operator.declared.previews import Previews
from stateward.operator.detection.control import DetectionControl
from stateward.operator.detection.control import Setting as DetectionSetting
from stateward.operator.detection.cronjob import Place
from stateward.operator.exporters.controller import exporters_control as exporters_beside
from stateward.operator.exporters.health import AsksExporter
from stateward.operator.installations.controller import InstallationControl
from stateward.operator.installations.controller import Setting as InstallationSetting
from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.service_account import Accounts, user
from stateward.operator.installations.execution.tasks import ExecAs
from stateward.operator.network.control import NetworkControl
from stateward.operator.network.control import Setting as NetworkSetting
from stateward.operator.remotes.controller import remotes_control as remotes_beside
from stateward.operator.restarts.control import RestartControl
from stateward.operator.restarts.control import Setting as RestartSetting
from stateward.operator.restarts.views import SourceView
from stateward.operator.runtime.options import LABELLED, OperatorOptions
from stateward.operator.scaling.control import ScalingControl
from stateward.operator.scaling.control import Setting as ScalingSetting
from stateward.packages.restarts.dependencies import SECRET


def restart_control(operator: Operator) -> RestartControl:
    """Return the controller of restarts beside an operator."""
    options = operator.options
    return RestartControl(
        RestartSetting(
            api=operator.api,
            recorder=operator.recorder,
            clock=operator.clock,
            namespace=options.lease_namespace,
            namespaces=options.watched,
            rng=operator.rng,
            gauge=operator.metrics,
            watches=operator.metrics,
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
            namespaces=options.watched,
            verifies=options.verify_snapshots,
            labelled=options.pod_references == LABELLED,
            rng=operator.rng,
            gauge=operator.metrics,
            watches=operator.metrics,
            metrics=operator.metrics,
        )
    )


def previews(operator: Operator) -> Previews:
    """Return what previews declared resources; every process of the operator can, with the lease or without it."""
    databases = ReadDatabases(operator.controllers)
    return Previews(operator.api, databases, operator.clock, operator.options.lease_namespace)


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
            namespaces=options.watched,
            execute=execute,
            accounts=accounts_of(options),
            background=background,
            rng=operator.rng,
            gauge=operator.metrics,
            watches=operator.metrics,
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
            namespaces=options.watched,
            gauge=operator.metrics,
        )
    )


def scaling_control(operator: Operator) -> ScalingControl:
    """Return the controller of PoolScales beside an operator."""
    return ScalingControl(
        ScalingSetting(
            api=operator.api,
            clock=operator.clock,
            scales=operator.objects.scales,
            kinds=[controller.caches for controller in operator.controllers.values()],
            namespaces=operator.options.watched,
            rng=operator.rng,
            gauge=operator.metrics,
            watches=operator.metrics,
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
            namespaces=options.watched,
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
        namespaces=options.watched,
        rng=operator.rng,
        gauge=operator.metrics,
        watches=operator.metrics,
        level=Level(options.pod_policy),
        labelled=options.pod_references == LABELLED,
        network_policies=options.network_policies,
    )
