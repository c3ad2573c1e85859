"""Whether an application can log in with what it has read in the connection Secret of a SearchUser.

Each user and password that the operator publishes is a promise: the database keeps them while the Secret names them,
and for the overlap after that. Letter r of docs/properties.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from stateward.api.values.base import Json
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.world.declared_objects import USER_ROOTS
from stateward.simulation.world.world import World

PRECISION = 1.0
"""Seconds by which an overlap may be shorter: times in a status are whole seconds."""


@dataclass(slots=True)
class Promise:
    """A user and a password that an application may use until a moment."""

    uid: str
    """Of the SearchUser."""
    password: str
    until: float = inf


class Logins:
    """The promises of a world, by the identity of the database and the path of the user."""

    def __init__(self, world: World, violated: Callable[[str, str], None]) -> None:
        self._world = world
        self._violated = violated
        self._promises: dict[tuple[str, str], Promise] = {}
        self._sent: dict[tuple[str, str], str] = {}
        """The password that the operator has given to each user last."""

    def untouched(self, cluster: Cluster, path: str) -> bool:
        """Return whether a user has the password that the operator gave it last; no client can read it."""
        given = self._sent.get((cluster.identity, path))
        return given is not None and cluster.objects.passwords.get(path) == given

    def given(self, cluster: Cluster, path: str) -> str | None:
        """Return the password that the operator gave a user last; None if it gave none."""
        return self._sent.get((cluster.identity, path))

    # What the operator does.

    def before(self, cluster: Cluster) -> None:
        """Forget, right before a request of the operator, what another client has broken, and what has ended."""
        for place, promise in list(self._promises.items()):
            others = place[0] == cluster.identity and cluster.objects.passwords.get(place[1]) != promise.password
            if others or promise.until < self._world.now:
                del self._promises[place]

    def after(self, cluster: Cluster, path: str, body: Json | None, uid: str) -> None:
        """Note a request that changed a user, or removed it (None), and check that it broke no promise.

        `uid` is that of the SearchUser for which it was made: another one may adopt a user, with another password.
        """
        if body is None:
            self._sent.pop((cluster.identity, path), None)
        elif "password" in body:
            self._sent[cluster.identity, path] = body["password"]
        promise = self._promises.get((cluster.identity, path))
        if promise is not None and cluster.objects.passwords.get(path) != promise.password:
            left = "" if promise.until == inf else f", {promise.until - self._world.now:.0f} s before the overlap ends"
            done = "is deleted" if body is None else "has another password"
            if promise.uid == uid:
                self._violated("r", f"{path} {done}, and applications log in with it{left}")
            del self._promises[cluster.identity, path]

    def published(self, uid: str, texts: Mapping[str, str], overlap: float, *, given: str) -> None:
        """Note what the operator has written into a connection Secret, and check that the database has it.

        `given` is the user whose password comes from a Secret of people, and may change at any moment; empty if there
        is none.
        """
        name, password = texts.get("username", ""), texts.get("password", "")
        database = self._world.database()
        if not name or not password or database is None:
            return
        self._world.context.trace(f"applications are given {name}")
        path = f"{USER_ROOTS[self._world.product.engine]}{name}"
        made = {cluster.identity for cluster in self._world.formed() if self.given(cluster, path) == password}
        if not made:
            self._violated("r", f"the connection Secret names {name} with a password that the database does not have")
        for place, promise in self._promises.items():
            if promise.uid == uid and place[1] != path:
                promise.until = min(promise.until, self._earliest_end(overlap))
        if database.identity in made and name != given:
            self._promises[database.identity, path] = Promise(uid, password)
            self._world.context.count("declared: connection published")

    def _earliest_end(self, overlap: float) -> float:
        """Return when an overlap that begins now may end: another operator, with another clock, may end it."""
        return self._world.now + overlap - PRECISION - 2 * self._world.clock_error

    # What people do.

    def overlap_is(self, uid: str, overlap: float) -> None:
        """Note the overlap that a person asks for: one that is shortened while it lasts ends earlier."""
        for promise in self._promises.values():
            if promise.uid == uid and promise.until != inf:
                promise.until = min(promise.until, self._earliest_end(overlap))

    def withdrawn(self, uid: str) -> None:
        """Forget what applications have now: a person has changed or deleted the connection Secret."""
        self._drop(lambda _, promise: promise.uid == uid and promise.until == inf)

    def follows(self, uid: str, path: str) -> None:
        """Forget a user whose password comes from a Secret of people from now on."""
        self._drop(lambda place, promise: promise.uid == uid and place == path)

    def ended(self, uid: str) -> None:
        """Forget all users of a resource that is being deleted."""
        self._drop(lambda _, promise: promise.uid == uid)

    def _drop(self, which: Callable[[str, Promise], bool]) -> None:
        self._promises = {place: each for place, each in self._promises.items() if not which(place[1], each)}
