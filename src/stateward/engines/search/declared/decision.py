"""What to do about one declared object, from its desired and observed state. Pure.

Nothing is written that has not been claimed in the status before, and nothing is deleted that was not claimed as owned.
So a lost answer, a crash and a second operator lead to the same write again, and never to a foreign object.
"""

from dataclasses import dataclass
from enum import Enum
from typing import cast

from stateward.api.kinds.search_object import Claim, Drift, Existing
from stateward.api.values.base import Json
from stateward.engines.search.declared.aliases import moved_to, rolled_on, writes_end
from stateward.engines.search.declared.desired import (
    Desired,
    Observed,
    difference,
    differing,
    owner_of,
    protection,
    stored,
    unwritten,
)
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.writes import Request, fixed, removal, reset, settled, write


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
class Decision:
    """What to do, why, and for a write, and only then, the request, the claim after it, and the drift that it ends."""

    do: Do
    reason: str = ""
    message: str = ""
    request: Request | None = None
    claim: str = ""
    drift: str = ""
    stored: str = ""
    """For a claim after which nothing counts as written: the digest of what the database stores now.

    Before cluster settings are reset, that of those surely set.
    """


def decide(desired: Desired, observed: Observed, stored_digest: str, sure_digest: str = "") -> Decision:
    """Return what to do about an object that is wanted.

    `stored_digest` is of what the database stores now, `sure_digest` of the cluster settings that are surely set.
    """
    if (unclear := doubt(observed.versions)) is not None:
        return unclear
    body = stored(desired, observed)
    if (flag := protection(body)) is not None:
        return Decision(Do.STOP, "Protected", f"{desired.what.label} is {flag}: it belongs to the database")
    if (ended := _alias(desired, observed, body, stored_digest)) is not None:
        return ended
    desired = rolled_on(desired, observed)
    if not desired.memory.claim:
        return Decision(Do.CLAIM, claim=Claim.CREATING) if body is None else _unclaimed(desired, body)
    if body is not None and (ended := _theirs(desired, body) or _taken_over(desired, body, stored_digest)) is not None:
        return ended
    before = _before_reset(desired, body, sure_digest, desired.given_up(frozenset()))
    return before or _claimed(desired, observed, body, stored_digest)


def _taken_over(desired: Desired, body: object, stored_digest: str) -> Decision | None:
    """Return what comes before the body replaces an object that was merged into; None if it does not do so."""
    if not desired.takes_over:
        return None
    return _unchangeable(desired, body) or Decision(Do.CLAIM, claim=Claim.ADOPTING, stored=stored_digest)


def _alias(desired: Desired, observed: Observed, body: object | None, stored_digest: str) -> Decision | None:
    """Return why an alias stays as it is on all its indices; None if nothing speaks against a write."""
    rolled = rolled_on(desired, observed)
    agrees = bool(desired.memory.claim) and body is not None and _agrees(rolled, body, stored_digest)
    place = moved_to(desired, observed) if desired.memory.applied == desired.digest else ""
    if place and (body is None or agrees):
        message = f"a rollover has moved it on to {place}, where it stays"
        return Decision(Do.NOTHING, message=message, claim=_written_claim(desired))
    if agrees or not (index := writes_end(rolled, observed)):
        return None
    message = (
        f"{index} takes the writes through the alias, and would not take them with this second index; set"
        " is_write_index in the body, to false if this index is for searches only"
    )
    return Decision(Do.STOP, "WriteIndexLost", message)


def _claimed(desired: Desired, observed: Observed, body: object | None, stored_digest: str) -> Decision:
    """Return what to do about an object that the status claims, and that no other client has made."""
    if body is not None and _agrees(desired, body, stored_digest):
        return Decision(Do.NOTHING, claim=_written_claim(desired))
    if not desired.settings <= desired.memory.settings:
        return Decision(Do.CLAIM, claim=desired.memory.claim)
    drift = _drift(desired, body)
    if drift and desired.drift is Drift.REPORT:
        return Decision(Do.STOP, "Drifted", drift, drift=drift)
    if body is not None and (stuck := _unchangeable(desired, body)) is not None:
        return stuck
    if body is not None and settled(desired, body):
        return Decision(Do.NOTHING, claim=_written_claim(desired))
    return Decision(Do.SEND, request=write(desired, observed), claim=_written_claim(desired), drift=drift)


