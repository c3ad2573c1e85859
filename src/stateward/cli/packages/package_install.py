"""`package install`, `upgrade` and `uninstall`: changes of installations on an API server."""

from typing import Any

import click

from stateward.api.kinds.installation import Installation
from stateward.api.values.base import API_VERSION, Json
from stateward.cli.packages.installation_forecast import lines as forecast
from stateward.cli.packages.installation_look import package_called
from stateward.cli.packages.installation_plan import InstallationPreview
from stateward.cli.packages.installations import INSTALLED, no_such_installation, read_installation
from stateward.cli.packages.package_files import checked, described_namespace, lines, values_of, working
from stateward.cli.packages.package_objects import create_namespace, object_name, package_object, trial
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.options import installation_options
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import AlreadyExists, NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.installations.execution.opening import open_package
from stateward.operator.installations.objects.views import CLUSTER_PACKAGES, INSTALLATIONS, PACKAGES
from stateward.packages.format.parameters import check_values, in_force
from stateward.packages.format.records import Package
from stateward.packages.plans.run_record import fixed_values

ACCOUNT = (
    "Service account of the namespace whose rights the operator uses for all objects; without it the one that the"
    " operator was started with, which is `default` unless configured otherwise."
)


@click.command()
@click.argument("path")
@click.argument("name", required=False)
@click.option("-p", "--parameter", "given", multiple=True, help="A value, NAME=VALUE; repeatable.")
@click.option("-P", "--parameters", "file", default="", help="A YAML file of values by name.")
@click.option("--adopt", is_flag=True, help="Adopt existing objects that have no owner.")
@click.option("--service-account", default="", help=ACCOUNT)
@click.option("--shared", is_flag=True, help="Make the package available in all namespaces.")
@click.option("--create-namespace", is_flag=True, help="Create the namespace first, as the package describes it.")
@click.option("--dry-run", is_flag=True, help="Only show which objects would be created, and what prevents it.")
@installation_options
def install(path: str, name: str | None, given: tuple[str, ...], file: str, *, dry_run: bool, **chosen: Any) -> None:
    """Install a package.

    PATH is its folder, its tarball or oci://HOST/REPOSITORY:TAG; NAME is the name of the installation, by default the
    package's name. The operator runs the plan `deploy`; `kubectl stateward installation status NAME` shows the
    progress.
    """
    files, package = working(path)
    values = checked(package, values_of(given, file))
    called, adopt, shared = name or package.name, chosen.pop("adopt"), chosen.pop("shared")
    account, creates = chosen.pop("service_account"), chosen.pop("create_namespace")
    if dry_run:
        if creates:
            echo("the namespace would be created, if it does not exist")
        more = {"adopt": adopt, "serviceAccountName": account}
        show(run(lambda session: trial(session, called, package, files, values, **more), **chosen))
        return

    async def work(session: Session) -> None:
        if creates and await create_namespace(session, described_namespace(package, called, session.namespace, values)):
            echo(f"namespace {session.namespace} was created")
        stored = await _store(session, package, files, shared=shared)
        spec: Json = {"package": stored, "parameters": dict(values)} | ({"adopt": True} if adopt else {})
        spec |= {"serviceAccountName": account} if account else {}
        head = {"apiVersion": API_VERSION, "kind": "Installation", "metadata": {"name": called}}
        try:
            await session.api.create(INSTALLATIONS, head | {"spec": spec}, namespace=session.namespace)
        except AlreadyExists as error:
            raise Failure(f"{called} is already installed: `package upgrade {called}` changes it") from error

    run(work, **chosen)
    echo(f"{called}: {package.name} {package.version} is being installed")


