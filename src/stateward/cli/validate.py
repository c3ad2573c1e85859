"""`validate`: everything that is wrong with a file, without any API server."""

import click

from stateward.api.problem import Severity
from stateward.cli.documents import Document, read_documents


@click.command()
@click.option("-f", "--filename", "paths", multiple=True, required=True, help="A YAML file, or - ; repeatable.")
@click.option("--strict", is_flag=True, help="Let warnings fail, too.")
def validate(paths: tuple[str, ...], *, strict: bool) -> None:
    """Check files, without any server.

    Shows each problem with its field, its value and what is accepted there; misspelled fields are found, too.
    Exit code 1 when there is an error.
    """
    documents = [document for path in paths for document in read_documents(path)]
    for document in documents:
        report(document)
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    if any(problem.severity in failing for document in documents for problem in document.problems):
        click.get_current_context().exit(1)


def report(document: Document) -> None:
    """Print the problems of a document, or that it has none."""
    what = f"{document.place}: {document.name or 'cluster without a name'}"
    for problem in document.problems:
        click.echo(f"{what}: {problem.severity.value}: {problem}")
    if not document.problems:
        click.echo(f"{what}: nothing is wrong")
