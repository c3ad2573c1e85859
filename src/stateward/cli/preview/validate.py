"""`validate`: all problems of files, with or without an API server."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import click
from msgspec import structs

from stateward.api.pod_policy import Level
from stateward.api.values.problem import Severity, errors
from stateward.cli.preview.documents import Document, Unreadable, files_of, is_ours, parts, read_documents
from stateward.cli.preview.inputs import ProxyTransport, not_accepted, obstacles_of
from stateward.cli.shared.echo import echo
from stateward.cli.shared.options import place_options, policy_option
from stateward.cli.shared.output import TABLE, WIDE, output_option, print_lines
from stateward.cli.shared.session import Session, run
from stateward.operator.databases.engine import family_of, unconnected
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.policy import problems, problems_beside


@click.command()
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(),
    help="A file, a directory, or - ; repeatable.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--server", is_flag=True, help="Also ask the API server for the classes, nodes and Secrets that are named."
)
@output_option
@policy_option
@place_options
def validate(
    paths: tuple[str, ...], *, strict: bool, server: bool, output: str, pod_policy: str, **target: str
) -> None:
    """Check files, without any server unless --server is given.

    The output shows each problem with its field, its value and the accepted values, including misspelled fields. With
    --server the API server also checks the pods and the Service in a dry run, if you may create them, and there are
    warnings of storage classes, priority classes and Secrets that do not exist, and of pods that no node can run.
    Nothing is stored. Exit code 1 if there is an error.
    """
    read, unreadable = read_all(paths)
    documents = [with_policy_problems(document, Level(pod_policy)) for document in read]
    if server:
        documents = run(lambda session: on_server(session, documents), **target)
    twice = repeated(documents)
    names = [f"{document.place}: {document.name}" for document in documents if document.problems]
    lines = [line for document in documents for line in report(document)]
    print_lines(output, [*map(described, documents)], names, [*lines, *twice])
    if output not in (TABLE, WIDE):
        for line in twice:
            echo(line, err=True)
    for error in unreadable:
        error.show()
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    if (
        twice
        or unreadable
        or any(problem.severity in failing for document in documents for problem in document.problems)
    ):
        click.get_current_context().exit(1)


def read_all(paths: Iterable[str]) -> tuple[list[Document], list[Unreadable]]:
    """Return the documents of all files, and the errors of files that cannot be read; raise Failure without any."""
    found, unreadable = list[Document](), list[Unreadable]()
    for path in paths:
        given, before = list[tuple[str, Any]](), len(unreadable)
        for file in files_of(path):
            try:
                given += parts(file)
            except Unreadable as error:
                unreadable.append(error)
        if any(is_ours(item) for _, item in given) or len(unreadable) == before:
            found += read_documents(path, given)
    return found, unreadable


def with_policy_problems(document: Document, level: Level) -> Document:
    """Return a document with the pod policy violations of its cluster; an invalid document stays unchanged."""
    if document.cluster is None or errors(list(document.problems)):
        return document
    found = problems(unconnected(kind_of(document.cluster)), document.cluster, level)
    found += problems_beside(document.cluster, level)
    return replace(document, problems=(*document.problems, *found))


async def on_server(session: Session, documents: list[Document]) -> list[Document]:
    """Return the documents with what keeps their new pods from starting on the server."""
    return [await checked_there(session, document) for document in documents]


async def checked_there(session: Session, document: Document) -> Document:
    """Return a document with these problems added; an invalid document stays unchanged."""
    if document.cluster is None or errors(list(document.problems)):
        return document
    cluster = document.cluster
    namespace = cluster.metadata.namespace or session.namespace
    cluster = structs.replace(cluster, metadata=structs.replace(cluster.metadata, namespace=namespace))
    family = family_of(kind_of(cluster), ProxyTransport(session.api), ExecShell(session.execute, asks=True))
    found = await obstacles_of(session.api, family, cluster)
    refused = await not_accepted(session.api, family, cluster)
    return replace(document, problems=(*document.problems, *refused, *found))


def repeated(documents: list[Document]) -> list[str]:
    """Return a line for each duplicate object: the last one would silently win."""
    found = list[str]()
    seen = dict[tuple[str, str, str], str]()
    for document in documents:
        identity = (document.kind, document.namespace, document.name)
        if not document.kind or not document.name:
            continue
        if identity in seen:
            found.append(f"{document.place}: {document.name}: error: is in {seen[identity]} already")
        seen.setdefault(identity, document.place)
    return found


def described(document: Document) -> dict[str, Any]:
    """Return a document's problems for programs."""
    problems = [{"path": p.path, "message": p.message, "severity": p.severity.value} for p in document.problems]
    kind = document.cluster.kind if document.cluster is not None else ""
    return {"file": document.place, "kind": kind, "name": document.name, "problems": problems}


def report(document: Document) -> Iterator[str]:
    """Yield the problems of a document, or that it has none."""
    what = f"{document.place}: {document.name or 'cluster without a name'}"
    for problem in document.problems:
        yield f"{what}: {problem.severity.value}: {problem}"
    if not document.problems:
        yield f"{what}: no problems found"
