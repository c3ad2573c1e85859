"""One round of one cluster's remote clusters, from its live state.

The order for each alias: the address into the status, then into the database; and back: out of the database, then out
of the status. Everything in between is found by the next round, of this process or another.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stateward.api.kinds.access.remote import RemoteAccessStatus, RemoteCluster, RemoteClusterStatus
from stateward.api.kinds.search import SearchCluster
from stateward.api.validation import errors, validate_access
from stateward.api.values.problem import in_short
from stateward.engines.connection.base import EngineError, RefusedError, Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.remote import objects, requests
from stateward.engines.search.remote.decision import Do, Found, Wanted, decide
from stateward.engines.search.remote.standing import Standing, standing
from stateward.engines.search.spec.consent import Place, named
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import DecodeError, Forbidden, NotFound
from stateward.kube.objects.metadata import Key, key_of
from stateward.operator.beside.control import Tools
from stateward.operator.beside.owned import GoingError, Memo, Owned, TakenError
from stateward.operator.remotes.report import CONNECTED, REMOVING, WAITING, Known, Reporter, dated

SETTLED_SECONDS = 60.0
"""Seconds until connected clusters are asked for again: neither the other cluster nor the database reports changes."""
WAIT_SECONDS = 10.0
"""Seconds until the next attempt while something is missing: the other cluster's consent begins no round here."""
MOST_ASKED = 5
"""Members that are asked whether they are connected: some have no role for it."""
UNKNOWN = "RemoteClusterUnknown"
UNREACHED = "the operator has not reached the database yet"

T = TypeVar("T")


class Entry(Struct, frozen=True):
    """One alias: what the spec asks for, and why that cannot be yet."""

    alias: str
    place: str
    """Namespace and name of the other cluster."""
    wanted: Wanted | None
    """None if nothing may be in the database."""
    standing: Standing


def next_round(found: Known, access: RemoteAccessStatus | None) -> float | None:
    """Return the seconds until the next round, None if there is nothing to keep."""
    if not found and access is None:
        return None
    waits = any(each.state != CONNECTED for each in found.values()) or (access is not None and access.reason)
    return WAIT_SECONDS if waits else SETTLED_SECONDS


