"""Starts the operator, and stops it: caches first, then the lease, then the work.

A process that is not the leader keeps its caches warm, so that it takes over at once. A process that loses the lease
exits: the next one starts without memory, which is the only state that is known to be correct.
"""

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import structlog

from stateward.engines.connection.http import HttpTransport, open_session
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api
from stateward.kube.client.http_client import HttpApi
from stateward.kube.client.transport import Limits
from stateward.kube.timing.checked_clock import CheckedClock
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.admission.server import Webhook, open_webhook
from stateward.operator.assembly import Operator
from stateward.operator.clusters.forecast_worker import ForecastWorker
from stateward.operator.controls import (
    dashboards_control,
    declared_control,
    detection_control,
    exporters_control,
    installation_control,
    network_control,
    previews,
    remotes_control,
    restart_control,
    scaling_control,
)
from stateward.operator.dashboards.health import HealthQuestions
from stateward.operator.database_view.server import DatabaseViewServer
from stateward.operator.databases.engine import open_families
from stateward.operator.exporters.health import ExporterQuestions
from stateward.operator.installations.execution.background import WorkerPool
from stateward.operator.runtime.health import health_routes, metrics_routes
from stateward.operator.runtime.listener import serve
from stateward.operator.runtime.memory import return_large_blocks
from stateward.operator.runtime.options import OperatorOptions
from stateward.operator.runtime.signals import until_signalled
from stateward.operator.runtime.traces import open_traces

_log = structlog.get_logger(__name__)
OpenPage = Callable[[Api, OperatorOptions, Operator], AbstractAsyncContextManager[object]]
"""Serves the page of clusters for a block; the operator reads their databases for it."""


async def run_operator(options: OperatorOptions, page: OpenPage | None = None) -> None:
    """Run the operator, with a page if one is given, until SIGTERM or SIGINT.

    Raises ConfigError, OSError or LostLease.
    """
    return_large_blocks()
    connection = connect(kubeconfig=options.kubeconfig, context=options.context)
    options = replace(
        options,
        lease_namespace=options.lease_namespace or connection.namespace,
        identity=options.identity or f"{socket.gethostname()}-{uuid4().hex[:8]}",
    )
    async with AsyncExitStack() as stack:
        stack.enter_context(open_traces(options.traces_endpoint, options.identity))
        clock = CheckedClock()
        api = await stack.enter_async_context(HttpApi(connection, told=clock.told))
        families = await stack.enter_async_context(open_families(api.execute, options.agent_image))
        limits = Limits(request=options.lease_timing.request)
        lease_api = await stack.enter_async_context(HttpApi(connection, limits=limits))
        operator = Operator(api, families, options, clock=clock, forecast=ForecastWorker(), lease_api=lease_api)
        operator.metrics.clock_ahead.set_function(lambda: clock.ahead)
        restarts, beside = restart_control(operator), WorkerPool()
        operator.follow(restarts.sources)
        declared = declared_control(operator, restarts.sources)
        operator.companions += [restarts, network_control(operator), declared, scaling_control(operator)]
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
        await stack.enter_async_context(
            serve(options.health_host, options.health_port, health_routes(operator.unfilled))
        )
        routes = metrics_routes(operator.metrics.registry)
        await stack.enter_async_context(serve(options.metrics_host, options.metrics_port, routes))
        if options.database_view:
            asked = previews(operator).preview
            view = DatabaseViewServer(api, operator.report, options.lease_namespace, operator.clock, asked)
            await stack.enter_async_context(view.serving(options.database_view_host, options.database_view_port))
        if page is not None:
            await stack.enter_async_context(page(api, options, operator))
        if options.webhook:
            package_reviews = PackageReviews(api, options.watched, beside)
            ca = Path(options.webhook_client_ca) if options.webhook_client_ca else None
            webhook = Webhook(
                api, operator.judge, options.lease_namespace, operator.clock, package_reviews, client_ca=ca
            )
            await stack.enter_async_context(open_webhook(webhook, options.webhook_host, options.webhook_port))
        await until_signalled(operator.run, operator.stop)
