"""`plan`: the effect of a change on each member, the order of steps, and refusals. It only reads."""

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.installation import Installation
from stateward.api.pod_policy import Level
from stateward.api.schema.custom_resources import SEARCH_OBJECT
from stateward.api.values.base import Json
from stateward.cli.packages.installation_forecast import changes_of, lines
from stateward.cli.packages.installation_forecast import document as installation_document
from stateward.cli.packages.installation_look import Offered
from stateward.cli.packages.installation_plan import installation_preview, installations_in, packages_in
from stateward.cli.preview import search_objects
from stateward.cli.preview.forecast import blocked, forecast, unknowns
from stateward.cli.preview.inputs import PlanInputs, read_inputs
from stateward.cli.preview.offered_data import data_in
from stateward.cli.preview.preview import Kind, Preview, preview
from stateward.cli.preview.search_objects import search_objects_in
from stateward.cli.shared import screen
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.documents import is_ours, parts, read_documents
from stateward.cli.shared.exit_codes import verdict_code
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import no_such_cluster, read_cluster
from stateward.cli.shared.output import WIDE, output_option, print_lines, print_output, qualified
from stateward.cli.shared.session import Session, operator_option, policy_option, run, target_options
from stateward.kube.objects.errors import NotFound
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("name", required=False, shell_complete=cluster_names)
@click.option(
    "-f", "--filename", "path", type=click.Path(), help="The change as a YAML file, or - ; nothing of it is sent."
)
@output_option
@policy_option
@operator_option
@target_options
def plan(name: str | None, path: str | None, *, output: str, pod_policy: str, **target: str) -> None:
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

    For SearchObjects: what each would create or change in its database. The operator reads the database for you; it
    needs --database-view. Only the objects of such a file are shown, and not its clusters.
    """
    given = list(parts(path)) if path is not None else []
    if installs := installations_in(given, name):
        plan_installation(installs, packages_in(given), output, **target)
        return
    if declared := search_objects_in(given, name):
        plan_search_objects(declared, output, **target)
        return
    found, shown, _ = previewed(given, name, path, Level(pod_policy), **target)
    busy = [change.name for change in shown.members if change.effect is not Kind.NONE]

    def table() -> None:
        screen.show(forecast(found, shown, wide=output == WIDE))

    print_output(output, document(found, shown), busy, table)
    through = shown.goes_through and not blocked(found, shown)
    click.get_current_context().exit(verdict_code(changes=bool(busy or shown.steps), through=through))


def plan_search_objects(declared: list[Json], output: str, **target: str) -> None:
    """Show the effect of declared objects on their databases, with the exit codes of `plan`."""
    found = run(lambda session: search_objects.previews(session, declared), **target)
    busy = [qualified(SEARCH_OBJECT.name, name) for name, shown in found if shown.does != search_objects.NOTHING]
    print_lines(output, search_objects.document(found), busy, list(search_objects.lines(found)))
    through = all(shown.goes_through for _, shown in found)
    click.get_current_context().exit(verdict_code(changes=bool(busy), through=through))


def previewed(
    given: list[tuple[str, Any]], name: str | None, path: str | None, level: Level, **target: str
) -> tuple[PlanInputs, Preview, float]:
    """Return what a plan reads, the plan, and its time; `given` are the documents of the file.

    Raise Failure or UsageError if there is no such cluster, or if the combination is invalid.
    """
    data = data_in(given)
    changed = None if only_data(given, name) else changed_cluster(path, name, given)
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


def plan_installation(found: list[Installation], offered: Offered, output: str, **target: str) -> None:
    """Show the effect of a change of an installation, with the exit codes of `plan`."""
    if len(found) != 1:
        raise Failure(f"it has {len(found)} installations; add the NAME of one")
    wanted = found[0]
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
    path: str | None, name: str | None, given: Iterable[tuple[str, Any]] | None = None
) -> Cluster | None:
    """Return the cluster in the file, or in the already read documents `given`; None without one.

    Raise Failure or UsageError if the combination is invalid.
    """
    if path is None:
        if name is None:
            raise click.UsageError("name the cluster: -f FILE for a change, or NAME for what is in progress")
        return None
    found = [document for document in read_documents(path, given) if name in (None, document.name)]
    if len(found) != 1:
        which = (
            "it contains no cluster with that name" if name else f"it has {len(found)} clusters; add the NAME of one"
        )
        raise Failure(f"{path}: {which}")
    if found[0].cluster is None:
        raise Failure("\n".join(f"{found[0].place}: {problem}" for problem in found[0].problems))
    return found[0].cluster


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
