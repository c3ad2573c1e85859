"""`package push`: stores a package in a registry of OCI artifacts."""

import click

from stateward.cli.packages.package_files import working
from stateward.cli.packages.package_registry import pushed
from stateward.cli.shared.echo import echo


@click.command()
@click.argument("path")
@click.argument("reference_text", metavar="REFERENCE")
@click.option("--replace", is_flag=True, help="Move the tag to this content, even if it exists.")
def push(path: str, reference_text: str, *, replace: bool) -> None:
    """Store a package in a registry.

    REFERENCE is oci://HOST/REPOSITORY, with :TAG to override the package's version as the tag; oci+http:// connects
    without TLS. The login is that of `docker login`. The package is checked first.
    """
    files, package = working(path)
    echo(f"{path}: is in the registry as {pushed(reference_text, package, files, replace=replace)}")
