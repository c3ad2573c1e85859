"""`manifests`: all objects of an installation, as one stream of YAML for `kubectl apply`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import yaml

import stateward
from stateward import __version__
from stateward.api.pod_policy import Level
from stateward.api.values.names import LABEL_ALLOWED
from stateward.cli.shared.failures import Failure
from stateward.operator.runtime.options import ANY, LABELLED

SOURCE_NAMESPACE = "stateward-system"
"""The namespace in the manifests, which the chosen one replaces."""
CLIENT_CA = "webhook-client-ca"
"""Name of the operator's option, of the volume with its file, and of the mount."""

ADDED = {
    "webhook": "webhook/webhook.yaml",
    "network_policies": "network/network-policy.yaml",
    "database_view": "database-view/database-view.yaml",
}
"""Objects that a switch adds."""


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
    "--image", default=f"stateward:{__version__}", show_default=True, callback=_image, help="Image of the operator."
)
@click.option(
    "--namespace",
    "-n",
    default=SOURCE_NAMESPACE,
    show_default=True,
    callback=_namespace,
    help="Namespace of the operator.",
)
@click.option("--replicas", default=1, type=click.IntRange(min=0), show_default=True, help="Operators; one works.")
@click.option("--webhook", is_flag=True, help="Also refuse impossible changes at `kubectl apply`.")
@click.option("--database-view", is_flag=True, help="Also tell viewers of secured clusters what `plan` needs.")
@click.option("--network-policies", is_flag=True, help="Close all ports to all clients but the known ones.")
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
@click.option("--crds-only", is_flag=True, help="Only the CRDs; for example before an upgrade.")
def manifests(
    image: str,
    namespace: str,
    replicas: int,
    arguments: tuple[str, ...],
    *,
    crds_only: bool,
    webhook_client_ca: str,
    **switches: Any,
) -> None:
    """Print everything to install.

    CRDs, rights and the operator's Deployment, for kubectl:

    \b
    stateward manifests --image registry.example/stateward:0.1.0 | kubectl apply --server-side -f -
    """  # noqa: D301 - \b keeps click from folding the example
    found = [d for d in documents(source()) if d["kind"] == "CustomResourceDefinition" or not crds_only]
    if webhook_client_ca and not switches["webhook"]:
        raise click.UsageError("--webhook-client-ca needs --webhook")
    for name, file in ADDED.items():
        if switches[name] and not crds_only:
            found = with_file(found, source() / file, f"--{name.replace('_', '-')}")
    if webhook_client_ca and not crds_only:
        with_client_ca(found[-1], webhook_client_ca)
    settings = {
        "STATEWARD_AGENT_IMAGE": image,
        "STATEWARD_SECURE_NEW_CLUSTERS": str(switches["secure_new_clusters"]).lower(),
        "STATEWARD_POD_POLICY": switches["pod_policy"],
        "STATEWARD_POD_REFERENCES": switches["pod_references"],
    }
    if arguments and not crds_only:
        found = [*found[:-1], with_arguments(found[-1], arguments)]
    shown = [with_settings(document, image, namespace, replicas, settings) for document in found]
    click.echo(yaml.safe_dump_all(shown, sort_keys=False, width=120), nl=False)


def source() -> Path:
    """Return the folder of the manifests: in the installed package, or in the checkout that contains the package."""
    package = Path(stateward.__file__).parent
    for folder in (package / "charts", package.parents[1] / "charts" / "stateward"):
        if (folder / "kustomization.yaml").exists():
            return folder
    raise Failure(f"the manifests are not part of this installation ({package}); install the wheel of Stateward")


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every object in the order of creation."""
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for name in listed["resources"]:
        yield from yaml.safe_load_all((folder / name).read_text(encoding="utf-8"))


def with_file(found: list[dict[str, Any]], file: Path, argument: str) -> list[dict[str, Any]]:
    """Return the objects with those of a file before the Deployment, and the argument added to the Deployment."""
    more = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    return [*found[:-1], *more, with_arguments(found[-1], (argument,))]


def with_client_ca(deployment: dict[str, Any], name: str) -> None:
    """Mount a ConfigMap into the operator, so that the webhook requires client certificates of its CA."""
    pod = deployment["spec"]["template"]["spec"]
    pod["volumes"].append({"name": CLIENT_CA, "configMap": {"name": name}})
    for container in pod["containers"]:
        container["args"].append(f"--{CLIENT_CA}=/{CLIENT_CA}/ca.crt")
        container["volumeMounts"].append({"name": CLIENT_CA, "mountPath": f"/{CLIENT_CA}", "readOnly": True})


def with_arguments(deployment: dict[str, Any], arguments: tuple[str, ...]) -> dict[str, Any]:
    """Return the Deployment with further arguments for the operator."""
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        container["args"].extend(arguments)
    return deployment


def with_settings(
    document: dict[str, Any], image: str, namespace: str, replicas: int, settings: Mapping[str, str]
) -> dict[str, Any]:
    """Return an object with the chosen settings; `settings` are values of the operator's environment."""
    found: dict[str, Any] = in_namespace(document, namespace)
    if found["kind"] == "Namespace":
        found["metadata"]["name"] = namespace
    if found["kind"] == "Deployment":
        found["spec"]["replicas"] = replicas
        for container in found["spec"]["template"]["spec"]["containers"]:
            container["image"] = image
            for variable in container.get("env", ()):
                variable.update({"value": settings[variable["name"]]} if variable["name"] in settings else {})
    return found


def in_namespace(value: Any, namespace: str) -> Any:
    """Return a document with another namespace in every `namespace` field."""
    if isinstance(value, list):
        return [in_namespace(item, namespace) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    return {  # pyright: ignore[reportUnknownVariableType]
        key: namespace if key == "namespace" and inner == SOURCE_NAMESPACE else in_namespace(inner, namespace)
        for key, inner in value.items()  # pyright: ignore[reportUnknownVariableType]
    }
