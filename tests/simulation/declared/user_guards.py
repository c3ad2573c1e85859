# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""How each guard of declared users is removed: one function of the product is replaced by one that does not guard."""

from dataclasses import replace
from typing import Any

import pytest

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import Claim
from stateward.api.kinds.search_user import UserStatus
from stateward.engines.search.declared import users as names
from stateward.engines.search.declared.users import Rotation
from stateward.kube.events.event_record import Severity
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.secret_content import text_content
from stateward.operator.declared import connection, users
from stateward.operator.declared.connection import ConnectionSecret
from stateward.operator.declared.users import UserReconciliation


def overlapped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(users, "lifetime_seconds", lambda _: 0.0)


def taken_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(names, "_is_new", lambda *_: True)


def in_the_secret(patch: pytest.MonkeyPatch) -> None:
    async def password(_: UserReconciliation, secret: ConnectionSecret, username: str) -> Any:
        return secret.password_of(username) or connection.new_password(), secret

    patch.setattr(UserReconciliation, "_password", password)


def in_the_database(patch: pytest.MonkeyPatch) -> None:
    """Give applications a user before the database has it."""
    original = UserReconciliation._write_user

    async def write(self: UserReconciliation, target: Any, username: str, password: str) -> None:
        cluster = self.tools.databases.cluster(self.kind, self.where)
        assert cluster is not None
        secret = await connection.read_secret(self.tools.api, self.live)
        await self._publish(cluster, secret, username, password)
        await original(self, target, username, password)

    patch.setattr(UserReconciliation, "_write_user", write)


def recorded(patch: pytest.MonkeyPatch) -> None:
    """Forget a user that was made and is not in the status as given to applications."""
    original = names.rotation

    def rotation(user: Any, now: float, times: Any, published: str) -> Rotation:
        found = original(user, now, times, published)
        known = user.status.username
        return replace(found, current=known) if found.current in times and known in times else found

    patch.setattr(users, "rotation", rotation)


def kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UserReconciliation, "leaves_something", lambda self: bool(self.live.status.users))


def removed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UserReconciliation, "leaves_something", lambda _: False)


def claimed(patch: pytest.MonkeyPatch) -> None:
    """Delete the user of a resource also if it was never written for it."""

    async def clear(self: UserReconciliation, target: Any) -> Any:
        for name in sorted(names.claims(self.live)):
            await self._delete(target, UserStatus(name=name.removeprefix("user/"), claim=Claim.OWNED))
        return None

    patch.setattr(UserReconciliation, "clear", clear)
    patch.setattr(
        UserReconciliation, "leaves_something", lambda self: self.live.spec.deletion_policy is Retention.DELETE
    )


def retired(patch: pytest.MonkeyPatch) -> None:
    original = names.rotation
    patch.setattr(users, "rotation", lambda *given: replace(original(*given), retired=()))


def secret_of_others(patch: pytest.MonkeyPatch) -> None:
    async def read(api: Any, user: Any) -> ConnectionSecret:
        key = Key(user.metadata.namespace, connection.secret_name(user))
        try:
            found = await api.get(connection.RAW, key)
        except NotFound:
            return ConnectionSecret(key, {})
        return ConnectionSecret(key, text_content(found), found["metadata"]["resourceVersion"])

    patch.setattr(users, "read_secret", read)


def secrecy(patch: pytest.MonkeyPatch) -> None:
    original = UserReconciliation._publish

    async def publish(self: UserReconciliation, cluster: Any, secret: Any, username: str, password: str) -> None:
        await original(self, cluster, secret, username, password)
        self.tell(Severity.NORMAL, "Published", f"{username}:{password}")

    patch.setattr(UserReconciliation, "_publish", publish)


def followed(patch: pytest.MonkeyPatch) -> None:
    original, known = users.text_of, dict[Key, str]()

    async def text(api: Any, source: Key, *rest: Any) -> str:
        if source not in known:
            known[source] = await original(api, source, *rest)
        return known[source]

    patch.setattr(users, "text_of", text)
