"""`plan`: the effect of a change on each member, the order of steps, and refusals. It only reads."""

import asyncio
from collections.abc import Iterable
from typing import Any

import click
import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.installation import Installation
from stateward.api.pod_policy import Level
from stateward.api.values.base import Json
from stateward.cli.packages.installation_forecast import changes_of, lines
from stateward.cli.packages.installation_forecast import document as installation_document
from stateward.cli.packages.installation_look import Offered
from stateward.cli.packages.installation_plan import installation_preview, installations_in, packages_in
from stateward.cli.preview import search_objects
from stateward.cli.preview.documents import Document, check_namespace, is_ours, parts, read_documents
from stateward.cli.preview.forecast import blocked, forecast, unknowns
from stateward.cli.preview.inputs import PlanInputs, read_inputs
from stateward.cli.preview.offered_data import data_in
from stateward.cli.preview.plugin_files import web, with_plugin_files
from stateward.cli.preview.preview import Kind, Preview, preview
from stateward.cli.shared import screen
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure, verdict_code
from stateward.cli.shared.find import no_such_cluster, read_cluster
from stateward.cli.shared.options import policy_option, target_options, view_options
from stateward.cli.shared.output import WIDE, output_option, print_lines, print_output, qualified
from stateward.cli.shared.session import Session, run
from stateward.kube.objects.errors import NotFound
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("name", required=False, shell_complete=cluster_names)
@click.option(
    "-f", "--filename", "path", type=click.Path(), help="The change as a YAML file, or - ; nothing of it is sent."
)
@click.option("--check-plugins", is_flag=True, help="Also ask the servers of plug-ins, from here, for their files.")
@output_option
@policy_option
@view_options
@target_options
def plan(
    name: str | None, path: str | None, *, check_plugins: bool, output: str, pod_policy: str, **target: Any
) -> None:
    """Show the effect of a change before you make it.

    It shows the effect of the changed spec in a file, or what cluster NAME still has to do. It changes nothing.

    The output has each member's effect (none, reload, restart, recreate, replace, create, remove) with its cause, the
    order, the volumes that are expanded, the duration and its sources, and what would be refused or would wait. With
    -o name it is the members that would change.

    Exit code 0: nothing would change; 2: something would change, and the change would complete; 1: a part of it would
    be refused or would wait.

    ConfigMaps and Secrets in the file count as applied: the output shows which members restart because of which key of
    which object. With the NAME of a cluster the file may contain only such data.

    For an Installation: the plan that runs, the objects that change, and the pods that restart because of which key of
    which object. Packages in the same file count as if they were on the server.

    For SearchObjects, SearchUsers and SearchRestores: what each would create or change in its database. The operator
    reads the database for you; it needs --database-view.
    """
    given = list(parts(path)) if path is not None else []
    if installs := installations_in(given, name):
        plan_installation(path or "", installs, packages_in(given), output, **target)
        return
    declared, others = search_objects.declared_in(given, name), search_objects.others_in(given)
    if len(others) < len(given) and not any(is_ours(item) for _, item in others) and not (name and data_in(others)):
        plan_declared(path or "", given, declared, output, **target)
        return
    found, shown, _ = previewed(others, name, path, Level(pod_policy), **target)
    found = asyncio.run(with_plugin_files(found, web if check_plugins else None))
    more = read_declared(declared, None if found.exists else found.cluster, **target)
    busy = [change.name for change in shown.members if change.effect is not Kind.NONE]

    def table() -> None:
        screen.show(forecast(found, shown, wide=output == WIDE))
        for line in search_objects.lines(more):
            echo(line)

    whole = document(found, shown) | {"declared": search_objects.document(more)}
    print_output(output, whole, [*busy, *names_of(more)], table)
    through = shown.goes_through and not blocked(found, shown) and all(each.preview.goes_through for each in more)
    changes = bool(busy or shown.steps) or any(each.changes for each in more)
    click.get_current_context().exit(verdict_code(changes=changes, through=through))


def plan_declared(path: str, given: list[tuple[str, Any]], declared: list[Json], output: str, **target: Any) -> None:
    """Show the effect of declared resources on their databases, with the exit codes of `plan`; raise Failure."""
    if not declared:
        kinds = search_objects.without_preview(given)
        told = f"plan shows no {' or '.join(kinds)}; check it with validate" if kinds else "it has nothing of that name"
        raise Failure(f"{path}: {told}")
    found = read_declared(declared, None, **target)
    print_lines(output, search_objects.document(found), names_of(found), list(search_objects.lines(found)))
    through = all(each.preview.goes_through for each in found)
    click.get_current_context().exit(verdict_code(changes=bool(names_of(found)), through=through))


