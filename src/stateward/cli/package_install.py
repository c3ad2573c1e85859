"""`package install`, `upgrade` and `uninstall`: packages and what becomes of them on an API server."""

import base64
import re
from typing import Any

import click

from stateward.api.base import API_VERSION, Json
from stateward.api.installation import Installation
from stateward.cli.failures import Failure
from stateward.cli.installation_look import package_called
from stateward.cli.installations import INSTALLED, no_such_installation, read_installation
from stateward.cli.package_files import checked, lines, values_of, working
from stateward.cli.session import Session, run, target_options
from stateward.kube.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.errors import AlreadyExists, NotFound
from stateward.kube.metadata import Key
from stateward.operator.installations.library import opened
from stateward.operator.installations.views import CLUSTER_PACKAGES, INSTALLATIONS, PACKAGES
from stateward.packages.archive import pack
from stateward.packages.parameters import check_values
from stateward.packages.records import Package


@click.command()
@click.argument("path")
@click.argument("name", required=False)
@click.option("-p", "--parameter", "given", multiple=True, help="A value, NAME=VALUE; repeatable.")
@click.option("-P", "--parameters", "file", default="", help="A YAML file of values by name.")
@click.option("--adopt", is_flag=True, help="Take over objects that are there already and are nobody's.")
@click.option("--shared", is_flag=True, help="Make the package available in all namespaces.")
@target_options
def install(
    path: str, name: str | None, given: tuple[str, ...], file: str, *, adopt: bool, shared: bool, **target: str
) -> None:
    """Install a package.

    PATH is its folder, its tarball or oci://HOST/REPOSITORY:TAG; NAME what the installation is called, by default the
    package's name. The operator runs the plan `deploy`; `kubectl stateward installation status NAME` says how far.
    """
    files, package = working(path)
    values = checked(package, values_of(given, file))
    called = name or package.name

    async def work(session: Session) -> None:
        stored = await _store(session, package, files, shared=shared)
        spec: Json = {"package": stored, "parameters": dict(values)} | ({"adopt": True} if adopt else {})
        head = {"apiVersion": API_VERSION, "kind": "Installation", "metadata": {"name": called}}
        try:
            await session.api.create(INSTALLATIONS, head | {"spec": spec}, namespace=session.namespace)
        except AlreadyExists as error:
            raise Failure(f"{called} is installed already: `package upgrade {called}` changes it") from error

    run(work, **target)
    click.echo(f"{called}: {package.name} {package.version} is being installed")


@click.command()
@click.argument("name")
@click.argument("path", required=False)
@click.option("-p", "--parameter", "given", multiple=True, help="A value, NAME=VALUE, over those in force; repeatable.")
@click.option("-P", "--parameters", "file", default="", help="A YAML file of values, in place of those in force.")
@click.option("--shared", is_flag=True, help="Make the package available in all namespaces.")
@target_options
def upgrade(name: str, path: str | None, given: tuple[str, ...], file: str, *, shared: bool, **target: str) -> None:
    """Change an installation.

    NAME gets another version of its package (the folder or tarball PATH), other values, or both.
    """
    fresh = working(path) if path else None

    async def work(session: Session) -> str:
        live = await read_installation(session, name)
        package = fresh[1] if fresh else await package_called(session, live.spec.package, {})
        kept = {key: value for key, value in live.spec.parameters.items() if key in package.parameters}
        values = values_of(given, file) if file else kept | values_of(given, "")
        before = live.status.installed.parameters if live.status.installed else None
        if problems := check_values(package, values, before):
            raise Failure("these parameters are not accepted:\n" + lines(problems))
        stored = await _store(session, package, fresh[0], shared=shared) if fresh else live.spec.package
        await _patch(session, live, stored, values)
        return f"{name}: {package.name} {package.version}"

    click.echo(f"{run(work, **target)} is on its way")


@click.command()
@click.argument("name")
@target_options
def uninstall(name: str, **target: str) -> None:
    """Remove an installation.

    Its plan `cleanup` runs, and what it made is removed; volume claims stay unless spec.retention says Delete.
    """

    async def work(session: Session) -> None:
        live = await read_installation(session, name)
        try:
            exact = DeleteOptions(Preconditions(live.metadata.uid))
            await session.api.delete(INSTALLATIONS, session.key(name), exact)
        except NotFound as error:
            raise no_such_installation(session, name) from error

    run(work, **target)
    click.echo(f"{name} is being removed")


async def _store(session: Session, package: Package, files: dict[str, bytes], *, shared: bool) -> str:
    """Make the object of a package, unless it is there with the same content; return its name."""
    resource, namespace = (CLUSTER_PACKAGES, "") if shared else (PACKAGES, session.namespace)
    name = re.sub(r"[^a-z0-9.-]+", "-", f"{package.name}-{package.version}".lower()).strip("-.")
    spec = {
        "name": package.name,
        "version": package.version,
        "appVersion": package.operator.app_version,
        "digest": package.digest,
        "archive": base64.b64encode(pack(files)).decode(),
    }
    body: dict[str, Any] = {"apiVersion": API_VERSION, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    try:
        await session.api.create(resource, body, namespace=namespace)
    except AlreadyExists as error:
        if opened(await session.api.get(resource, Key(namespace, name))).digest != package.digest:
            text = f"{resource.kind} {name} is there already, with other content: a changed package has another version"
            raise Failure(text) from error
    return name


async def _patch(session: Session, live: Installation, package: str, values: Json) -> None:
    patch = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": live.metadata.resource_version},
        {"op": "replace", "path": "/spec/package", "value": package},
        {"op": "add", "path": "/spec/parameters", "value": values},
    ]
    await session.api.patch(INSTALLED, session.key(live.metadata.name), patch, kind=PatchKind.JSON)
