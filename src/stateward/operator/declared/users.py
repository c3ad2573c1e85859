"""One reconciliation of one user: its password, the user in the database, the Secret for applications, rotations."""

import dataclasses
from collections.abc import Iterable

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster, Retention
from stateward.api.kinds.search_user import SearchUser, SearchUserStatus, UserStatus
from stateward.api.kinds.security import lifetime_seconds
from stateward.api.values.problem import Problem
from stateward.engines.connection.base import Target
from stateward.engines.search.declared.comparison import canonical
from stateward.engines.search.declared.decision import Do
from stateward.engines.search.declared.desired import Desired
from stateward.engines.search.declared.preview import ObjectPreview, preview
from stateward.engines.search.declared.requests import read
from stateward.engines.search.declared.users import (
    Rotation,
    Times,
    base_name,
    body,
    claims,
    desired,
    label,
    next_rotation,
    problems,
    retiring,
    rotation,
    with_user,
)
from stateward.kube.events.event_record import Severity
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.operator.declared.connection import (
    ConnectionSecret,
    NotAllowedError,
    NotThereError,
    TakenError,
    authority,
    connection,
    is_renamed,
    new_password,
    prepared,
    read_secret,
    secret_name,
    write_secret,
)
from stateward.operator.declared.database import digest_of
from stateward.operator.declared.record_key import renewed
from stateward.operator.declared.reporting import APPLIED, Outcome, Stage, left_over
from stateward.operator.declared.resource import RESYNC_SECONDS, Reconciliation, StopError
from stateward.operator.declared.tools import Tools
from stateward.operator.declared.values import NoValueError, text_of
from stateward.planning.model.times import parse_time, rfc3339

NOT_SECURED = Outcome(
    Stage.STALLED, "NotSecured", "users need a secured cluster: set spec.security.enabled of the cluster"
)