def read_declared(declared: list[Json], new: Cluster | None, **target: Any) -> list[search_objects.Shown]:
    """Return what declared resources would change; `new` is a cluster that the same file creates. Raise Failure."""
    for each in declared:
        meta = each["metadata"]
        check_namespace(str(each["kind"]), str(meta.get("name")), str(meta.get("namespace") or ""), target["namespace"])
    return run(lambda session: search_objects.previews(session, declared, new), **target) if declared else []


def names_of(found: list[search_objects.Shown]) -> list[str]:
    """Return the resources that would change something, as kubectl names them."""
    return [qualified(each.kind.name, each.name) for each in found if each.changes]


def previewed(
    given: list[tuple[str, Any]], name: str | None, path: str | None, level: Level, **target: Any
) -> tuple[PlanInputs, Preview, float]:
    """Return what a plan reads, the plan, and its time; `given` are the documents of the file.

    Raise Failure or UsageError if there is no such cluster, or if the combination is invalid.
    """
    data = data_in(given)
    changed = None if only_data(given, name) else changed_cluster(path, name, given, target["namespace"])
    wanted = name or (changed.metadata.name if changed else "")
    if changed is not None and changed.metadata.namespace and not target["namespace"]:
        target["namespace"] = changed.metadata.namespace

    async def work(session: Session) -> tuple[PlanInputs, Preview, float]:
        kind = kind_of(changed or await read_cluster(session, wanted))
        try:
            found = await read_inputs(session, kind, wanted, changed, data, level=level)
        except NotFound as error:
            raise no_such_cluster(session, wanted) from error
        now = session.now()
        return found, preview(found.observed, now, found.pacing.durations), now

    return run(work, **target)


def plan_installation(path: str, found: list[Installation], offered: Offered, output: str, **target: Any) -> None:
    """Show the effect of a change of an installation, with the exit codes of `plan`."""
    if len(found) != 1:
        raise Failure(f"it has {len(found)} installations; add the NAME of one")
    wanted = found[0]
    check_namespace(path, wanted.metadata.name, wanted.metadata.namespace, target["namespace"])
    target["namespace"] = target["namespace"] or wanted.metadata.namespace
    what = run(lambda session: installation_preview(session, wanted, offered), **target)
    names = [str(change.identity) for change in changes_of(what)]
    print_lines(output, installation_document(what), names, list(lines(what)))
    changes = what.chosen is not None or what.following is not None
    click.get_current_context().exit(verdict_code(changes=changes, through=what.goes_through))


def only_data(given: Iterable[tuple[str, Any]], name: str | None) -> bool:
    """Return whether a file changes only data that the named cluster uses, and no cluster."""
    return name is not None and bool(data_in(given)) and not any(is_ours(item) for _, item in given)


def changed_cluster(
    path: str | None, name: str | None, given: Iterable[tuple[str, Any]] | None = None, namespace: str = ""
) -> Cluster | None:
    """Return the cluster in the file, or in the already read documents `given`; None without one.

    With a namespace, a cluster of another one is not meant if several have the name. Raise Failure or UsageError if the
    combination is invalid.
    """
    if path is None:
        if name is None:
            raise click.UsageError("name the cluster: -f FILE for a change, or NAME for what is in progress")
        return None
    clusters = [document for document in read_documents(path, given) if document.may_be_cluster]
    found = [document for document in clusters if name in (None, document.name)]
    if len(found) > 1 and namespace:
        found = [document for document in found if document.namespace in ("", namespace)]
    if len(found) != 1:
        raise Failure(f"{path}: {_not_one(name, found)}")
    if found[0].cluster is None:
        raise Failure("\n".join(f"{found[0].place}: {problem}" for problem in found[0].problems))
    check_namespace(found[0].place, found[0].name, found[0].namespace, namespace)
    return found[0].cluster


def _not_one(name: str | None, found: list[Document]) -> str:
    """Return why a file does not say which cluster is meant."""
    if not found:
        return "it contains no cluster with that name" if name else "it contains no cluster"
    if len({document.name for document in found}) > 1:
        return f"it has {len(found)} clusters; add the NAME of one"
    return f"it has {len(found)} clusters called {found[0].name}; choose one with --namespace, or leave the others out"


def document(found: PlanInputs, shown: Preview) -> dict[str, Any]:
    """Return the answer for programs."""
    doubts = (*found.problems, *found.obstacles)
    problems = [{"path": p.path, "message": p.message, "severity": p.severity.value} for p in doubts]
    extra = {
        "problems": problems,
        "notes": list(found.notes),
        "goesThrough": shown.goes_through and not blocked(found, shown),
        "restsOn": list(found.pacing.rests_on),
        "notKnown": list(unknowns(found, shown)),
    }
    return msgspec.to_builtins(shown) | extra
