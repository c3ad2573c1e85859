"""`detect`: the missing members, by live reads; the CronJob of a cluster runs it."""

import click

from stateward.cli.shared.echo import echo
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.options import target_options
from stateward.cli.shared.session import Session, run
from stateward.engines.connection.http import HttpTransport, open_session
from stateward.operator.databases.engine import family_of
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.detection.look import Findings, look
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("name")
@target_options
def detect(name: str, **target: str) -> None:
    """Find missing members, and notify the operator.

    It reads cluster NAME live and queries its database, as the operator does, and annotates the cluster with the time
    if a member is missing. A CronJob runs it if spec.replacement is enabled. It must be able to connect to the pods.
    """
    for line in told(name, run(lambda session: detected(session, name), **target)):
        echo(line)


async def detected(session: Session, name: str) -> Findings:
    """Return the findings about the cluster; raise Failure if it does not exist."""
    kind = kind_of(await read_cluster(session, name))
    async with open_session() as http:
        return await look(
            session.api,
            family_of(kind, HttpTransport(http), ExecShell(session.execute, asks=True)),
            session.key(name),
            session.now(),
        )


def told(name: str, findings: Findings) -> list[str]:
    """Return the findings as readable lines."""
    lines = [f"{member} is missing ({why.cause}): {why.text}" for member, why in findings.missing.items()]
    if findings.unanswered:
        lines.append(f"the database could not be reached: {findings.unanswered}")
    return lines or [f"no member of {name} is missing"]