class Round:
    """One round of one cluster, from its live state."""

    def __init__(self, tools: Tools, live: SearchCluster, memo: Memo) -> None:
        self._tools = tools
        self._live = live
        self._owned = Owned(tools.api, live, memo)
        self._reporter = Reporter(tools.api, tools.kind, tools.recorder, live)
        self._now = tools.clock.now().timestamp()

    async def run(self) -> float | None:
        """Reconcile; returns the seconds until the next round, None if there is nothing to keep.

        Raises ApiError, LostLease.
        """
        if not self._live.status.conditions:
            return WAIT_SECONDS  # The first round of the database writes the status.
        access = await self._access()
        entries = {entry.name: await self._entry(entry) for entry in self._live.spec.remote_clusters or ()}
        for alias, known in self._reporter.known.items():
            entries.setdefault(
                alias, Entry(alias, known.cluster, None, Standing("RemoteClusterRemoving", "it is removed"))
            )
        found = await self._kept(entries, access) if entries else {}
        await self._reporter.report(found, access)
        return next_round(found, access)

    async def fail(self, sentence: str) -> None:
        """Report that rounds fail; raises ApiError."""
        if not self._live.status.conditions:
            return
        known = self._reporter.known
        asked = {entry.name: str(named(self._live, entry.cluster)) for entry in self._live.spec.remote_clusters or ()}
        found = {
            alias: self._waiting(
                alias, asked.get(alias) or known[alias].cluster, "RemoteClusterReconcileFailing", sentence
            )
            for alias in [*asked, *(alias for alias in known if alias not in asked)]
        }
        await self._reporter.report(found, self._live.status.remote_access)

    async def _access(self) -> RemoteAccessStatus | None:
        """Keep or remove the Service for other clusters; returns its part of the status. Raises ApiError."""
        live, name = self._live, objects.service_name(self._live.metadata.name)
        if live.spec.remote_access is None:
            gone = live.status.remote_access is None or await self._owned.delete(kinds.SERVICES, name)
            return None if gone else live.status.remote_access
        if live.status.remote_access is None:
            # A process that dies from here on leaves a trace: the Service is found when the block is removed.
            await self._reporter.report(self._reporter.known, RemoteAccessStatus())
        if problems := self._problems("spec.remoteAccess"):
            return RemoteAccessStatus(reason="RemoteAccessInvalid", message=problems)
        try:
            await self._owned.apply(kinds.SERVICES, objects.service(live, self._tools.engine))
        except (TakenError, GoingError) as error:
            return RemoteAccessStatus(reason="RemoteAccessNameTaken", message=str(error))
        return RemoteAccessStatus(address=objects.address(Place(live.metadata.namespace, live.metadata.name)))

    def _problems(self, path: str) -> str:
        found = [each for each in errors(validate_access(self._live)) if each.path.startswith(path)]
        return in_short([problem.public for problem in found])

    async def _entry(self, entry: RemoteCluster) -> Entry:
        """Return what an entry asks for, from a live read of the other cluster; raises ApiError.

        A cluster that this operator may not read, or cannot understand, is unknown: only its own entry waits.
        """
        place = named(self._live, entry.cluster)
        index = (self._live.spec.remote_clusters or []).index(entry)
        if problems := self._problems(f"spec.remoteClusters[{index}]"):
            return Entry(entry.name, str(place), None, Standing("RemoteClusterInvalid", problems))
        try:
            other = await self._other(place)
        except (Forbidden, DecodeError) as error:
            # What is in the namespaces of others is not told here, not even that something is.
            hidden = isinstance(error, DecodeError) and place.namespace != self._live.metadata.namespace
            why = "its owner has to correct it" if hidden else str(error)[:300]
            unknown = Standing(UNKNOWN, f"{self._live.kind} {place} cannot be read: {why}")
            never_joined = hidden and not self._address(entry.name)
            found = standing(self._live, entry, place, None) if never_joined else unknown
            return Entry(entry.name, str(place), None, found)
        found = standing(self._live, entry, place, other)
        wanted = None if found.reason else Wanted(objects.address(place), entry.skip_unavailable)
        return Entry(entry.name, str(place), wanted, found)

    async def _other(self, place: Place) -> SearchCluster | None:
        """Return another cluster of the kind, read live; None if there certainly is none. Raises ApiError."""
        try:
            found = await self._tools.api.get(self._tools.kind, Key(*place))
        except NotFound:
            return None
        return found if isinstance(found, SearchCluster) and found.metadata.deletion_timestamp is None else None

    async def _kept(self, asked: dict[str, Entry], access: RemoteAccessStatus | None) -> Known:
        """Bring the database to what the entries ask for; returns the statuses. Raises ApiError, LostLease."""
        unknown = {alias: entry for alias, entry in asked.items() if entry.standing.reason == UNKNOWN}
        found = await self._brought({alias: each for alias, each in asked.items() if alias not in unknown}, access)
        kept = {
            alias: self._waiting(alias, each.place, UNKNOWN, each.standing.message) for alias, each in unknown.items()
        }
        every = {**found, **kept}
        return {alias: every[alias] for alias in asked if alias in every}

    async def _brought(self, entries: dict[str, Entry], access: RemoteAccessStatus | None) -> Known:
        if not entries:
            return {}
        target = self._tools.databases.target(self._live.kind, key_of(self._live))
        if target is None or not target.identity:
            return self._all_unreached(entries, UNREACHED)
        try:
            there = await self._ask(target, requests.read)
        except EngineError as error:
            return self._all_unreached(entries, str(error)[:500])
        await self._record(entries, there, access)
        found = {alias: await self._settled(target, entries[alias], there.get(alias, Found())) for alias in entries}
        left = {alias: status for alias, status in found.items() if status is not None}
        if any(status.state == CONNECTED for status in left.values()):
            left = await self._connections(target, left)
        return left

    async def _record(
        self, entries: dict[str, Entry], there: dict[str, Found], access: RemoteAccessStatus | None
    ) -> None:
        """Write the addresses that are about to be set into the status; raises ApiError."""
        known = self._reporter.known
        fresh: Known = {}
        for alias, entry in entries.items():
            found = there.get(alias, Found())
            if entry.wanted is not None and decide(entry.wanted, self._address(alias), found) is Do.RECORD:
                text = f"the members connect to {entry.place}"
                address = entry.wanted.address
                fresh[alias] = self._waiting(alias, entry.place, "RemoteClusterConnecting", text, address=address)
        if fresh:
            await self._reporter.report({**known, **fresh}, access)

    async def _settled(self, target: Target, entry: Entry, there: Found) -> RemoteClusterStatus | None:
        """Take the steps of one alias; returns its status, None if nothing is left of it. Raises LostLease."""
        alias, wanted, do = entry.alias, entry.wanted, decide(entry.wanted, self._address(entry.alias), there)
        if do in (Do.SET, Do.CLEAR):
            work = partial(requests.settle, alias, wanted, self._address(alias))
            try:
                do, there = await self._ask(target, work)
            except EngineError as error:
                refused = isinstance(error, RefusedError) and error.lasting
                return self._refused(entry, str(error)[:500]) if refused else self._unreached(entry, str(error)[:500])
        if do is Do.CONFLICT:
            return self._conflict(entry, there)
        if do is Do.CLEAR:
            return self._cleared(entry)
        if do is Do.FORGET or wanted is None:
            return self._forgotten(entry, there)
        # Whether it is connected is asked for next.
        return RemoteClusterStatus(name=alias, state=CONNECTED, cluster=entry.place, address=wanted.address)

    async def _connections(self, target: Target, found: Known) -> Known:
        """Return the statuses with what the members report about their connections; raises LostLease."""
        alive, said = dict[str, bool](), dict[str, str]()
        for endpoint in target.endpoints[:MOST_ASKED]:
            asked = [alias for alias, status in found.items() if status.state == CONNECTED and not alive.get(alias)]
            if not asked:
                break
            try:
                said |= await self._ask(replace(target, endpoints=(endpoint,)), partial(_awake, asked, alive))
            except EngineError as error:
                said |= dict.fromkeys(asked, str(error))
        return {alias: self._connected(status, alive, said) for alias, status in found.items()}

    def _connected(
        self, status: RemoteClusterStatus, alive: dict[str, bool], said: dict[str, str]
    ) -> RemoteClusterStatus:
        if status.state != CONNECTED or alive.get(status.name):
            return self._dated(status)
        why = said.get(status.name, "")
        text = f"the members do not reach {status.cluster} yet{f': {why[:400]}' if why else ''}"
        return self._dated(replace(status, state=WAITING, reason="RemoteClusterConnecting", message=text))

    def _conflict(self, entry: Entry, there: Found) -> RemoteClusterStatus:
        found = ", ".join(f"{key} {value}" for key, value in sorted(there.settings.items())[:5])
        text = f"the database has settings cluster.remote.{entry.alias} that the operator did not make ({found[:300]})"
        return self._waiting(entry.alias, entry.place, "RemoteClusterConflict", text, address="")

    def _cleared(self, entry: Entry) -> RemoteClusterStatus:
        """Return the status after a removal: it keeps the address until a read shows that the settings are gone."""
        reason, message = entry.standing.reason, entry.standing.message
        if not reason:
            reason, message = "RemoteClusterConnecting", "the earlier address is removed first"
        return self._waiting(entry.alias, entry.place, reason, message)

    def _forgotten(self, entry: Entry, there: Found) -> RemoteClusterStatus | None:
        """Return the status of an alias of which the operator has nothing in the database."""
        if entry.standing.reason != "RemoteClusterRemoving":
            return self._waiting(entry.alias, entry.place, entry.standing.reason, entry.standing.message, address="")
        if not there.nothing and self._address(entry.alias):
            self._reporter.left(entry.alias)
        return None

    def _refused(self, entry: Entry, text: str) -> RemoteClusterStatus:
        return self._waiting(
            entry.alias, entry.place, "RemoteClusterRefused", f"the database refuses a request: {text}"
        )

    def _all_unreached(self, entries: dict[str, Entry], text: str) -> Known:
        found = {alias: self._unreached(entry, text) for alias, entry in entries.items()}
        return {alias: status for alias, status in found.items() if status is not None}

    def _unreached(self, entry: Entry, text: str) -> RemoteClusterStatus | None:
        """Return the status while the database does not answer; None if the operator has never set anything in it."""
        if entry.standing.reason and not self._address(entry.alias):
            return self._forgotten(entry, Found())
        return self._waiting(entry.alias, entry.place, "RemoteClusterWaitForDatabase", text)

    def _waiting(
        self, alias: str, place: str, reason: str, message: str, *, address: str | None = None
    ) -> RemoteClusterStatus:
        """Return the status of an alias that waits; the recorded address stays unless another one is given."""
        asked = any(entry.name == alias for entry in self._live.spec.remote_clusters or ())
        kept = self._address(alias) if address is None else address
        fresh = RemoteClusterStatus(name=alias, state=WAITING if asked else REMOVING, cluster=place, address=kept)
        return self._dated(replace(fresh, reason=reason, message=message))

    def _dated(self, status: RemoteClusterStatus) -> RemoteClusterStatus:
        return dated(self._reporter.known.get(status.name), status, self._now)

    def _address(self, alias: str) -> str:
        """Return the address in the status: what the operator has set, or is about to set."""
        known = self._reporter.known.get(alias)
        return known.address if known is not None else ""

    async def _ask(self, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        return await self._tools.databases.ask(self._live.kind, target, work)


async def _awake(aliases: list[str], alive: dict[str, bool], session: Session) -> dict[str, str]:
    """Note the aliases to which a node is connected, after it was woken; returns the complaints about the others."""
    alive |= {alias: True for alias, is_up in (await requests.connected(session)).items() if is_up}
    said: dict[str, str] = {}
    for alias in aliases:
        if not alive.get(alias):
            said[alias] = await requests.wake(session, alias)
    if said:
        alive |= {alias: True for alias, is_up in (await requests.connected(session)).items() if is_up}
    return said
