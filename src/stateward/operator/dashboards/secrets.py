"""Keeps the keys, the credentials and the certificate of a cluster's dashboards, in a Secret that no pod mounts.

Keys are made once: what they encrypt is lost with them, so they stay until the cluster is deleted. A password is in the
Secret before the database has it; a token comes from the database, and one that got lost is deleted there first.
Contents are in no log, event or status.
"""

import secrets as random_secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct, structs

from stateward import pki
from stateward.api.kinds.access.dashboards import Dashboards, DashboardsTls
from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import Security, lifetime_seconds
from stateward.api.values.base import Json
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.search.configuration.security import authority_secret
from stateward.engines.search.dashboards import credentials as c
from stateward.engines.search.dashboards.frontend import dns_name, keys_secret, server_names
from stateward.engines.search.dashboards.settings import Secrets, serves_https
from stateward.engines.search.database.session import Session
from stateward.kube.client.client import Api
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.secret_content import text_content
from stateward.operator.beside.owned import StopError
from stateward.operator.beside.stored_secret import StoredSecret
from stateward.operator.objects.ownership import NotOwnedError, own_secret
from stateward.operator.security.given_secrets import GivenSecrets
from stateward.operator.security.material import DAY, lifetime, still_good
from stateward.pki.files import authority_of
from stateward.pki.given import UnusableError, given_pair

BYTES = 32
"""Random bytes of a password; keys have the same number as hexadecimal digits at least."""
MISSING = 404
DENIED = 401
T = TypeVar("T")
Ask = Callable[[Target, Callable[[Session], Awaitable[T]]], Awaitable[T]]


class TokenValue(Struct, frozen=True):
    """A token that the database has made."""

    name: str
    value: str


class TokenMade(Struct, frozen=True):
    """The answer to the creation of a token."""

    token: TokenValue


class Tokens(Struct, frozen=True):
    """The tokens of the service account, by name."""

    tokens: dict[str, Json]


class Found(Struct, frozen=True):
    """The answer to a deletion."""

    found: bool = True


@dataclass(frozen=True)
class Context:
    """What the secrets of one cluster's dashboards are made from; `ask` runs requests to its database."""

    api: Api
    cluster: SearchCluster
    metadata: Json
    """Metadata of the Secret."""
    target: Target
    ask: Callable[[Target, Callable[[Session], Awaitable[Any]]], Awaitable[Any]]
    given: GivenSecrets
    now: float


