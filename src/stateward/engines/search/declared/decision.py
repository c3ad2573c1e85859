"""What to do about one declared object, from the resource and from what the database has stored. Pure.

Nothing is written that has not been claimed in the status before, and nothing is deleted that was not claimed as owned.
So a lost answer, a crash and a second operator lead to the same write again, and never to a foreign object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import cast

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import Claim, Drift, Existing, SearchObjectSpec, SearchObjectStatus
from stateward.api.values.base import GROUP, Json
from stateward.engines.search.declared.comparison import contains, deviation, merged, normal, stored_body
from stateward.engines.search.declared.identity import Declared, settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import found, placed, without

MARK = f"{GROUP}/search-object"
"""Key of the note in an object: namespace and name of the resource that owns it."""
PROTECTED = ("reserved", "hidden", "static")
"""Flags of objects that come with the security plugin."""


@dataclass(frozen=True)
class Actual:
    """What the database answered; `answer` is None if it has no such object."""

    answer: object | None
    versions: frozenset[str]
    """The versions of all nodes; empty if a node did not tell."""

    @property
    def number(self) -> Mapping[str, str]:
        """The parameters that name the version that was read, for databases that number them."""
        fields = cast("Json", self.answer) if isinstance(self.answer, Mapping) else {}
        names = {"if_seq_no": "_seq_no", "if_primary_term": "_primary_term"}
        return {name: str(fields[key]) for name, key in names.items() if key in fields}


@dataclass(frozen=True)
class Wish:
    """What a resource asks for: `sent` is the body with the values of Secrets, `digest` the keyed digest of it."""

    what: Declared
    spec: SearchObjectSpec
    status: SearchObjectStatus
    sent: Json
    digest: str
    owner: str
    """Namespace and name of the resource."""


class Do(Enum):
    """The kinds of decisions."""

    NOTHING = "nothing"
    CLAIM = "claim"
    """Write the claim into the status, and decide again."""
    SEND = "send"
    STOP = "stop"
    """A person is needed."""
    WAIT = "wait"


@dataclass(frozen=True)
class Request:
    """One request to the database; it has the same effect if it is sent again."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json | None = None


@dataclass(frozen=True)
class Decision:
    """What to do, why, and for a write the request, the claim after it, and what another client had changed."""

    do: Do
    reason: str = ""
    message: str = ""
    request: Request | None = None
    claim: str = ""
    drift: str = ""


def decide(wish: Wish, actual: Actual, stored_digest: str) -> Decision:
    """Return what to do about an object that is wanted; `stored_digest` is of what is stored now, in normal form."""
    if (unclear := doubt(actual)) is not None:
        return unclear
    body = stored(wish, actual)
    if body is None:
        return _absent(wish)
    if (protected := protection(body)) is not None:
        return Decision(Do.STOP, "Protected", f"{wish.what.label} is {protected}: it belongs to the database")
    return _present(wish, actual, body, stored_digest) if wish.status.claim else _unclaimed(wish, body)


def _present(wish: Wish, actual: Actual, body: object, stored_digest: str) -> Decision:
    """Return what to do about an object that exists and is claimed."""
    status, place = wish.status, difference(wish, body)
    if wish.spec.existing is Existing.REFUSE and (owner := _foreign(wish, body, place)) is not None:
        return _refused(wish, owner)
    if status.applied == wish.digest and (place is None or status.stored == stored_digest):
        return Decision(Do.NOTHING, claim=_kept(status.claim))
    if _unclaimed_settings(wish):
        return Decision(Do.CLAIM, claim=status.claim)
    edited = status.applied != wish.digest
    drift = "" if edited or not status.applied else f"another client has changed {place or 'it'}"
    return _written(wish, actual, drift)


def doubt(actual: Actual) -> Decision | None:
    """Return why nothing is written now, whatever the object is; None if nothing is in the way."""
    if not actual.versions:
        return Decision(Do.WAIT, "VersionsUnknown", "not all nodes of the database told their version")
    if len(actual.versions) > 1:
        versions = " and ".join(sorted(actual.versions))
        message = f"nodes run {versions}: an object that one version writes may not be readable for the other"
        return Decision(Do.WAIT, "MixedVersions", message)
    return None


