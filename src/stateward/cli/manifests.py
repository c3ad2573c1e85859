"""`manifests`: everything to install, as one stream of YAML for `kubectl apply`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import yaml

import stateward
from stateward import __version__
from stateward.cli.failures import Failure

SOURCE_NAMESPACE = "stateward-system"
"""The namespace that the manifests name; another one takes its place."""


@click.command()
@click.option("--image", default=f"stateward:{__version__}", show_default=True, help="Image of the operator.")
@click.option("--namespace", "-n", default=SOURCE_NAMESPACE, show_default=True, help="Namespace of the operator.")
@click.option("--replicas", default=1, type=click.IntRange(min=0), show_default=True, help="Operators; one works.")
@click.option("--webhook", is_flag=True, help="Also refuse at `kubectl apply` what can never be done.")
@click.option(
    "--secure-new-clusters/--no-secure-new-clusters",
    default=True,
    show_default=True,
    help="Switch security on in new clusters that leave spec.security.enabled out, where the image can.",
)
@click.option("--crds-only", is_flag=True, help="Only what the API server has to know; before an upgrade, for example.")
def manifests(
    image: str, namespace: str, replicas: int, *, webhook: bool, secure_new_clusters: bool, crds_only: bool
) -> None:
    """Print everything to install.

    CRDs, rights and the operator's Deployment, for kubectl:

    \b
    stateward manifests --image registry.example/stateward:0.1.0 | kubectl apply --server-side -f -
    """  # noqa: D301 - \b keeps click from folding the example
    found = [d for d in documents(source()) if d["kind"] == "CustomResourceDefinition" or not crds_only]
    if webhook and not crds_only:
        found = with_webhook(found, source())
    shown = [adapted(document, image, namespace, replicas, secure=secure_new_clusters) for document in found]
    click.echo(yaml.safe_dump_all(shown, sort_keys=False, width=120), nl=False)


def source() -> Path:
    """Return the folder of the manifests: in the installed package, or in the checkout that the package is part of."""
    package = Path(stateward.__file__).parent
    for folder in (package / "charts", package.parents[1] / "charts" / "stateward"):
        if (folder / "kustomization.yaml").exists():
            return folder
    raise Failure(f"the manifests are not part of this installation ({package}); install the wheel of Stateward")


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every object in the order in which it has to be made."""
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for name in listed["resources"]:
        yield from yaml.safe_load_all((folder / name).read_text(encoding="utf-8"))


def with_webhook(found: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the objects with those of the webhook before the Deployment, which is told to serve it."""
    more = list(yaml.safe_load_all((folder / "webhook/webhook.yaml").read_text(encoding="utf-8")))
    for container in found[-1]["spec"]["template"]["spec"]["containers"]:
        container["args"].append("--webhook")
    return [*found[:-1], *more, found[-1]]


def adapted(
    document: dict[str, Any], image: str, namespace: str, replicas: int, *, secure: bool = True
) -> dict[str, Any]:
    """Return an object as it is wanted here."""
    found: dict[str, Any] = moved(document, namespace)
    if found["kind"] == "Namespace":
        found["metadata"]["name"] = namespace
    if found["kind"] == "Deployment":
        found["spec"]["replicas"] = replicas
        for container in found["spec"]["template"]["spec"]["containers"]:
            container["image"] = image
            wanted = {"STATEWARD_AGENT_IMAGE": image, "STATEWARD_SECURE_NEW_CLUSTERS": str(secure).lower()}
            for variable in container.get("env", ()):
                if variable["name"] in wanted:
                    variable["value"] = wanted[variable["name"]]
    return found


def moved(value: Any, namespace: str) -> Any:
    """Return a document in which every `namespace` field names another namespace."""
    if isinstance(value, list):
        return [moved(item, namespace) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    return {  # pyright: ignore[reportUnknownVariableType]
        key: namespace if key == "namespace" and inner == SOURCE_NAMESPACE else moved(inner, namespace)
        for key, inner in value.items()  # pyright: ignore[reportUnknownVariableType]
    }
