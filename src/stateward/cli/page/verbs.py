"""The safe verbs of the page: the same functions as the commands, by name."""

from dataclasses import replace

from msgspec import Struct

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.cli.steering.pause import set_paused
from stateward.cli.steering.replace import DRAINED, KEPT, name_member
from stateward.cli.steering.restart import request_restart
from stateward.cli.steering.stop import keep as keep_stopped


class Verb(Struct, frozen=True, rename="camel"):
    """A verb, its button, and what it does in one sentence."""

    name: str
    label: str
    does: str


CLUSTER_VERBS = (
    Verb("pause", "Pause", "The operator starts no new step; a restart in progress completes."),
    Verb("resume", "Resume", "The operator continues with all changes."),
    Verb("restart", "Restart all", "All members restart, one safe set at a time."),
)
"""Verbs for a whole cluster."""
_RESTART = Verb("restart", "Restart", "The process of this member restarts when it is safe.")
_REPLACE = Verb("replace", "Replace", "A new member joins, the data moves to it, then this member is removed.")
_KEEP = Verb("keep", "Keep", "This member is never replaced; a replacement in progress is cancelled.")
_STOP = Verb("stop", "Stop", "The process of this member stops when that is safe, and stays stopped.")
_START = Verb("start", "Start", "The process of this member starts again.")


def member_verbs(cluster: Cluster, member: str) -> tuple[Verb, ...]:
    """Return the verbs that make sense for a member now."""
    stopped = member in names.in_list(cluster.metadata.annotations.get(names.ANNOTATION_STOPPED, ""))
    by_hand = cluster.spec.members
    replaced = any(removal.name == member for removal in cluster.status.pending_removals) or (
        by_hand is not None and member in (by_hand.replace or ())
    )
    return (_RESTART, _KEEP if replaced else _REPLACE, _START if stopped else _STOP)


async def perform(session: Session, verb: str, cluster: str, member: str = "") -> None:
    """Perform a verb on a cluster, or on its member; raise Failure for an unknown one, and ApiError."""
    match verb, bool(member):
        case "pause" | "resume", False:
            await set_paused(session, cluster, paused=verb == "pause")
        case "restart", _:
            await request_restart(session, cluster, member=member)
        case "replace" | "keep", True:
            await name_member(session, member, (DRAINED if verb == "replace" else KEPT,))
        case "stop" | "start", True:
            await keep_stopped(session, member, stopped=verb == "stop")
        case _:
            raise Failure(f"{verb!r} is not a verb for a {'member' if member else 'cluster'}")


def session_of(session: Session, ref: str) -> tuple[Session, str]:
    """Return the session narrowed to the namespace and kind of a cluster, and its name; raise Failure."""
    namespace, _, rest = ref.partition("/")
    engine, _, name = rest.partition("/")
    kinds = tuple(kind for kind in session.kinds if kind.engine == engine)
    if not kinds or not name:
        raise Failure(f"{ref!r} is not a cluster here")
    return replace(session, namespace=namespace, kinds=kinds), name