def remove(wish: Wish, actual: Actual) -> Decision:
    """Return what to do about an object whose resource is deleted: NOTHING lets the resource go."""
    status, body = wish.status, stored(wish, actual)
    owned = status.claim in (Claim.OWNED, Claim.CREATING, Claim.ADOPTING)
    if wish.spec.deletion_policy is Retention.RETAIN or not owned or body is None:
        return Decision(Do.NOTHING)
    if (unclear := doubt(actual)) is not None:
        return unclear
    if status.claim != Claim.OWNED and difference(wish, body) is not None and marked(wish, body) != wish.owner:
        return Decision(Do.NOTHING)  # It was claimed and never written.
    if protection(body) is not None:
        return Decision(Do.NOTHING)
    if wish.what.kind.write is Write.SETTINGS and not _mine(wish, body):
        return Decision(Do.NOTHING)
    return Decision(Do.SEND, request=_removal(wish, body), message="it is deleted with its resource")


def _mine(wish: Wish, body: object) -> list[str]:
    return sorted(set(wish.status.settings or ()) & cast("Json", body).keys())


def _removal(wish: Wish, body: object) -> Request:
    what = wish.what
    match what.kind.write:
        case Write.ALIAS:
            action = {"index": what.names["index"], "alias": what.name, "must_exist": False}
            return Request("POST", "/_aliases", body={"actions": [{"remove": action}]})
        case Write.SETTINGS:
            return Request("PUT", what.kind.path, body={"persistent": dict.fromkeys(_mine(wish, body))})
        case _:
            return Request("DELETE", what.filled(what.kind.path))


def stored(wish: Wish, actual: Actual) -> object | None:
    """Return the stored object in normal form; None if there is none. Of cluster settings, those that are meant."""
    if actual.answer is None:
        return None
    body = stored_body(wish.what, actual.answer, wish.spec.body)
    if wish.what.kind.write is Write.SETTINGS:
        meant = settings_of(wish.spec.body).keys() | set(wish.status.settings or ())
        return {key: value for key, value in settings_of(cast("Json", body or {})).items() if key in meant} or None
    return None if body is None else body


def difference(wish: Wish, body: object) -> str | None:
    """Return where the stored object deviates from what is declared; values of Secrets are not compared."""
    declared, body = normal(wish.what, wish.spec.body), normal(wish.what, body)
    if wish.what.kind.mark:
        body = without(body, f"{wish.what.kind.mark}/{MARK.replace('/', '~1')}")
    for value in wish.spec.values or ():
        declared, body = without(declared, value.path), without(body, value.path)
    return deviation(wish.what, body, declared)


def protection(body: object | None) -> str | None:
    """Return the flag that protects the object from all clients; None if it has none."""
    fields = cast("Json", body) if isinstance(body, Mapping) else {}
    flag = next((flag for flag in PROTECTED if fields.get(flag) is True), None)
    metadata = fields.get("metadata")
    reserved = isinstance(metadata, Mapping) and cast("Json", metadata).get("_reserved") is True
    return "reserved" if reserved and flag is None else flag


def marked(wish: Wish, body: object) -> str:
    """Return the resource that the note in an object names; empty without a note."""
    if not wish.what.kind.mark:
        return ""
    note = next(found(body, f"{wish.what.kind.mark}/{MARK.replace('/', '~1')}"), "")
    return note if isinstance(note, str) else ""


def _absent(wish: Wish) -> Decision:
    status = wish.status
    if not status.claim:
        return Decision(Do.CLAIM, claim=Claim.CREATING)
    if _unclaimed_settings(wish):
        return Decision(Do.CLAIM, claim=status.claim)
    drift = "" if status.claim in (Claim.CREATING, Claim.ADOPTING) else "another client has deleted it"
    if drift and wish.spec.drift is Drift.REPORT and status.applied == wish.digest:
        return Decision(Do.STOP, "Drifted", drift, drift=drift)
    return Decision(Do.SEND, request=_creation(wish), claim=_kept(status.claim), drift=drift)


