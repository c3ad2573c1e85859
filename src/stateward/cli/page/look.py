"""A look at one cluster's database for its viewers: shards and disks, or why they are not known."""

import asyncio
from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.cli.page.host import Host
from stateward.cli.page.model import ref_of
from stateward.cli.page.shards import Summary, summary
from stateward.cli.page.verbs import session_of
from stateward.cli.preview.inputs import notes_on, read_inputs, unread
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import ApiError
from stateward.planning.model.database import Database

BEING_READ = "shards and disks are being read"
RECORDED = "members and versions come from the cluster's status; shards, disks and the elected manager are not known"
FAILED = "shards and disks cannot be read"


@dataclass(frozen=True, slots=True)
class Look:
    """What the database reported last; None if that is not known, and then a note says why."""

    data: Summary | None = None
    notes: tuple[str, ...] = (BEING_READ,)


async def look(host: Host, cluster: Cluster) -> Look:
    """Return a look. An answer that does not come is not known, whatever was known before."""

    async def read(session: Session) -> tuple[Database | None, tuple[str, ...]]:
        return await _read(session_of(session, ref_of(cluster))[0], cluster)

    try:
        found, notes = await host.work(read)
    except TimeoutError:
        return Look(None, (f"{FAILED}: no answer in time",))
    except (ApiError, Failure) as error:
        return Look(None, (f"{FAILED}: {error}",))
    # A thread, because the operator's own work must not wait for a large cluster.
    return Look(await asyncio.to_thread(summary, found) if found is not None else None, notes)


async def _read(session: Session, cluster: Cluster) -> tuple[Database | None, tuple[str, ...]]:
    """Return what a database reports, and notes. In the operator nothing else is read for it."""
    if session.reads is None:
        found = await read_inputs(session, session.kinds[0], cluster.metadata.name)
        return found.reported, found.notes
    answer = await session.reads.report(cluster)
    if isinstance(answer, Database):
        return answer, notes_on(cluster)
    return None, (unread(answer), *notes_on(cluster), RECORDED)
