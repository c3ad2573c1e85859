"""`package`: inspect packages of templates, parameters and plans, create them, and preview their objects."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec

from stateward.api.values.problem import Problem, Severity, printable
from stateward.cli.packages.package_diff import diff
from stateward.cli.packages.package_files import checked, files_at, load, rendered_plan, values_of, working
from stateward.cli.packages.package_install import install, uninstall, upgrade
from stateward.cli.packages.package_new import skeleton
from stateward.cli.packages.package_push import push
from stateward.cli.packages.package_registry import keep
from stateward.cli.shared import screen
from stateward.cli.shared.echo import echo, echo_json
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.output import JSON, YAML, output_option, print_lines
from stateward.packages.distribution.archive import pack
from stateward.packages.format.editing import installation_schema
from stateward.packages.format.reading import InvalidPackage, read_package
from stateward.packages.format.records import Package
from stateward.packages.format.schema import schema
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.rendering.rendering import Use
from stateward.packages.review.checks import check_name, check_package


@click.group()
def package() -> None:
    """Inspect packages, create them, and preview their objects.

    A package is a folder with operator.yaml, params.yaml and templates, in the format kudo.dev/v1beta1; or a tarball of
    one, or an OCI artifact in a layout on this machine or in a registry (oci://HOST/REPOSITORY:TAG). Only install,
    upgrade and uninstall contact an API server.
    """


for command in (diff, push, install, upgrade, uninstall):
    package.add_command(command)


@package.command()
@click.argument("path")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@output_option
def verify(path: str, *, strict: bool, output: str) -> None:
    """Report all problems of a package.

    PATH is its folder or tarball. Each problem names the file, the field or line, and the accepted values. Exit code 1
    if there is an error.
    """
    try:
        found = read_package(files_at(path))
        problems = check_package(found)
    except InvalidPackage as error:
        found, problems = None, error.problems
    lines = [f"{path}: {problem.severity.value}: {problem}" for problem in problems]
    lines += [f"{path}: {summary(found)}"] if found is not None else []
    print_lines(output, verified(path, found, problems), [found.name] if found is not None else [], lines)
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    if any(problem.severity in failing for problem in problems):
        click.get_current_context().exit(1)


def verified(path: str, found: Package | None, problems: Iterable[Problem]) -> dict[str, Any]:
    """Return a package and its problems for programs."""
    listed = [{"path": p.path, "message": p.message, "severity": p.severity.value} for p in problems]
    known = {"name": found.name, "version": found.version, "digest": found.digest} if found is not None else {}
    return {"path": path, "name": "", "version": "", "digest": "", **known, "problems": listed}


@package.command()
@click.argument("path")
@click.option("-p", "--parameter", "given", multiple=True, help="A value, NAME=VALUE; repeatable.")
@click.option("-P", "--parameters", "file", default="", help="A YAML file of values by name.")
@click.option("--plan", default="deploy", show_default=True, help="The plan to render.")
@click.option("--name", default="", help="Name of the installation; default: the package's.")
@click.option("-n", "--namespace", default="default", show_default=True, help="Namespace of the installation.")
@click.option(
    "-o", "--output", type=click.Choice((YAML, JSON)), default=YAML, show_default=True, help="json is one List."
)
def render(path: str, given: tuple[str, ...], file: str, plan: str, *, output: str, **where: str) -> None:
    """Print the objects of a package.

    They are the objects that exist after the plan; in YAML each with its template.
    """
    found = load(path)
    use = Use(found, where["name"] or found.name, where["namespace"], checked(found, values_of(given, file)))
    made = list(rendered_plan(use, plan))
    if output == JSON:
        screen.show_document({"apiVersion": "v1", "kind": "List", "items": [each.body for each in made]}, JSON)
        return
    for rendered in made:
        note = f" ({rendered.converted})" if rendered.converted else ""
        echo(f"---\n# templates/{rendered.template}{note}\n{to_yaml(rendered.body)}", nl=False)


@package.command("schema")
@click.argument("path")
@click.option("--installation", is_flag=True, help="Of a whole Installation, not of a file of values.")
def schema_command(path: str, *, installation: bool) -> None:
    """Print the JSON schema of a package's parameters.

    Editors complete and check values with it.
    """
    made = (installation_schema if installation else schema)(load(path))
    text = msgspec.json.format(msgspec.json.encode(made), indent=2)
    echo_json(text)


@package.command()
@click.argument("path")
@click.option("-o", "--output", default="", help="File to write; default: NAME-VERSION.tgz here.")
@click.option("--oci", "folder", default="", help="OCI layout to write it into, in place of a tarball.")
def build(path: str, output: str, folder: str) -> None:
    """Build a tarball or an OCI artifact of a package.

    It is checked first. The same files give the same tarball to the byte; the printed digest identifies them.
    """
    files, found = working(path)
    if folder:
        echo(f"{folder}: {found.name} {found.version}, {keep(Path(folder), found, files)}")
        return
    target = Path(output or f"{found.name}-{found.version}.tgz")
    target.write_bytes(pack(files))
    echo(f"{target}: {summary(found)}")


@package.command()
@click.argument("name")
@click.option("-d", "--directory", default="", help="Folder to make; default: NAME here.")
def new(name: str, directory: str) -> None:
    """Create a new package.

    It creates a folder with a Deployment, its configuration, and plans to deploy it and to save its data. The package
    is complete: `package verify` finds no problems in it.
    """
    for problem in check_name(name):
        raise Failure(str(problem))
    folder = Path(directory or name)
    if folder.exists() and any(folder.iterdir()):
        raise Failure(f"{folder} already exists and is not empty")
    for path, text in skeleton(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    echo(f"{folder}: a package to start from; see its objects with `stateward package render {folder}`")


def summary(found: Package) -> str:
    """Return the description of a package in one line."""
    app = f" (application {found.operator.app_version})" if found.operator.app_version else ""
    plans = ", ".join(found.operator.plans)
    text = f"{found.name} {found.version}{app}: {len(found.parameters)} parameters, plans {plans}, {found.digest}"
    return printable(text)