def _unclaimed(wish: Wish, body: object) -> Decision:
    owner = marked(wish, body)
    if owner == wish.owner:  # The status was lost: the resource was deleted and created again, or restored.
        return Decision(Do.CLAIM, claim=Claim.ADOPTING)
    if wish.spec.existing is Existing.REFUSE:
        return _refused(wish, owner)
    return Decision(Do.CLAIM, claim=Claim.MERGED if wish.spec.existing is Existing.MERGE else Claim.ADOPTING)


def _foreign(wish: Wish, body: object, place: str | None) -> str | None:
    """Return the owner of what others have created since the claim, empty if unknown; None if nothing is foreign."""
    if wish.what.kind.write is Write.SETTINGS:
        wanted = settings_of(wish.spec.body).keys() - set(wish.status.settings or ())
        new = {key: value for key, value in cast("Json", body).items() if key in wanted}
        return None if contains(settings_of(wish.spec.body), new) is None else ""
    if wish.status.claim != Claim.CREATING or place is None:
        return None
    owner = marked(wish, body)
    return None if owner == wish.owner else owner


def _unclaimed_settings(wish: Wish) -> bool:
    """Return whether settings would be written that the status does not name yet: it names them before they are set."""
    if wish.what.kind.write is not Write.SETTINGS:
        return False
    return not settings_of(wish.spec.body).keys() <= set(wish.status.settings or ())


def _refused(wish: Wish, owner: str) -> Decision:
    by = f", made by {owner}" if owner else ""
    message = (
        f"{wish.what.label} exists in the database already{by}; set spec.existing to Adopt (the body replaces it) or"
        " Merge (the fields of the body are written into it)"
    )
    return Decision(Do.STOP, "Exists", message)


def _written(wish: Wish, actual: Actual, drift: str) -> Decision:
    if drift and wish.spec.drift is Drift.REPORT:
        return Decision(Do.STOP, "Drifted", drift, drift=drift)
    request = _change(wish, actual)
    return Decision(Do.SEND, request=request, claim=_kept(wish.status.claim), drift=drift)


def _kept(claim: str) -> str:
    return Claim.MERGED if claim == Claim.MERGED else Claim.OWNED


def _sent(wish: Wish) -> Json:
    mark = wish.what.kind.mark
    if not mark or wish.status.claim == Claim.MERGED:
        return wish.sent
    return placed(wish.sent, f"{mark}/{MARK.replace('/', '~1')}", wish.owner)


def _creation(wish: Wish) -> Request:
    what, kind = wish.what, wish.what.kind
    if kind.write in (Write.ALIAS, Write.SETTINGS):
        return _special(wish)
    method = "POST" if kind.write is Write.POST_NUMBERED else "PUT"
    return Request(method, what.filled(kind.path), kind.creates, _sent(wish))


def _change(wish: Wish, actual: Actual) -> Request:
    what, kind = wish.what, wish.what.kind
    if kind.write in (Write.ALIAS, Write.SETTINGS):
        return _special(wish)
    body = _sent(wish)
    if wish.status.claim == Claim.MERGED:
        base = stored(wish, actual)
        for pointer in kind.volatile:
            base = without(base, pointer)
        body = cast("Json", merged(base, body))
    numbered = kind.write in (Write.NUMBERED, Write.POST_NUMBERED)
    return Request("PUT", what.filled(kind.path), actual.number if numbered else {}, body)


def _special(wish: Wish) -> Request:
    what = wish.what
    if what.kind.write is Write.ALIAS:
        action = {**wish.sent, "index": what.names["index"], "alias": what.name}
        return Request("POST", "/_aliases", body={"actions": [{"add": action}]})
    settings = settings_of(wish.sent)
    left = dict.fromkeys(set(wish.status.settings or ()) - settings.keys())
    return Request("PUT", what.kind.path, body={"persistent": {**left, **settings}})
