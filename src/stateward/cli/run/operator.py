"""`stateward operator`: runs the operator until it is stopped. Each flag has an environment variable."""

import asyncio
import re
from typing import Any

import click

from stateward.api.pod_policy import Level
from stateward.api.values.names import LABEL_ALLOWED, LABEL_WAVE
from stateward.cli.shared.failures import Failure, leaf
from stateward.cli.shared.options import PORT, Number
from stateward.kube.election.fence import LostLease
from stateward.operator.process import OpenPage, run_operator
from stateward.operator.runtime import logs
from stateward.operator.runtime.options import ANY, LABELLED, OperatorOptions

DEFAULTS = OperatorOptions()


class LabelValue(click.ParamType[str]):
    """A value that a label can have, or nothing."""

    name = "label value"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; fails for others, which no label could match."""
        if value and re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", value) is None:
            self.fail(f"{value!r} is not a value of a label", param, ctx)
        return value


class Endpoint(click.ParamType[str]):
    """The URL of a server, or nothing."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; fails for what is no URL of HTTP or HTTPS."""
        if value and re.fullmatch(r"https?://[^\s/]+(/\S*)?", value) is None:
            self.fail(f"{value!r} is not a URL such as http://collector:4318", param, ctx)
        return value


EVERY_ADDRESS = "Default: every address, IPv4 and IPv6."


def option(name: str, text: str = "", kind: Any = None, **more: Any) -> click.Option:
    """Return the flag of an option, with its default and its environment variable `STATEWARD_NAME`."""
    default = getattr(DEFAULTS, name)
    dashed = name.replace("_", "-")
    flags = [f"--{dashed}/--no-{dashed}" if isinstance(default, bool) else f"--{dashed}"]
    given: dict[str, Any] = {
        "envvar": f"STATEWARD_{name.upper()}",
        "show_default": default not in ("", ()),
        "default": default,
        **more,
    }
    return click.Option([*given.pop("flags", flags), name], type=kind, help=text, **given)


