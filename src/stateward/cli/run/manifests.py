"""`manifests`: all objects of an installation, as one stream of YAML for `kubectl apply`."""

import re
from pathlib import Path
from typing import Any, cast

import click

from stateward import __version__
from stateward.api.pod_policy import Level
from stateward.api.values.names import LABEL_ALLOWED
from stateward.api.yaml_writer import to_yaml_documents
from stateward.cli.run.chart import NAMESPACE, Values, merged, objects
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure
from stateward.operator.runtime.options import ANY, LABELLED
from stateward.packages.format.yamltext import NotYaml, document


def _namespace(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """Refuse an invalid namespace: the API server would do so only after half of the objects exist."""
    if re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", value) is None:
        raise click.BadParameter(f"{value!r}: small letters, digits and '-', at most 63, as in names of namespaces")
    return value


def _configmap(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value and re.fullmatch(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", value) is None:
        raise click.BadParameter(
            f"{value!r}: small letters, digits, '-' and '.', at most 253, as in names of ConfigMaps"
        )
    return value


def _image(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9][^\s]*", value) is None:
        raise click.BadParameter(f"{value!r}: REPOSITORY:TAG or REPOSITORY@DIGEST, without spaces")
    return value


@click.command()
@click.option(
    "--image",
    default=f"stateward:{__version__.replace('+', '-')}",
    show_default=True,
    callback=_image,
    help="Image of the operator.",
)
@click.option(
    "--namespace",
    "-n",
    default=NAMESPACE,
    show_default=True,
    callback=_namespace,
    help="Namespace of the operator.",
)
@click.option("--replicas", default=2, type=click.IntRange(0, 100), show_default=True, help="Operators; one works.")
@click.option("--webhook", is_flag=True, help="Also refuse impossible changes at `kubectl apply`.")
@click.option(
    "--database-view/--no-database-view",
    default=True,
    show_default=True,
    help="Tell users that may get a cluster what its database reports, for `plan`.",
)
@click.option(
    "--network-policies",
    is_flag=True,
    help="Restrict ports to their clients; those of databases stay open unless spec.networkPolicy.clients is set.",
)
@click.option("--routes", is_flag=True, help="Let writers of clusters take host names, by Ingresses and HTTPRoutes.")
@click.option("--verify-snapshots", is_flag=True, help="Let schedules restore snapshots into throw-away clusters.")
@click.option(
    "--webhook-client-ca",
    metavar="CONFIGMAP",
    default="",
    callback=_configmap,
    help="Only accept webhook clients with a certificate of the CA in ca.crt of this ConfigMap.",
)
@click.option(
    "--secure-new-clusters/--no-secure-new-clusters",
    default=True,
    show_default=True,
    help="Switch security on in new clusters that leave spec.security.enabled out, where the image can.",
)
@click.option(
    "--pod-policy",
    type=click.Choice([level.value for level in Level]),
    default=Level.BASELINE.value,
    show_default=True,
    help="The most that pods of clusters may do.",
)
@click.option(
    "--pod-references",
    type=click.Choice([ANY, LABELLED]),
    default=LABELLED,
    show_default=True,
    help="Secrets, volume claims and clients of Services that pods of clusters may have: any of their namespace,"
    f" or what has the label {LABEL_ALLOWED}.",
)
@click.option(
    "--argument", "arguments", multiple=True, help="A further argument of `stateward operator`, as TEXT; repeatable."
)
@click.option(
    "--values",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with values of the Helm chart; repeatable. Other options override it.",
)
@click.option("--crds/--no-crds", default=True, show_default=True, help="Include the CRDs.")
@click.option("--crds-only", is_flag=True, help="Only the CRDs; for example before an upgrade.")
@click.pass_context
def manifests(ctx: click.Context, namespace: str, files: tuple[Path, ...], *, crds_only: bool, **_: Any) -> None:
    """Print everything to install.

    CRDs, rights and the operator's Deployment, for kubectl:

    \b
    stateward manifests --image registry.example/stateward:0.1.0 | kubectl apply --server-side -f -

    It prints the objects of the Helm chart, and its namespace.
    """  # noqa: D301 - \b keeps click from folding the example
    given: Values = {}
    for file in files:
        given = merged(given, read(file))
    values = merged(given, options(ctx, files=bool(files)))
    if values.get("webhookClientCA") and not values.get("webhook"):
        raise click.UsageError("--webhook-client-ca needs --webhook")
    found = objects(values, namespace)
    shown = [each for each in found if each["kind"] == "CustomResourceDefinition" or not crds_only]
    echo(to_yaml_documents(shown), nl=False)


def read(file: Path) -> Values:
    """Return the values in a file; raises Failure if it contains something else."""
    try:
        found: object = document(file.read_text(encoding="utf-8")) or {}
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: not text in UTF-8") from error
    except NotYaml as error:
        raise Failure(f"{file}{f':{error.line}' if error.line else ''} is not YAML: {error}") from error
    if not isinstance(found, dict):
        raise Failure(f"{file} must contain an object with values of the chart")
    return cast("Values", found)


def options(ctx: click.Context, *, files: bool) -> Values:
    """Return the values of the chart that the options set; beside files, only those that the user has given."""
    given: dict[str, Any] = {
        name: value
        for name, value in ctx.params.items()
        if not files or ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    names = {
        "replicas": "replicas",
        "webhook": "webhook",
        "webhook_client_ca": "webhookClientCA",
        "network_policies": "networkPolicies",
        "routes": "routes",
        "verify_snapshots": "verifySnapshots",
        "database_view": "databaseView",
        "secure_new_clusters": "secureNewClusters",
        "pod_policy": "podPolicy",
        "pod_references": "podReferences",
    }
    values: dict[str, Any] = {names[name]: value for name, value in given.items() if name in names}
    if "image" in given:
        values["image"] = image_values(given["image"])
    if not given.get("crds", True):
        values["crds"] = {"install": False}
    return values | ({"arguments": list(given["arguments"])} if given.get("arguments") else {})


def image_values(image: str) -> Values:
    """Return repository, tag and digest of an image; without both, the tag is this version."""
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:  # the colon is that of a port
        repository, tag = name, ""
    return {"repository": repository, "tag": tag, "digest": digest}