def remove(desired: Desired, observed: Observed, sure_digest: str = "") -> Decision:
    """Return what to do about an object whose resource is deleted: NOTHING lets the resource go.

    `sure_digest` is of what the database stores now of the cluster settings that are surely set.
    """
    body, claim = stored(desired, observed), desired.memory.claim
    if desired.retain or claim in ("", Claim.MERGED) or body is None or protection(body) is not None:
        return Decision(Do.NOTHING)
    if (unclear := doubt(observed.versions)) is not None:
        return unclear
    if desired.what.kind.write is Write.SETTINGS:
        return _reset(desired, observed, cast("Json", body), sure_digest)
    if claim != Claim.OWNED and difference(desired, body) is not None:
        owner = owner_of(desired, body)
        if owner and owner != desired.owner:
            return Decision(Do.NOTHING)  # Another resource has made it since the claim.
        if not owner:
            message = f"{desired.what.label} exists, and it is not known whether this resource wrote it: delete it"
            return Decision(Do.STOP, "OwnerUnknown", f"{message} in the database if it did")
    return _removed(desired, observed)


def _reset(desired: Desired, observed: Observed, body: Json, sure_digest: str) -> Decision:
    """Return what to do about cluster settings whose resource is deleted."""
    doubtful = differing(desired, body, unwritten(desired, body))
    if doubtful and desired.existing is Existing.REFUSE:
        return _owner_unknown(doubtful)
    if not desired.memory.settings & body.keys():
        return Decision(Do.NOTHING)
    sure = desired.surely_set.memory.settings
    return _before_reset(desired, body, sure_digest, sure) or _removed(desired, observed)


def _before_reset(desired: Desired, body: object | None, sure_digest: str, settings: frozenset[str]) -> Decision | None:
    """Return what comes before the reset of settings that are surely set; None if nothing does.

    The disaster this prevents: the answer to a reset is lost, another client sets the setting, and the reset is
    repeated. So what is stored is recorded before, and a repetition resets only what is still the same.
    """
    going = sorted(settings & cast("Json", body or {}).keys()) if settings else []
    if going and desired.memory.applied:
        return Decision(Do.CLAIM, claim=desired.memory.claim, stored=sure_digest)
    changed = desired.memory.stored != sure_digest and desired.existing is Existing.REFUSE
    return _owner_unknown(going) if going and changed else None


def give_up(desired: Desired, observed: Observed, stored_digest: str, settings: frozenset[str]) -> Decision:
    """Return what to do about settings that a resource gives up while it waits; NOTHING if they have their defaults.

    `stored_digest` is of what the database stores now of all settings that the resource has surely set. Only if it is
    as after the last write, the values are still the resource's: the answer to an earlier reset may have been lost.
    """
    if (unclear := doubt(observed.versions)) is not None:
        return unclear
    there = sorted(settings & cast("Json", stored(desired, observed) or {}).keys())
    if there and desired.memory.stored != stored_digest:
        return Decision(Do.STOP, "Drifted", f"{', '.join(there)} stays set: another client may have changed it")
    if desired.memory.applied:  # Without a record before the reset, the same body as before would count as applied.
        return Decision(Do.CLAIM, claim=desired.memory.claim)
    return Decision(Do.SEND, request=reset(desired, there)) if there else Decision(Do.NOTHING)


def _removed(desired: Desired, observed: Observed) -> Decision:
    return Decision(Do.SEND, request=removal(desired, observed))


def _owner_unknown(settings: list[str]) -> Decision:
    message = (
        f"{', '.join(settings)} is set, and it is not known whether this resource set it: reset it in the database"
    )
    return Decision(Do.STOP, "OwnerUnknown", f"{message} if it did, or set spec.existing to Adopt")