OPTIONS = (
    option("kubeconfig", "Default: as for kubectl, or the pod's own."),
    option("context", "Context of the kubeconfig."),
    option("namespaces", "Only these; repeatable.", flags=["-n", "--namespace"], multiple=True),
    option(
        "wave",
        f"Only clusters with the label {LABEL_WAVE}=WAVE, and neither installations nor restarts of other workloads.",
        LabelValue(),
        metavar="WAVE",
    ),
    option("workers", "Clusters to reconcile at once.", click.IntRange(1, 1000)),
    option(
        "leader_elect",
        "Elect a leader among several operators. Switch it off only for a single process on a test cluster.",
    ),
    option(
        "lease_namespace",
        "The namespace of the operator's pods, with its lease, keys and detection Jobs: NetworkPolicies of clusters"
        " admit the operator's pods there. Default: our own.",
        envvar=["STATEWARD_LEASE_NAMESPACE", "POD_NAMESPACE"],
    ),
    option("lease_name"),
    option("identity", "Default: host name and a random part."),
    option("health_host", EVERY_ADDRESS),
    # Kubernetes sets a variable such as STATEWARD_HEALTH_PORT for a Service of this name.
    option(
        "health_port",
        "Of /healthz and /readyz; 0 chooses a free port.",
        PORT,
        envvar="STATEWARD_HEALTH_LISTEN_PORT",
    ),
    option("metrics_host", EVERY_ADDRESS),
    option("metrics_port", "Of /metrics; 0 chooses a free port.", PORT, envvar="STATEWARD_METRICS_LISTEN_PORT"),
    option("webhook", "Refuse impossible changes at once; needs `stateward manifests --webhook`."),
    option("webhook_host", EVERY_ADDRESS),
    option("webhook_port", "Of the webhook; 0 chooses a free port.", PORT, envvar="STATEWARD_WEBHOOK_LISTEN_PORT"),
    option(
        "webhook_client_ca",
        "The webhook answers only clients with a certificate of this CA; configure the API server to present one.",
        click.Path(dir_okay=False),
        metavar="FILE",
    ),
    option(
        "database_view",
        "Tell users that may get a cluster what its database reports, for `plan`; the chart brings the Service and the"
        " rights for it.",
    ),
    option("database_view_host", EVERY_ADDRESS),
    option(
        "database_view_port",
        "Of the database view; 0 chooses a free port.",
        PORT,
        envvar="STATEWARD_DATABASE_VIEW_LISTEN_PORT",
    ),
    option("page", "Serve the page of clusters, read-only; see docs/dashboard.md."),
    option(
        "page_host",
        "A loopback address is for an authenticating proxy in the same pod. At another one, clients show a token of"
        " Kubernetes, and must be allowed to list and get all clusters.",
    ),
    option(
        "page_names",
        "Name by which users reach the page, without a port, if the proxy keeps it in Host and passes no token on;"
        " repeatable.",
        flags=["--page-name"],
        multiple=True,
    ),
    option("page_port", "Of the page; 0 chooses a free port.", PORT, envvar="STATEWARD_PAGE_LISTEN_PORT"),
    option(
        "max_replacements",
        "Automatic replacements in progress at once, over all clusters.",
        click.IntRange(1, 1_000_000),
    ),
    option(
        "detection_service_account",
        "Service account of the Jobs that detect missing members, in the operator's namespace; never the"
        " operator's own.",
    ),
    option(
        "default_service_account",
        "Service account of installations that name none, in their own namespace; empty: refuse such installations.",
    ),
    option(
        "network_policies",
        "Give each cluster a NetworkPolicy; without it spec.networkPolicy has no effect.",
    ),
    option(
        "traces_endpoint",
        "Record a trace of each reconciliation, and send it to this collector of OpenTelemetry (OTLP over HTTP, for"
        " example http://collector:4318); OTEL_EXPORTER_OTLP_HEADERS may have headers for it.",
        Endpoint(),
        metavar="URL",
    ),
    option(
        "routes",
        "Make the Ingresses and HTTPRoutes that clusters ask for; without it spec.routes has no effect. With it, users"
        " that may write clusters may take any host name.",
    ),
    option(
        "verify_snapshots",
        "Restore snapshots into throw-away clusters, as spec.verify of schedules asks. With it, users that may write"
        " schedules cause one more member to run, and the operator may create and delete clusters.",
    ),
    option("log_level", kind=click.Choice(["debug", "info", "warning", "error"])),
    option("grace_seconds", "Time that running steps get to finish when the operator stops.", Number(0, 3600)),
    option(
        "secure_new_clusters",
        "Switch security on in new clusters that leave spec.security.enabled out, where the image can.",
    ),
    option(
        "pod_policy",
        "The most that pods of clusters may do, by the Pod Security Standards.",
        click.Choice([level.value for level in Level]),
    ),
    option(
        "pod_references",
        "Secrets, volume claims and clients of Services that pods of clusters may have: any of their namespace,"
        f" or what has the label {LABEL_ALLOWED}.",
        click.Choice([ANY, LABELLED]),
    ),
    option(
        "agent_image",
        "Image of Stateward that copies the agent into pods; without it, pods have no agent and are always recreated.",
    ),
)


def page_of(options: OperatorOptions) -> OpenPage | None:
    """Return what serves the page; None without it. Only then are its modules in memory."""
    if not options.page:
        return None
    from stateward.cli.dashboard.in_operator import operator_page  # noqa: PLC0415

    return operator_page


@click.command(params=list(OPTIONS))
def operator(**settings: object) -> None:
    """Run the operator.

    It works in all namespaces unless you name some. It ends with 0 on SIGTERM or SIGINT, and with 1 if it cannot
    continue: no API server, a port in use, or a lost lease.
    """
    options = OperatorOptions(**settings)  # pyright: ignore[reportArgumentType]
    if "" in options.namespaces:
        raise click.UsageError("--namespace is empty; leave it out to manage all namespaces")
    if options.webhook_client_ca and not options.webhook:
        raise click.UsageError("--webhook-client-ca needs --webhook")
    logs.configure(options.log_level)
    try:
        asyncio.run(run_operator(options, page=page_of(options)))
    except (LostLease, ExceptionGroup) as error:
        if isinstance(leaf(error), LostLease):
            raise Failure(f"{leaf(error)}; the next start tries again") from error
        raise
