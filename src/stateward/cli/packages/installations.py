"""`installation`: the state of installations of packages, the progress of their plans, and their history."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from stateward.api.kinds.installation import Installation, InstallationStatus, PastRun
from stateward.api.values.conditions import stalled
from stateward.cli.packages.advice import INSTALLATION_ADVICE
from stateward.cli.packages.installation_look import package_called
from stateward.cli.shared.advice import UNKNOWN, told
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import unreadable
from stateward.cli.shared.options import installation_options
from stateward.cli.shared.output import output_option, print_lines, qualified, selection_options
from stateward.cli.shared.session import Session, run
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.resource import Selection
from stateward.operator.installations.objects.views import INSTALLATIONS as INSTALLED
from stateward.packages.plans.choice import CLEANUP
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.progress import Stage


@click.group()
def installation() -> None:
    """Show installations of packages, and run their plans."""


@installation.command("list")
@selection_options
@output_option
@installation_options
def list_command(*, all_namespaces: bool, selector: str, output: str, **target: str) -> None:
    """List installations."""

    async def work(session: Session) -> tuple[str, list[Installation]]:
        where = Selection("" if all_namespaces else session.namespace, labels=selector)
        state = await list_all(session.api, INSTALLED, where)
        if state.troubles:
            raise unreadable("installation", state.troubles[0])
        return session.namespace, list(state.hand_over())

    namespace, there = run(work, **target)
    if not there:
        where = (
            "any namespace" if all_namespaces else f"namespace {namespace!r}; --all-namespaces searches all namespaces"
        )
        echo(f"there is no installation in {where}", err=True)
    there.sort(key=lambda one: (one.metadata.namespace, one.metadata.name))
    lines = [
        f"{f'{found.metadata.namespace}/' if all_namespaces else ''}{found.metadata.name}: {summary(found)}"
        for found in there
    ]
    print_lines(output, there, [qualified("Installation", found.metadata.name) for found in there], lines)


@installation.command()
@click.argument("name")
@output_option
@installation_options
def status(name: str, *, output: str, **target: str) -> None:
    """Show the state of an installation and what it waits for."""
    found = run(lambda session: read_installation(session, name), **target)
    print_lines(output, document(found), [qualified("Installation", name)], list(shown(found)))


def document(found: Installation) -> dict[str, Any]:
    """Return the state of an installation for programs: the status as in the API, and what is asked for."""
    meta, spec = found.metadata, found.spec
    head = {"name": meta.name, "namespace": meta.namespace, "generation": meta.generation, "package": spec.package}
    return head | {"status": msgspec.to_builtins(found.status)}


@installation.command()
@click.argument("name")
@output_option
@installation_options
def plan(name: str, *, output: str, **target: str) -> None:
    """Show the progress of the running plan, or the result of the last one."""
    status = run(lambda session: read_installation(session, name), **target).status
    found, lines = status.run, list(steps(status)) or [f"{name}: no plan has run yet"]
    print_lines(output, found, [found.plan] if found is not None else [], lines)


@installation.command()
@click.argument("name")
@output_option
@installation_options
def history(name: str, *, output: str, **target: str) -> None:
    """Show the finished plans, the newest first."""
    found = run(lambda session: read_installation(session, name), **target).status.history
    lines = [finished(past) for past in found] or [f"{name}: no plan has ended yet"]
    print_lines(output, found, [past.plan for past in found], lines)


def finished(past: PastRun) -> str:
    """Return a plan that has ended in one line."""
    why = f": {past.message}" if past.message else ""
    return f"{_moment(past.completion_time)} {past.plan} {past.version} {past.stage}, because {past.description}{why}"


@installation.command()
@click.argument("name")
@click.argument("plan_name", metavar="PLAN")
@click.option("--yes", "agreed", metavar="NAME", default="", help="For cleanup: the name once more, to confirm it.")
@installation_options
def trigger(name: str, plan_name: str, agreed: str, **target: str) -> None:
    """Run a plan.

    It starts when the running plan has ended. Finished jobs run again, except for those of the plans deploy, update and
    upgrade. Sets the annotation stateward.dev/run-plan. The plan cleanup removes what runs, so it needs a confirmation:
    --yes NAME.
    """
    if plan_name == CLEANUP and agreed != name:
        raise Failure(f"the plan {CLEANUP} removes running objects: to run it anyway, add --yes {name}")

    async def work(session: Session) -> None:
        found = await read_installation(session, name)
        await _known(session, found, plan_name)
        which = f"{plan_name}/{name}" if plan_name == CLEANUP else plan_name
        wish = f"{which}/{session.clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"
        patch = {"metadata": {"annotations": {ANNOTATION_TRIGGER: wish}}}
        await session.api.patch(INSTALLED, session.key(found.metadata.name), patch, kind=PatchKind.MERGE)

    run(work, **target)
    echo(f"{name}: plan {plan_name} is asked for; `kubectl stateward installation plan {name}` shows how far it is")


async def _known(session: Session, found: Installation, plan_name: str) -> None:
    """Refuse a plan that the package does not have; if the package cannot be read, leave the check to the operator."""
    try:
        package = await package_called(session, found.spec.package, {})
    except (Failure, ApiError):
        return
    if plan_name not in package.operator.plans:
        raise Failure(f"{plan_name!r}: {package.name} has the plans {', '.join(package.operator.plans)}")


async def read_installation(session: Session, name: str) -> Installation:
    """Return an installation; raise Failure if it does not exist."""
    if not name:  # The path without a name is that of the list of all.
        raise no_such_installation(session, name)
    try:
        return await session.api.get(INSTALLED, session.key(name))
    except NotFound as error:
        raise no_such_installation(session, name) from error


def no_such_installation(session: Session, name: str) -> Failure:
    """Return the failure for an installation that does not exist."""
    return Failure(
        f"there is no installation {name!r} in namespace {session.namespace!r};"
        " `kubectl stateward installation list` shows all"
    )


def summary(found: Installation) -> str:
    """Return the state of an installation in one line."""
    here, state = found.status, found.status.installed
    version = f"{found.spec.package}, installed {state.version}" if state else f"{found.spec.package}, not installed"
    ready = any(c.type == "Ready" and c.status == "True" for c in here.conditions)
    word = "needs manual intervention" if stalled(here.conditions) is not None else "ready" if ready else "working"
    return f"{version}: {word}" + (f": {here.activity}" if here.activity else "")


def shown(found: Installation) -> Iterator[str]:
    """Yield the state of an installation in lines."""
    yield f"{found.metadata.name}: {summary(found)}"
    stuck = stalled(found.status.conditions)
    if stuck is not None:
        yield f"{stuck.reason}: {stuck.message}"
        yield from told(INSTALLATION_ADVICE.get(stuck.reason, UNKNOWN))
    if found.status.removed:
        names = ", ".join(f"{item.kind} {item.name}" for item in found.status.removed)
        yield f"removed by a plan, and not recreated until a plan applies it: {names}"
    yield from steps(found.status)


def steps(status: InstallationStatus) -> Iterator[str]:
    """Yield the progress of the last run in lines; nothing before the first one."""
    found = status.run
    if found is None:
        return
    state = found.target or (status.installed if found.stage == Stage.DONE else None)
    version = f" of {state.version}" if state else ""
    message = f": {found.message}" if found.message else ""
    when = f"since {_moment(found.start_time)}, because {found.description}"
    yield f"plan {found.plan}{version}: {found.stage}, {when}{message}"
    for step in found.steps:
        text = f": {step.message}" if step.message and step.stage != "Done" else ""
        tries = f" ({step.failures} times)" if step.failures else ""
        yield f"  {step.phase}/{step.step}: {step.stage}{tries}{text}"


def _moment(text: str) -> str:
    return f"{text[:19]}Z" if text else "?"
