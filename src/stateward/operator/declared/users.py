"""One reconciliation of one user: its password, the user in the database, the Secret for applications, rotations."""

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster, Retention
from stateward.api.kinds.search_object import SecretValue
from stateward.api.kinds.search_user import SearchUser, SearchUserStatus, UserStatus
from stateward.engines.connection.base import EngineError, Target
from stateward.engines.search.declared.comparison import canonical
from stateward.engines.search.declared.decision import Do
from stateward.engines.search.declared.users import (
    Turn,
    base_name,
    body,
    lifetime,
    problems,
    retiring,
    turn,
    wish,
    with_user,
)
from stateward.kube.events.event_record import Severity
from stateward.operator.declared.connection import (
    ConnectionSecret,
    TakenError,
    authority,
    connection,
    new_password,
    prepared,
    read_secret,
    secret_name,
    write_secret,
)
from stateward.operator.declared.database import clear, settle
from stateward.operator.declared.reconcile import CLAIMS
from stateward.operator.declared.reporting import APPLIED, Outcome, Stage
from stateward.operator.declared.resource import RESYNC_SECONDS, Reconciliation, StopError, Tools, failed
from stateward.operator.declared.values import NoValueError, text_of
from stateward.operator.declared.views import BY_CLUSTER, cluster_id
from stateward.planning.model.times import parse_time, rfc3339


