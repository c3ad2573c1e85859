"""Keeps the exporter's user and role in a secured database, and their credentials in a Secret that no pod mounts.

A user is in the Secret before the database has it. The next user is made while the previous one still works, and that
one is deleted once no pod uses it. A user or role of others is left alone, and said.
"""

import secrets as random_secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import structs

from stateward.api.kinds.access.metrics import SearchMetrics
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import lifetime_seconds
from stateward.api.values.base import Json
from stateward.api.values.duration import stored_time
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.identity import EXPORTER, EXPORTER_USERS
from stateward.engines.search.exporter import credentials as c
from stateward.engines.search.exporter.objects import keys_secret
from stateward.kube.client.client import Api
from stateward.operator.beside.owned import StopError
from stateward.operator.beside.stored_secret import StoredSecret

BYTES = 32
"""Random bytes of a password."""
MISSING = 404
DENIED = 401
T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What the credentials of one cluster's exporter are made from; `ask` runs requests to its database."""

    api: Api
    cluster: SearchCluster
    metadata: Json
    """Metadata of the exporter's objects."""
    target: Target
    ask: Callable[[Target, Callable[[Session], Awaitable[Any]]], Awaitable[Any]]
    now: float


class CredentialKeeper:
    """The credentials of one cluster's exporter, for one round."""

    def __init__(self, context: Context) -> None:
        self._of = context
        self._owner = f"{context.cluster.metadata.namespace}/{context.cluster.metadata.name}"
        self._requests = c.requests_of(context.cluster)
        metadata = {**context.metadata, "name": keys_secret(context.cluster)}
        self._stored = StoredSecret(context.api, context.cluster.metadata, metadata)

    async def keep(self, asked: SearchMetrics, *, doubt: bool) -> Access | None:
        """Return the exporter's access, with what was missing or due made again; None without security.

        With `doubt`, the login is tried, because the exporter reports that it cannot read. Raises StopError,
        TakenError, EngineError, ApiError.
        """
        access = self._of.target.access
        if access is None:
            return None
        await self._stored.read()
        await self._stored.date_back(c.MADE, self._of.now)
        texts = self._stored.texts
        await self._keep_role()
        # Someone may have edited the Secret: a user of another name would stay in the database, or be one of others.
        known = texts.get(c.USER) in EXPORTER_USERS and texts.get(c.PASSWORD)
        if not texts.get(c.NEXT_USER) and (not known or self._due(asked)):
            coming = {c.NEXT_USER: c.next_user(texts), c.NEXT_PASSWORD: random_secrets.token_urlsafe(BYTES)}
            await self._stored.write({**texts, **coming})
        if name := self._stored.texts.get(c.NEXT_USER):
            await self._next(name)
        else:
            await self._keep_user(access, doubt=doubt)
        texts = self._stored.texts
        return Access(access.name, access.trusted, user=texts[c.USER], password=texts[c.PASSWORD])

    async def retire(self) -> None:
        """Delete the user before the present one, once no pod uses it any more; raises EngineError, ApiError."""
        old = self._stored.texts.get(c.OLD_USER, "")
        if not old:
            return
        if old in EXPORTER_USERS and old != self._stored.texts.get(c.USER):
            await self._delete_user(old)
        await self._stored.write({name: text for name, text in self._stored.texts.items() if name != c.OLD_USER})

    async def clear(self) -> None:
        """Remove users and role from the database; raises TakenError, EngineError, ApiError."""
        await self._stored.read()
        if self._of.target.access is None:
            return
        for name in EXPORTER_USERS:
            await self._delete_user(name)
        path = self._requests.role_path
        role = await self._get(path, EXPORTER)
        if role is not None and self._requests.is_our_role(role, self._owner):
            await self._ask(lambda session: session.command("DELETE", path))

    def _due(self, asked: SearchMetrics) -> bool:
        """Return whether the user is as old as it may become, or of unknown age."""
        made = stored_time(self._stored.texts.get(c.MADE, ""))
        try:
            after = lifetime_seconds(asked.rotate_credentials_after) if asked.rotate_credentials_after else None
        except ValueError:
            return False
        return after is not None and (made is None or self._of.now >= made + after)

    async def _next(self, name: str) -> None:
        """Make the user that the Secret announces, and use it from now on."""
        texts = self._stored.texts
        password = texts.get(c.NEXT_PASSWORD) or random_secrets.token_urlsafe(BYTES)
        if texts.get(c.NEXT_PASSWORD) != password or name not in EXPORTER_USERS:  # Someone has edited the Secret.
            name = name if name in EXPORTER_USERS else c.next_user(texts)
            await self._stored.write({**texts, c.NEXT_USER: name, c.NEXT_PASSWORD: password})
        await self._find_user(name)
        await self._write_user(name, password)
        kept = {key: text for key, text in texts.items() if key not in (c.NEXT_USER, c.NEXT_PASSWORD)}
        other = next(each for each in EXPORTER_USERS if each != name)
        fresh = {c.USER: name, c.PASSWORD: password, c.MADE: str(int(self._of.now)), c.OLD_USER: other}
        await self._stored.write({**kept, **fresh})

    async def _keep_user(self, access: Access, *, doubt: bool) -> None:
        name, password = self._stored.texts[c.USER], self._stored.texts[c.PASSWORD]
        user = await self._find_user(name)
        own = Access(access.name, access.trusted, user=name, password=password)
        if user is None or not self._requests.has_role(user) or (doubt and not await self._logs_in(own)):
            await self._write_user(name, password)

    async def _keep_role(self) -> None:
        path = self._requests.role_path
        role = await self._get(path, EXPORTER)
        if role is not None and not self._requests.is_our_role(role, self._owner):
            raise StopError("MetricsUserTaken", f"the database has a role {EXPORTER} that the operator did not make")
        if role is None or not self._requests.allows(role, self._owner):
            body = self._requests.role(self._owner)
            await self._ask(lambda session: session.command("PUT", path, body=body))

    async def _find_user(self, name: str) -> Json | None:
        """Return a user of the cluster's exporter; raises StopError if it is one of others."""
        user = await self._get(self._requests.user_path(name), name)
        if user is not None and not self._requests.is_our_user(user, self._owner):
            raise StopError("MetricsUserTaken", f"the database has a user {name} that the operator did not make")
        return user

    async def _write_user(self, name: str, password: str) -> None:
        path, body = self._requests.user_path(name), self._requests.user(password, self._owner)
        await self._ask(lambda session: session.command("PUT", path, body=body))

    async def _delete_user(self, name: str) -> None:
        path = self._requests.user_path(name)
        user = await self._get(path, name)
        if user is not None and self._requests.is_our_user(user, self._owner):
            await self._ask(lambda session: session.command("DELETE", path))

    async def _get(self, path: str, name: str) -> Json | None:
        try:
            found = await self._ask(lambda session: session.get(dict[str, Json], path))
        except RefusedError as error:
            if error.status == MISSING:
                return None
            raise
        return found.get(name)

    async def _logs_in(self, own: Access) -> bool:
        """Return whether the database takes the password; another answer than a denial leaves it as it is."""
        try:
            await self._of.ask(structs.replace(self._of.target, access=own), _nothing)
        except RefusedError as error:
            return error.status != DENIED
        return True

    async def _ask(self, work: Callable[[Session], Awaitable[T]]) -> T:
        return await self._of.ask(self._of.target, work)


async def _nothing(_: Session) -> None:
    """Do nothing in a session: to be let in is all that is asked."""
