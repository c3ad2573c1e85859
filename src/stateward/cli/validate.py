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
    twice = repeated(documents)
    for line in twice:
        click.echo(line)
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    if twice or any(problem.severity in failing for document in documents for problem in document.problems):
        click.get_current_context().exit(1)


def repeated(documents: list[Document]) -> list[str]:
    """Return a line for each cluster that is there more than once: the last one would win, unnoticed."""
    found = list[str]()
    seen = dict[tuple[str, str, str], str]()
    for document in documents:
        if (cluster := document.cluster) is None:
            continue
        identity = (cluster.kind, cluster.metadata.namespace, cluster.metadata.name)
        if identity in seen:
            found.append(f"{document.place}: {document.name}: error: is in {seen[identity]} already")
        seen.setdefault(identity, document.place)
    return found


def report(document: Document) -> None:
    """Print the problems of a document, or that it has none."""
    what = f"{document.place}: {document.name or 'cluster without a name'}"
    for problem in document.problems:
        click.echo(f"{what}: {problem.severity.value}: {problem}")
    if not document.problems:
        click.echo(f"{what}: nothing is wrong")