def doubt(versions: frozenset[str]) -> Decision | None:
    """Return why nothing is written now, from the versions of all nodes; None if nothing is in the way."""
    if not versions:
        return Decision(Do.WAIT, "VersionsUnknown", "not all nodes of the database told their version")
    if len(versions) > 1:
        all_of_them = " and ".join(sorted(versions))
        message = f"nodes run {all_of_them}: what one version writes may not be readable for the other"
        return Decision(Do.WAIT, "MixedVersions", message)
    return None


def _agrees(desired: Desired, body: object, stored_digest: str) -> bool:
    """Return whether the object was written as it is declared now, and still is what the database stored then."""
    known = desired.memory
    same = known.stored == stored_digest or difference(desired, body) is None
    return known.applied == desired.digest and same


def _drift(desired: Desired, body: object | None) -> str:
    """Return what another client has changed, in a sentence; empty if the write is the first one, or for an edit."""
    if desired.memory.applied != desired.digest:
        return ""
    return (
        "another client has deleted it"
        if body is None
        else f"another client has changed {difference(desired, body) or 'it'}"
    )


def _unclaimed(desired: Desired, body: object) -> Decision:
    owner = owner_of(desired, body)
    if owner == desired.owner:  # The status was lost: the resource was deleted and created again, or restored.
        return Decision(Do.CLAIM, claim=Claim.ADOPTING)
    if desired.existing is Existing.REFUSE:
        return _refused(desired, owner)
    if (stuck := _unchangeable(desired, body)) is not None:
        return stuck
    return Decision(Do.CLAIM, claim=Claim.MERGED if desired.existing is Existing.MERGE else Claim.ADOPTING)


def _unchangeable(desired: Desired, body: object) -> Decision | None:
    """Return why the database cannot make a stored object as it is declared; None if it can."""
    if not (fields := fixed(desired, body)):
        return None
    message = (
        f"the database cannot change {', '.join(fields)} of {desired.what.label} once it exists; to replace it, delete"
        " it in the database, and the operator creates it again"
    )
    return Decision(Do.STOP, "CannotChange", message)


def _theirs(desired: Desired, body: object) -> Decision | None:
    """Return why a claimed object is not written, because others have or may have made it; None if nothing is."""
    if (owner := _foreign(desired, body)) is not None:
        return _refused(desired, owner)
    if desired.what.kind.write is not Write.SETTINGS or desired.existing is not Existing.REFUSE:
        return None
    dropped = [key for key in unwritten(desired, cast("Json", body)) if key not in desired.settings]
    return _owner_unknown(dropped) if dropped else None


def _foreign(desired: Desired, body: object) -> str | None:
    """Return the owner of what others have made since the claim, empty if unknown; None if nothing is foreign."""
    if desired.existing is not Existing.REFUSE:
        return None
    if desired.what.kind.write is Write.SETTINGS:
        found = cast("Json", body)
        fresh = found.keys() & (desired.settings - desired.memory.settings) | {*unwritten(desired, found)}
        return "" if differing(desired, found, fresh & desired.settings) else None
    # A claim to adopt that was not written yet ends with the consent: someone may have taken it back.
    if desired.memory.claim not in (Claim.CREATING, Claim.ADOPTING) or difference(desired, body) is None:
        return None
    owner = owner_of(desired, body)
    return None if owner == desired.owner else owner


def _refused(desired: Desired, owner: str) -> Decision:
    by = f", made by {owner}" if owner else ""
    message = (
        f"{desired.what.label} exists in the database already{by}; set spec.existing to Adopt (the body replaces it)"
        " or Merge (the fields of the body are written into it)"
    )
    return Decision(Do.STOP, "Exists", message)


def _written_claim(desired: Desired) -> str:
    return Claim.MERGED if desired.memory.claim == Claim.MERGED else Claim.OWNED
