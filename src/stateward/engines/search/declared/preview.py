"""What a declared object would change in the database, from one read: the same decision that the operator makes."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from stateward.api.kinds.search_object import Claim
from stateward.engines.search.declared.comparison import contains, normal
from stateward.engines.search.declared.decision import Actual, Do, Wish, decide, stored
from stateward.engines.search.declared.pointers import without

MOST = 200
"""Changes that are shown."""


class FieldChange(Struct, frozen=True):
    """A place in the body, what is stored there and what is declared; null where there is nothing."""

    path: str
    before: Any = None
    after: Any = None


class ObjectPreview(Struct, frozen=True):
    """What would happen to one object: `does` is create, replace, merge, change, nothing, wait or refuse."""

    object: str
    does: str
    reason: str = ""
    message: str = ""
    changes: tuple[FieldChange, ...] = ()

    @property
    def goes_through(self) -> bool:
        """Whether it would be in the database as declared."""
        return self.does not in ("wait", "refuse")


_CLAIMS = {Claim.CREATING: "create", Claim.ADOPTING: "replace", Claim.MERGED: "merge"}
_OTHERS = {Do.NOTHING: "nothing", Do.STOP: "refuse", Do.WAIT: "wait", Do.SEND: "change"}


def preview(wish: Wish, actual: Actual, stored_digest: str) -> ObjectPreview:
    """Return what would happen to an object, with what is declared and differs; values of Secrets are left out."""
    decision = decide(wish, actual, stored_digest)
    does = _OTHERS.get(decision.do) or _CLAIMS.get(Claim(decision.claim), "change")
    if does == "change" and actual.answer is None:
        does = "create"
    found = () if does == "nothing" else tuple(differences(wish, actual))
    return ObjectPreview(wish.what.label, does, decision.reason, decision.message, found)


def differences(wish: Wish, actual: Actual) -> list[FieldChange]:
    """Return where the stored object differs from what is declared."""
    declared, body = normal(wish.what, wish.spec.body), normal(wish.what, stored(wish, actual) or {})
    for value in wish.spec.values or ():
        declared, body = without(declared, value.path), without(body, value.path)
    return list(_changes(body, declared, ""))[:MOST]


def _changes(stored: object, wanted: object, at: str) -> Iterator[FieldChange]:
    if isinstance(wanted, Mapping) and isinstance(stored, Mapping):
        fields = cast("Mapping[str, object]", stored)
        for key, value in cast("Mapping[str, object]", wanted).items():
            yield from _changes(fields.get(key), value, f"{at}/{key}")
    elif contains(stored, cast("object", wanted)) is not None:
        yield FieldChange(at or "/", stored, wanted)
