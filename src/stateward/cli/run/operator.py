"""`stateward operator`: runs the operator until it is stopped. Each flag has an environment variable."""

import asyncio

import click

from stateward.api.pod_policy import Level
from stateward.api.values.names import LABEL_ALLOWED
from stateward.cli.shared.failures import Failure, leaf
from stateward.operator.process import LostLease, run_operator
from stateward.operator.runtime import logs
from stateward.operator.runtime.options import ANY, LABELLED, OperatorOptions

DEFAULTS = OperatorOptions()


@click.command()
@click.option(
    "--kubeconfig", envvar="STATEWARD_KUBECONFIG", default="", help="Default: as for kubectl, or the pod's own."
)
@click.option("--context", envvar="STATEWARD_CONTEXT", default="", help="Context of the kubeconfig.")
@click.option(
    "-n", "--namespace", "namespaces", envvar="STATEWARD_NAMESPACES", multiple=True, help="Only these; repeatable."
)
@click.option(
    "--workers",
    envvar="STATEWARD_WORKERS",
    default=DEFAULTS.workers,
    type=click.IntRange(min=1),
    show_default=True,
    help="Clusters to reconcile at once.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    envvar="STATEWARD_LEADER_ELECT",
    default=DEFAULTS.leader_elect,
    show_default=True,
    help="Elect a leader among several operators. Switch it off only for a single process on a test cluster.",
)
@click.option(
    "--lease-namespace", envvar=["STATEWARD_LEASE_NAMESPACE", "POD_NAMESPACE"], default="", help="Default: our own."
)
@click.option("--lease-name", envvar="STATEWARD_LEASE_NAME", default=DEFAULTS.lease_name, show_default=True)
@click.option("--identity", envvar="STATEWARD_IDENTITY", default="", help="Default: host name and a random part.")
@click.option("--health-host", envvar="STATEWARD_HEALTH_HOST", default=DEFAULTS.health_host, show_default=True)
@click.option(
    "--health-port",
    envvar="STATEWARD_HEALTH_LISTEN_PORT",
    default=DEFAULTS.health_port,
    type=click.IntRange(0, 65535),
    show_default=True,
    help="Of /healthz and /readyz; 0 chooses a free port.",
)
@click.option("--metrics-host", envvar="STATEWARD_METRICS_HOST", default=DEFAULTS.metrics_host, show_default=True)
@click.option(
    "--metrics-port",
    envvar="STATEWARD_METRICS_LISTEN_PORT",
    default=DEFAULTS.metrics_port,
    type=click.IntRange(0, 65535),
    show_default=True,
    help="Of /metrics; 0 chooses a free port.",
)
@click.option(
    "--webhook/--no-webhook",
    envvar="STATEWARD_WEBHOOK",
    default=DEFAULTS.webhook,
    show_default=True,
    help="Refuse impossible changes at once; needs `stateward manifests --webhook`.",
)
@click.option("--webhook-host", envvar="STATEWARD_WEBHOOK_HOST", default=DEFAULTS.webhook_host, show_default=True)
@click.option(
    "--webhook-port",
    envvar="STATEWARD_WEBHOOK_LISTEN_PORT",
    default=DEFAULTS.webhook_port,
    type=click.IntRange(0, 65535),
    show_default=True,
    help="Of the webhook; 0 chooses a free port.",
)
@click.option(
    "--webhook-client-ca",
    envvar="STATEWARD_WEBHOOK_CLIENT_CA",
    default="",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The webhook answers only clients with a certificate of this CA; configure the API server to present one.",
)
@click.option(
    "--max-replacements",
    envvar="STATEWARD_MAX_REPLACEMENTS",
    default=DEFAULTS.max_replacements,
    type=click.IntRange(min=1),
    show_default=True,
    help="Automatic replacements in progress at once, over all clusters.",
)
@click.option(
    "--detection-service-account",
    envvar="STATEWARD_DETECTION_SERVICE_ACCOUNT",
    default="",
    help="Service account of the Jobs that detect missing members, in the operator's namespace; never the"
    " operator's own.",
)
@click.option(
    "--default-service-account",
    envvar="STATEWARD_DEFAULT_SERVICE_ACCOUNT",
    default=DEFAULTS.default_service_account,
    show_default=True,
    help="Service account of installations that name none, in their own namespace; empty: refuse such installations.",
)
@click.option(
    "--network-policies/--no-network-policies",
    envvar="STATEWARD_NETWORK_POLICIES",
    default=DEFAULTS.network_policies,
    show_default=True,
    help="Give each cluster a NetworkPolicy; without it spec.networkPolicy has no effect.",
)
@click.option(
    "--log-level",
    envvar="STATEWARD_LOG_LEVEL",
    default=DEFAULTS.log_level,
    type=click.Choice(["debug", "info", "warning", "error"]),
    show_default=True,
)
@click.option(
    "--grace-seconds",
    envvar="STATEWARD_GRACE_SECONDS",
    default=DEFAULTS.grace_seconds,
    type=click.FloatRange(min=0),
    show_default=True,
    help="Time that running steps get to finish when the operator stops.",
)
@click.option(
    "--secure-new-clusters/--no-secure-new-clusters",
    envvar="STATEWARD_SECURE_NEW_CLUSTERS",
    default=DEFAULTS.secure_new_clusters,
    show_default=True,
    help="Switch security on in new clusters that leave spec.security.enabled out, where the image can.",
)
@click.option(
    "--pod-policy",
    envvar="STATEWARD_POD_POLICY",
    default=DEFAULTS.pod_policy,
    type=click.Choice([level.value for level in Level]),
    show_default=True,
    help="The most that pods of clusters may do, by the Pod Security Standards.",
)
@click.option(
    "--pod-references",
    envvar="STATEWARD_POD_REFERENCES",
    default=DEFAULTS.pod_references,
    type=click.Choice([ANY, LABELLED]),
    show_default=True,
    help="Secrets, volume claims and clients of Services that pods of clusters may have: any of their namespace,"
    f" or what has the label {LABEL_ALLOWED}.",
)
@click.option(
    "--agent-image",
    envvar="STATEWARD_AGENT_IMAGE",
    default="",
    help="Image of Stateward that copies the agent into pods; without it, pods have no agent and are always recreated.",
)
def operator(**settings: object) -> None:
    """Run the operator.

    It works in all namespaces unless you name some. It ends with 0 on SIGTERM or SIGINT, and with 1 if it cannot
    continue: no API server, a port in use, or a lost lease.
    """
    options = OperatorOptions(**settings)  # pyright: ignore[reportArgumentType]
    if options.webhook_client_ca and not options.webhook:
        raise click.UsageError("--webhook-client-ca needs --webhook")
    logs.configure(options.log_level)
    try:
        asyncio.run(run_operator(options))
    except (LostLease, ExceptionGroup) as error:
        if isinstance(leaf(error), LostLease):
            raise Failure(f"{leaf(error)}; the next start tries again") from error
        raise