@click.command()
@click.argument("name")
@click.argument("path", required=False)
@click.option(
    "-p", "--parameter", "given", multiple=True, help="A value, NAME=VALUE, merged over the current values; repeatable."
)
@click.option("-P", "--parameters", "file", default="", help="A YAML file of values, replacing the current values.")
@click.option("--service-account", default="", help="Another service account whose rights the operator uses.")
@click.option("--shared", is_flag=True, help="Make the package available in all namespaces.")
@click.option("--dry-run", is_flag=True, help="Only show what would change, and which pods restart for which reason.")
@installation_options
def upgrade(
    name: str, path: str | None, given: tuple[str, ...], file: str, *, shared: bool, dry_run: bool, **target: str
) -> None:
    """Change an installation.

    NAME gets another version of its package (the folder, tarball or oci:// reference PATH), other values, another
    service account, or several of these.
    """
    account = target.pop("service_account")
    fresh = working(path) if path else None

    async def changed(session: Session) -> tuple[Installation, Package, dict[str, Any]]:
        live = await read_installation(session, name)
        package = fresh[1] if fresh else await package_called(session, live.spec.package, {})
        if file:
            return live, package, values_of(given, file)
        kept = {key: value for key, value in live.spec.parameters.items() if key in package.parameters}
        if left := [key for key in live.spec.parameters if key not in kept]:
            said = f"{package.name} {package.version} has no parameter {' and no '.join(left)}: the value is left out"
            echo(f"stateward: {said}", err=True)
        return live, package, kept | values_of(given, "")

    async def look(session: Session) -> InstallationPreview:
        live, package, values = await changed(session)
        more: dict[str, Any] = {"deletionPolicy": live.spec.deletion_policy.value, "adopt": live.spec.adopt}
        more["serviceAccountName"] = account or live.spec.service_account_name
        if fresh is None:
            more["package"] = live.spec.package
        return await trial(session, name, package, fresh[0] if fresh else None, values, **more)

    if dry_run:
        show(run(look, **target))
        return

    async def work(session: Session) -> str:
        live, package, values = await changed(session)
        before = fixed_values(live.status.installed)
        if problems := check_values(package, in_force(package, values, before), before):
            raise Failure("these parameters are not accepted:\n" + lines(problems))
        stored = await _store(session, package, fresh[0], shared=shared) if fresh else live.spec.package
        await _patch(session, live, stored, values, account)
        return f"{name}: {package.name} {package.version}"

    echo(f"{run(work, **target)} is being installed")


def show(found: InstallationPreview) -> None:
    """Print the preview; exit code 1 if a part of the change would not complete."""
    for line in forecast(found):
        echo(line)
    click.get_current_context().exit(0 if found.goes_through else 1)


@click.command()
@click.argument("name")
@installation_options
def uninstall(name: str, **target: str) -> None:
    """Remove an installation.

    Its plan `cleanup` runs, then its objects are removed; volume claims stay unless spec.deletionPolicy is Delete.
    """

    async def work(session: Session) -> None:
        live = await read_installation(session, name)
        try:
            exact = DeleteOptions(Preconditions(live.metadata.uid))
            await session.api.delete(INSTALLATIONS, session.key(name), exact)
        except NotFound as error:
            raise no_such_installation(session, name) from error

    run(work, **target)
    echo(f"{name} is being removed")


async def _store(session: Session, package: Package, files: dict[str, bytes], *, shared: bool) -> str:
    """Create the object of a package, unless it exists with the same content; return its name."""
    resource, namespace = (CLUSTER_PACKAGES, "") if shared else (PACKAGES, session.namespace)
    name, body = object_name(package), package_object(package, files, resource.kind)
    try:
        await session.api.create(resource, body, namespace=namespace)
    except AlreadyExists as error:
        if open_package(await session.api.get(resource, Key(namespace, name))).digest != package.digest:
            text = f"{resource.kind} {name} already exists with other content: a changed package needs another version"
            raise Failure(text) from error
    return name


async def _patch(session: Session, live: Installation, package: str, values: Json, account: str) -> None:
    patch = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": live.metadata.resource_version},
        {"op": "replace", "path": "/spec/package", "value": package},
        {"op": "add", "path": "/spec/parameters", "value": values},
    ]
    patch += [{"op": "add", "path": "/spec/serviceAccountName", "value": account}] if account else []
    await session.api.patch(INSTALLED, session.key(live.metadata.name), patch, kind=PatchKind.JSON)