class SecretKeeper:
    """The secrets of one cluster's dashboards, for one round."""

    def __init__(self, context: Context) -> None:
        self._of = context
        self._stored = StoredSecret(
            context.api, context.cluster.metadata, {**context.metadata, "name": keys_secret(context.cluster)}
        )
        self._owner = f"{context.cluster.metadata.namespace}/{context.cluster.metadata.name}"
        self._unused: frozenset[str] = frozenset()
        """The tokens in the database that were made for these dashboards, without the present one."""

    async def keep(self, asked: Dashboards, *, doubt: bool) -> Secrets:
        """Return all secrets, with what was missing or due made again.

        With `doubt`, the login is tried, because the instances report that they are not available. Raises StopError,
        TakenError, EngineError, ApiError.
        """
        of = self._of
        await self._stored.read()
        if unreadable := sorted(self._stored.unreadable & set(c.KEYS)):
            text = (
                f"the Secret {keys_secret(of.cluster)} has what is no text in {', '.join(unreadable)}: correct it there"
            )
            raise StopError("DashboardsKeysUnreadable", text)
        if missing := {name: random_secrets.token_hex(BYTES) for name in c.KEYS if not self._stored.texts.get(name)}:
            await self._stored.write({**self._stored.texts, **missing})
        await self._stored.date_back(c.MADE, of.now)
        access = of.target.access
        if access is not None:
            due = c.Due(_seconds(asked.rotate_credentials_after), of.now)
            if product_of(of.cluster) is ELASTICSEARCH:
                await self._keep_token(due)
            else:
                await self._keep_user(access, due, doubt=doubt)
        certificate = await self._certificate(asked)
        texts = self._stored.texts
        return Secrets(
            session_key=texts[c.SESSION_KEY],
            objects_key=texts[c.OBJECTS_KEY],
            reporting_key=texts[c.REPORTING_KEY],
            trusted=access.trusted if access is not None else "",
            username=c.USER if texts.get(c.PASSWORD) and access is not None else "",
            password=texts.get(c.PASSWORD, ""),
            token=texts.get(c.TOKEN, "") if access is not None else "",
            certificate=certificate.certificate if certificate else "",
            key=certificate.key if certificate else "",
        )

    async def certificate(self, asked: Dashboards) -> str:
        """Return the certificate that the instances show now; raises StopError, ApiError."""
        name = (asked.tls or DashboardsTls()).secret_name
        if name is not None:
            return (await self._given(name)).certificate
        await self._stored.read()
        return self._stored.texts.get(c.CERTIFICATE, "")

    async def retire(self) -> None:
        """Delete the tokens before the present one, once no instance uses them any more; raises EngineError, ApiError.

        More than one is left if another one was due while no instance was available, or if the Secret was lost.
        """
        old = self._stored.texts.get(c.OLD_TOKEN, "")
        for name in sorted({old, *self._unused} - {"", self._stored.texts.get(c.TOKEN_NAME)}):
            await self._delete_token(name)
        if old:
            await self._stored.write({name: text for name, text in self._stored.texts.items() if name != c.OLD_TOKEN})

    async def clear(self) -> None:
        """Remove from the database, and then from the Secret, what logs in; the keys stay.

        Raises TakenError, EngineError, ApiError.
        """
        await self._stored.read()
        if self._stored.exists and not c.has_credentials(self._stored.texts):
            return
        if self._of.target.access is not None:
            if product_of(self._of.cluster) is ELASTICSEARCH:
                for name in await self._tokens():
                    if name.startswith(c.token_prefix(self._owner)):
                        await self._delete_token(name)
            elif (user := await self._user()) is not None and c.is_ours(user, self._owner):
                await self._ask(lambda session: session.command("DELETE", c.USER_PATH))
        if self._stored.exists:
            await self._stored.write(c.without_credentials(self._stored.texts))

    # OpenSearch.

    async def _keep_user(self, access: Access, due: c.Due, *, doubt: bool) -> None:
        user, texts = await self._user(), self._stored.texts
        if user is not None and not c.is_ours(user, self._owner):
            text = f"the database has a user {c.USER} that the operator did not make: delete it there"
            raise StopError("DashboardsUserTaken", text)
        coming, password = texts.get(c.NEXT_PASSWORD, ""), texts.get(c.PASSWORD, "")
        if not coming and (not password or due.of(texts)):
            coming = random_secrets.token_urlsafe(BYTES)
            await self._stored.write({**texts, c.NEXT_PASSWORD: coming})
        if coming:
            await self._write_user(coming)
            kept = {name: text for name, text in self._stored.texts.items() if name != c.NEXT_PASSWORD}
            await self._stored.write({**kept, c.PASSWORD: coming, c.MADE: str(int(self._of.now))})
        elif user is None or (doubt and not await self._logs_in(access, password)):
            await self._write_user(password)

    async def _user(self) -> Json | None:
        try:
            found = await self._ask(lambda session: session.get(dict[str, Json], c.USER_PATH))
        except RefusedError as error:
            if error.status == MISSING:
                return None
            raise
        return found.get(c.USER)

    async def _write_user(self, password: str) -> None:
        body = c.user_body(password, self._owner)
        await self._ask(lambda session: session.command("PUT", c.USER_PATH, body=body))

    async def _logs_in(self, access: Access, password: str) -> bool:
        """Return whether the database takes the password; another answer than a denial leaves it as it is."""
        own = Access(access.name, access.trusted, user=c.USER, password=password)
        try:
            await self._of.ask(structs.replace(self._of.target, access=own), _nothing)
        except RefusedError as error:
            return error.status != DENIED
        return True

    # Elasticsearch.

    async def _keep_token(self, due: c.Due) -> None:
        texts, there = self._stored.texts, await self._tokens()
        name = texts.get(c.TOKEN_NAME, "")
        self._unused = frozenset(each for each in there if each.startswith(c.token_prefix(self._owner))) - {name}
        if name in there and texts.get(c.TOKEN) and not due.of(texts):
            return
        coming = c.next_token(texts, self._owner)
        await self._stored.write({**texts, c.NEXT_TOKEN: coming})
        if coming in there:  # Its value was lost on the way here.
            await self._delete_token(coming)
        made = await self._ask(lambda session: session.call(TokenMade, "POST", c.token_path(coming)))
        old = {c.OLD_TOKEN: name} if name in there else {}
        kept = {key: text for key, text in texts.items() if key != c.NEXT_TOKEN}
        fresh = {c.TOKEN_NAME: coming, c.TOKEN: made.token.value, c.MADE: str(int(self._of.now))}
        await self._stored.write({**kept, **old, **fresh})

    async def _tokens(self) -> frozenset[str]:
        found = await self._ask(lambda session: session.get(Tokens, c.ACCOUNT))
        return frozenset(found.tokens)

    async def _delete_token(self, name: str) -> None:
        try:
            await self._ask(lambda session: session.command("DELETE", c.token_path(name)))
        except RefusedError as error:
            if error.status != MISSING:
                raise

    # The certificate.

    async def _certificate(self, asked: Dashboards) -> pki.Pair | None:
        """Return what the dashboards show to browsers; None if they serve no HTTPS."""
        of, tls = self._of, asked.tls or DashboardsTls()
        if not serves_https(asked, secured=of.target.access is not None):
            return None
        if tls.secret_name is not None:
            return await self._given(tls.secret_name)
        try:
            found = await own_secret(of.api, self._key(authority_secret(of.cluster)), of.cluster)
            authority = authority_of(text_content(found)) if found is not None else None
        except NotOwnedError:
            authority = None  # Its certificates are not for the author of this cluster.
        except (KeyError, ValueError):
            raise StopError("DashboardsTlsUnusable", "the Secret with the cluster's CA cannot be used") from None
        if authority is None:
            text = "spec.dashboards.tls: the cluster has no CA, so name a Secret with a certificate in tls.secretName"
            raise StopError("DashboardsTlsUnusable", text)
        texts, alternatives = self._stored.texts, server_names(of.cluster)
        kept = still_good(texts, authority, alternatives, of.now)
        if kept is not None:
            return kept
        if pki.ends(authority.signs.certificate) <= of.now:
            raise StopError("DashboardsTlsUnusable", "the cluster's CA has ended, and signs nothing more")
        days = lifetime(of.cluster.spec.security or Security()) / DAY
        made = pki.issue(authority.signs, dns_name(of.cluster), alternatives, of.now, days)
        await self._stored.write({**texts, c.CERTIFICATE: made.certificate, c.KEY: made.key})
        return made

    def _key(self, name: str) -> Key:
        return Key(self._of.cluster.metadata.namespace, name)

    async def _given(self, name: str) -> pki.Pair:
        of = self._of
        files = await of.given.read(self._key(name), of.cluster)
        try:
            return given_pair(files, of.now)
        except UnusableError as error:
            why = str(error) if files else of.given.missing(name, of.cluster)
            text = f"spec.dashboards.tls.secretName: {name} cannot be used: {why}"
            raise StopError("DashboardsTlsUnusable", text) from None

    async def _ask(self, work: Callable[[Session], Awaitable[T]]) -> T:
        return await self._of.ask(self._of.target, work)


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else float(lifetime_seconds(text))
    except ValueError:
        return None


async def _nothing(_: Session) -> None:
    """Do nothing in a session: to be let in is all that is asked."""
