"""The undecoded answers of one observation and their decoding: pure, for any process."""

from msgspec import Struct

from stateward.api.values.quantity import amount
from stateward.engines.connection.base import GarbledError, Target, UnreachableError
from stateward.engines.connection.decoding import decoded
from stateward.engines.search.database.decode import Answers, database
from stateward.engines.search.database.session import check
from stateward.engines.search.database.shutdown import Record
from stateward.engines.search.database.wire import ClusterSettings, ClusterState, Counts, NodesInfo, NodesStats
from stateward.engines.search.spec.versions import Numbering
from stateward.planning.model.observation import Database

STATE = "/_cluster/state/nodes,master_node,routing_table,metadata,blocks"
INFO = "/_nodes/http"
STATS = "/_nodes/stats/fs,os,indices/store"
SETTINGS = "/_cluster/settings"


class Expected(Struct, frozen=True):
    """The cluster that is meant, the node that answered, and the roles that hold data."""

    endpoint: str
    name: str
    identity: str
    data_roles: frozenset[str]
    numbering: Numbering = Numbering()
    going: tuple[Record, ...] = ()
    """Nodes that are registered for shutdown in the database."""


class Bodies(Struct, frozen=True):
    """The undecoded answers."""

    state: bytes
    info: bytes
    stats: bytes
    settings: bytes

    @property
    def size(self) -> int:
        """Total size in bytes."""
        return len(self.state) + len(self.info) + len(self.stats) + len(self.settings)


def read(expected: Expected, bodies: Bodies) -> Database:
    """Return the decoded observation; raise `EngineError` if there is none, or if it is of another cluster."""
    said = f"{expected.endpoint}{{}} gives an answer that cannot be read:".format
    state = decoded(ClusterState, bodies.state, said(STATE))
    check(expected.endpoint, state, Target((expected.endpoint,), expected.name, expected.identity))
    info = decoded(NodesInfo, bodies.info, said(INFO))
    stats = decoded(NodesStats, bodies.stats, said(STATS))
    for counts, name in ((info.counts, info.cluster_name), (stats.counts, stats.cluster_name)):
        check_complete(counts, name, expected.name)
    settings = decoded(ClusterSettings, bodies.settings, said(SETTINGS))
    answers = Answers(state=state, info=info, stats=stats, settings=settings, going=expected.going)
    return database(expected.data_roles, answers, expected.numbering)


def check_complete(counts: Counts, name: str, meant: str) -> None:
    """Raise when an answer lacks nodes, or comes from another cluster."""
    if name != meant:
        raise GarbledError(f"the parts of the answer come from different clusters: {name[:200]} and {meant}")
    if counts.failed:
        does = "does" if counts.failed == 1 else "do"
        raise UnreachableError(f"{amount(counts.failed, 'node')} in the cluster {does} not answer")