class UserReconciliation(Reconciliation[SearchUser]):
    """One reconciliation of one user."""

    def __init__(self, tools: Tools[SearchUser], live: SearchUser) -> None:
        super().__init__(tools, live)
        self.live: SearchUser = live

    def check(self) -> None:
        """Raise StopError with all problems of the spec, or if another resource declares the same user."""
        wrong = list(problems(self.live))
        if wrong:
            text = "; ".join(each.public for each in wrong)
            raise StopError(Outcome(Stage.STALLED, "InvalidSpec", text, RESYNC_SECONDS))
        name = base_name(self.live)
        for other in self.tools.objects.indexed(BY_CLUSTER, cluster_id(self.live)):
            if base_name(other) == name and _older(other, self.live):
                message = f"the user {name} is declared by the SearchUser {other.metadata.name} already"
                raise StopError(Outcome(Stage.STALLED, "Conflict", f"{message}; delete one of them"))

    def leaves_something(self) -> bool:
        """Return whether users in the database are to be deleted with the resource."""
        return bool(self.live.status.users) and self.live.spec.deletion_policy is Retention.DELETE

    async def settle(self, target: Target) -> Outcome:
        """Write the user and the Secret, and rotate; raises StopError, EngineError, ApiError, LostLease."""
        cluster = self.tools.databases.cluster(self.kind, self.where)
        if cluster is None or target.access is None:
            message = "users need a secured cluster: set spec.security.enabled of the cluster"
            return Outcome(Stage.STALLED, "NotSecured", message)
        if self.live.status.users and self.live.status.cluster_uuid != target.identity:
            self.keep(SearchUserStatus(conditions=self.live.status.conditions))
        await self.hold()
        try:
            secret = await read_secret(self.tools.api, self.live)
            now = turn(self.live, self.now(), self._times())
            password, secret = await self._password(secret, now.current)
            outcome = await self._written(target, now.current, password)
        except TakenError as error:
            return Outcome(Stage.STALLED, "SecretTaken", f"spec.connectionSecretName: {error}; choose another name")
        except NoValueError as error:
            return Outcome(Stage.STALLED, error.reason, error.message)
        if outcome is not None:
            return outcome
        await self._publish(cluster, secret, now, password)
        return await self._retire(target, now)

    async def clear(self, target: Target) -> Outcome | None:
        """Delete all users of the resource in the database; raises EngineError, LostLease."""
        if self.live.status.cluster_uuid != target.identity:
            return None  # The database that had the users is gone.
        for known in self.live.status.users:
            outcome = await self._deleted(target, known)
            if outcome is not None:
                return outcome
        return None

    def _times(self) -> dict[str, tuple[float | None, float | None]]:
        users = self.live.status.users
        return {each.name: (parse_time(each.start_time), parse_time(each.retirement_time)) for each in users}

    def _known(self, name: str) -> UserStatus:
        return next((each for each in self.live.status.users if each.name == name), UserStatus(name=name))

    async def _password(self, secret: ConnectionSecret, username: str) -> tuple[str, ConnectionSecret]:
        """Return the password of a user, and the Secret; a new one is in the Secret before the database has it."""
        given = self.live.spec.password
        if given.secret_name is not None:
            value = SecretValue(secret_name=given.secret_name, key=given.key, path="/password")
            meta = self.live.metadata
            password = await text_of(self.tools.api, meta.namespace, self.where.name, value, "spec.password")
            return password, secret
        if password := secret.password_of(username):
            return password, secret
        password = new_password()
        return password, await write_secret(self.tools.api, self.live, secret, prepared(secret, username, password))

    async def _written(self, target: Target, username: str, password: str) -> Outcome | None:
        """Write the user into the database; return why that is not done, or None."""
        digest = self.tools.key.digest(canonical(body(self.live.spec, password)))
        try:
            for _ in range(CLAIMS):
                known = self._known(username)
                asked = wish(self.live, known, password, digest)
                found = await self.tools.databases.ask(
                    self.kind, target, lambda session, asked=asked: settle(session, self.tools.key, asked)
                )
                decision = found.decision
                if decision.do is Do.CLAIM:
                    self._remember(replace(known, claim=decision.claim), target)
                    await self.write(self.live.status, Outcome(Stage.WORKING, decision.claim, "the user is written"))
                    continue
                if decision.do is Do.STOP:
                    return Outcome(Stage.STALLED, decision.reason, decision.message, RESYNC_SECONDS / 5)
                if decision.do is Do.WAIT:
                    return Outcome(Stage.WORKING, decision.reason, decision.message)
                sent = decision.do is Do.SEND
                stored = found.stored if sent else known.stored
                self._remember(replace(known, claim=decision.claim, applied=digest, stored=stored), target)
                if sent:
                    note = (
                        f"{decision.drift}; it is written again" if decision.drift else f"{username} is in the database"
                    )
                    severity = Severity.WARNING if decision.drift else Severity.NORMAL
                    self.tell(severity, "DriftCorrected" if decision.drift else APPLIED, note)
                return None
        except EngineError as error:
            return failed(error, (password,))
        return Outcome(Stage.WORKING, "Changing", "another client creates and deletes the user")

    def _remember(self, known: UserStatus, target: Target) -> None:
        users = with_user(self.live.status.users, known)
        self.keep(replace(self.live.status, users=users, cluster_uuid=target.identity))

    async def _publish(self, cluster: Cluster, secret: ConnectionSecret, now: Turn, password: str) -> None:
        """Give applications the user that the database has; raises ApiError."""
        ca = await authority(self.tools.api, cluster)
        texts = connection(cluster, ca, now.current, password)
        await write_secret(self.tools.api, self.live, secret, texts)
        known, moment = self._known(now.current), self.now()
        if not known.start_time:
            known = replace(known, start_time=rfc3339(moment), retirement_time="")
        overlap = lifetime(self.live.spec.password.overlap)
        users = retiring(with_user(self.live.status.users, known), now.current, rfc3339(moment + overlap))
        rotation = now.rotation
        if rotation is None and self.live.spec.password.rotate_after is not None:
            rotation = (parse_time(known.start_time) or moment) + lifetime(self.live.spec.password.rotate_after)
        self.keep(
            replace(
                self.live.status,
                username=now.current,
                connection_secret_name=secret_name(self.live),
                rotation_time=rfc3339(rotation) if rotation is not None else "",
                users=users,
            )
        )

    async def _retire(self, target: Target, now: Turn) -> Outcome:
        """Delete users whose overlap has ended; raises EngineError, LostLease."""
        for name in now.retired:
            outcome = await self._deleted(target, self._known(name))
            if outcome is not None:
                return outcome
            self.tell(Severity.NORMAL, "UserRetired", f"the previous user {name} is deleted")
        ends = (end for _, end in self._times().values())
        ahead = [time for time in (parse_time(self.live.status.rotation_time), *ends) if time is not None]
        until = min((max(time - self.now(), 1.0) for time in ahead), default=RESYNC_SECONDS)
        return Outcome(Stage.READY, APPLIED, "", min(until, RESYNC_SECONDS))

    async def _deleted(self, target: Target, known: UserStatus) -> Outcome | None:
        """Delete one user in the database; return why it is still there, or None."""
        asked = wish(self.live, known, "", known.applied)
        decision = await self.tools.databases.ask(self.kind, target, lambda session: clear(session, asked))
        if decision.do is not Do.NOTHING:
            return Outcome(Stage.WORKING, decision.reason, decision.message)
        users = [each for each in self.live.status.users if each.name != known.name]
        self.keep(replace(self.live.status, users=users))
        return None


def _older(other: SearchUser, mine: SearchUser) -> bool:
    """Return whether another resource has the user first: the one that owns it, then the older one."""

    def order(user: SearchUser) -> tuple[bool, str, str]:
        return not user.status.users, user.metadata.creation_timestamp or "", user.metadata.uid

    if other.metadata.uid == mine.metadata.uid or other.metadata.deletion_timestamp is not None:
        return False
    return order(other) < order(mine)