class UserReconciliation(Reconciliation[SearchUser]):
    """One reconciliation of one user."""

    def __init__(self, tools: Tools[SearchUser], live: SearchUser) -> None:
        super().__init__(tools, live)
        self.live: SearchUser = live
        self._kept = ""
        """Why applications get the same certificates as before; empty if they get the current ones."""

    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec."""
        return problems(self.live)

    def claims(self, resource: SearchUser) -> frozenset[str]:
        """Return the names in the database that a resource has, or may have."""
        return claims(resource)

    def owns(self, resource: SearchUser) -> bool:
        """Return whether a resource has claimed a user in the database."""
        return bool(resource.status.users)

    def has(self, resource: SearchUser, claim: str) -> bool:
        """Return whether a resource has claimed this user."""
        return claim in {label(each.name) for each in resource.status.users}

    def leaves_something(self) -> bool:
        """Return whether users in the database are to be deleted with the resource."""
        return self.owns(self.live) and self.live.spec.deletion_policy is Retention.DELETE

    async def settle(self, target: Target) -> Outcome:
        """Write the user and the Secret, and rotate; raises StopError, EngineError, ApiError, LostLease."""
        cluster = self.tools.databases.cluster(self.kind, self.where)
        if cluster is None or target.access is None:
            return NOT_SECURED
        self._forget_others(target)
        await self.hold()
        try:
            secret = await self._read_secret()
            now = self._rotation(secret)
            password, secret = await self._password(secret, now.current)
        except (TakenError, NoValueError) as error:
            return _unusable(error)
        await self._write_user(target, now.current, password)
        await self._publish(cluster, secret, now.current, password)
        return await self._retire(target, now.retired)

    async def preview(self, before: object) -> ObjectPreview:  # noqa: ARG002 - nothing of it is hidden
        """Return what would change of the user, but for its password. Raises ApiError."""

        async def look(target: Target) -> ObjectPreview:
            if target.access is None:
                raise StopError(NOT_SECURED)
            self._forget_others(target)
            name, password = await self._known_password()
            wanted = self._desired(name, password)
            observed = await self.tools.databases.ask(self.kind, target, lambda session: read(session, wanted.what))
            return preview(wanted, observed, digest_of(self.key, wanted, observed))

        return await self.previewed(label(base_name(self.live)), look)

    async def _known_password(self) -> tuple[str, str]:
        """Return the current user and the password that it has or gets, empty if it is made later.

        Raises StopError, ApiError.
        """
        given = self.live.spec.password
        try:
            secret = await read_secret(self.tools.api, self.live)
            name = self._rotation(secret).current
            if given.secret_name is None:
                return name, secret.password_of(name)
            return name, await self._given(given.secret_name)
        except (TakenError, NoValueError) as error:
            raise StopError(_unusable(error)) from error

    async def clear(self, target: Target) -> Outcome | None:
        """Delete all users of the resource in the database; raises EngineError, LostLease."""
        if self.live.status.cluster_uuid != target.identity:
            return None  # The database that had the users is gone.
        for known in self.live.status.users:
            if (outcome := await self._delete(target, known)) is not None:
                return outcome
        return None

    def _forget_others(self, target: Target) -> None:
        """Drop what the status has of another database."""
        if self.live.status.users and self.live.status.cluster_uuid != target.identity:
            self.keep(SearchUserStatus(conditions=self.live.status.conditions))

    def _rotation(self, secret: ConnectionSecret) -> Rotation:
        return rotation(self.live, self.now(), self._times(), secret.texts.get("username", ""))

    def _times(self) -> Times:
        users = self.live.status.users
        return {each.name: (parse_time(each.start_time), parse_time(each.retirement_time)) for each in users}

    def _known(self, name: str) -> UserStatus:
        return next((each for each in self.live.status.users if each.name == name), UserStatus(name=name))

    def _desired(self, username: str, password: str) -> Desired:
        known = self._known(username)
        digest = self.key.digest(canonical(body(self.live.spec, password)), known.applied)
        return desired(self.live, known, password, digest)

    async def _read_secret(self) -> ConnectionSecret:
        """Return the connection Secret; one of another name gets the content of the earlier one, and then counts.

        Both are written before anything is decided from it: a rotation in the same reconciliation is written into it
        alone, and must not be lost with a status that is not written. Raises TakenError, ApiError.
        """
        secret = await read_secret(self.tools.api, self.live)
        if secret.moved:
            secret = await write_secret(self.tools.api, self.live, secret, secret.texts)
        if is_renamed(self.live):
            await self.store(replace(self.live.status, connection_secret_name=secret.key.name))
        return secret

    async def _password(self, secret: ConnectionSecret, username: str) -> tuple[str, ConnectionSecret]:
        """Return the password of a user, and the Secret; a new one is in the Secret before the database has it."""
        given = self.live.spec.password
        if given.secret_name is not None:
            return await self._given(given.secret_name), secret
        if password := secret.password_of(username):
            return password, secret
        password = new_password()
        return password, await write_secret(self.tools.api, self.live, secret, prepared(secret, username, password))

    async def _given(self, name: str) -> str:
        """Return the password of a given Secret; raises NoValueError, ApiError.

        The disaster this prevents: the database keeps the password of before when it gets none, and applications are
        given the empty one.
        """
        source, key = ObjectKey(self.live.metadata.namespace, name), self.live.spec.password.key
        if password := await text_of(self.tools.api, source, key, self.where.name, "spec.password"):
            return password
        raise NoValueError("SecretEmpty", f"spec.password: the key {key} of the Secret {name} is empty")

    async def _write_user(self, target: Target, username: str, password: str) -> None:
        """Write the user into the database; raises StopError with the reason why that is not done."""
        written = await self.applied(
            target,
            lambda: self._desired(username, password),
            lambda decision: self._remember(replace(self._known(username), claim=decision.claim), target),
            (password,),
        )
        known = self._known(username)
        sent, digest = written.decision.do is Do.SEND, self.key.digest(canonical(body(self.live.spec, password)))
        stored = written.stored if sent else renewed(known.stored, written.stored)
        self._remember(replace(known, claim=written.decision.claim, applied=digest, stored=stored), target)

    def _remember(self, known: UserStatus, target: Target) -> None:
        users = with_user(self.live.status.users, known)
        self.keep(replace(self.live.status, users=users, cluster_uuid=target.identity))

    async def _publish(self, cluster: Cluster, secret: ConnectionSecret, username: str, password: str) -> None:
        """Give applications the user that the database has; raises StopError, ApiError."""
        ca = await self._authority(cluster, secret)
        await write_secret(self.tools.api, self.live, secret, connection(cluster, ca, username, password))
        known, now = self._known(username), self.now()
        if not known.start_time:
            known = replace(known, start_time=rfc3339(now))
        users = with_user(self.live.status.users, known)
        end = rfc3339(now + lifetime_seconds(self.live.spec.password.overlap))
        due = next_rotation(self.live, parse_time(known.start_time))
        self.keep(
            replace(
                self.live.status,
                username=username,
                connection_secret_name=secret_name(self.live),
                rotation_time=rfc3339(due) if due is not None else "",
                users=retiring(users, username, end),
            )
        )

    async def _authority(self, cluster: Cluster, secret: ConnectionSecret) -> str:
        """Return the certificates that clients trust; those in the Secret if others do not exist or may not be read.

        Raises StopError if there are none either and may not be, ApiError.
        """
        known = secret.texts.get("ca.crt", "")
        try:
            return await authority(self.tools.api, cluster, labelled=self.tools.labelled)
        except NotThereError as error:
            self._kept = f"ca.crt {'stays as it was' if known else 'is empty'}: {error}"
        except NotAllowedError as error:
            if not known:
                raise StopError(Outcome(Stage.STALLED, "SecretNotAllowed", str(error))) from error
            self._kept = f"ca.crt stays as it was: {error}"
        return known

    async def _retire(self, target: Target, retired: tuple[str, ...]) -> Outcome:
        """Delete users whose overlap has ended; raises EngineError, LostLease."""
        for name in retired:
            if (outcome := await self._delete(target, self._known(name))) is not None:
                return outcome
            self.tell(Severity.NORMAL, "UserRetired", f"the previous user {name} is deleted")
        ends, now = (end for _, end in self._times().values()), self.now()
        ahead = [time for time in (parse_time(self.live.status.rotation_time), *ends) if time is not None]
        # A rotation that is due waits for the end of the user that is in its way.
        until = 1.0 if retired else min((max(time - now, 1.0) for time in ahead if time > now), default=RESYNC_SECONDS)
        return Outcome(Stage.READY, APPLIED, self.doubled() or self._kept, min(until, RESYNC_SECONDS))

    async def _delete(self, target: Target, known: UserStatus) -> Outcome | None:
        """Delete one user in the database; return why it is still there, or None.

        Also with `deletionPolicy: Retain`, which is about the current user and the deletion of the resource.
        """
        gone = dataclasses.replace(desired(self.live, known, "", known.applied), retain=False)
        outcome = left_over(await self.cleared(target, gone))
        if outcome is None:
            users = [each for each in self.live.status.users if each.name != known.name]
            self.keep(replace(self.live.status, users=users))
        return outcome


def _unusable(error: TakenError | NoValueError) -> Outcome:
    """Return why there is no password."""
    if isinstance(error, NoValueError):
        return Outcome(Stage.STALLED, error.reason, error.message)
    return Outcome(Stage.STALLED, "SecretTaken", f"spec.connectionSecretName: {error}; choose another name")
