"""`diagnose`: a tarball for a bug report, without secrets."""

import io
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from stateward.cli.diagnosis.redaction import Redactor
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo, write_bytes
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.options import target_options, view_options
from stateward.cli.shared.session import Session, run


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.option(
    "-f",
    "--filename",
    "path",
    default="",
    type=click.Path(),
    help="The tarball, or - ; default: stateward-NAME-TIME.tar.gz.",
)
@click.option(
    "--database-logs", is_flag=True, help="Also the last 1,000 lines of each member: they may show your data."
)
@view_options
@target_options
def diagnose(name: str, *, path: str, database_logs: bool, **target: Any) -> None:
    """Collect a bug report without secrets in a tarball.

    It has the resource and status of cluster NAME, its objects, events, history and plan, nodes, versions, and what the
    operator has logged about it. Contents of Secrets and ConfigMaps, environments, commands and settings are replaced,
    and so is each of their values elsewhere. What you may not read is left out and named in the README of the report.
    Nothing is sent anywhere: check the files before you publish them.
    """
    # The planner takes longest to import, and a help text needs none; it logs, so it is imported before `run`.
    from stateward.cli.diagnosis.bug_report import BugReport, public_names  # noqa: PLC0415

    async def work(session: Session) -> tuple[bytes, float, list[str]]:
        cluster = await read_cluster(session, name)
        report = BugReport(session, cluster, Redactor(public_names(cluster)))
        files = await report.collect(database_logs=database_logs)
        moment = datetime.fromtimestamp(session.now(), UTC)
        folder = f"stateward-{name}-{moment:%Y%m%d-%H%M%S}"
        return tarball(folder, files, session.now()), session.now(), report.missed

    content, now, missed = run(work, **target)
    for each in missed:
        echo(f"not included: {each}", err=True)
    if path == "-":
        write_bytes(content)
        return
    file = Path(path or f"stateward-{name}-{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}.tar.gz")
    file.write_bytes(content)
    echo(f"{file}: {len(content) // 1024 + 1} KiB; check its files before you publish them")


def tarball(folder: str, files: dict[str, str], now: float) -> bytes:
    """Return a compressed tarball of files by name, all in one folder."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            content, entry = text.encode(), tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(now), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()
