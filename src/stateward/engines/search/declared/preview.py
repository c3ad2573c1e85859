"""What a declared object would change in the database, from one read: the same decision that the operator makes."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from msgspec import Struct

from stateward.api.kinds.search_object import Claim, Existing
from stateward.api.values.base import Json
from stateward.engines.search.declared.aliases import rolled_on
from stateward.engines.search.declared.comparison import contains, empty, without_defaults
from stateward.engines.search.declared.decision import Do, decide
from stateward.engines.search.declared.desired import Desired, Observed, comparable, stored
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import Place, written

MOST = 200
"""Changes that are shown."""
NOT_SHOWN = "***"
"""What is shown in the place of the value of a Secret, and of a text whose key says that it is one."""
_SECRET_KEY = re.compile(
    r"(pass(word|wd|phrase)|secret|token|credentials?|authorization|(secret|access|private|api|exchange)key)$"
)


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


_Change = tuple[Place, object, object]
"""Where something differs, what is stored there, and what is declared."""
_UNSHOWN = "values of Secrets are not shown"
_CLAIMS = {Claim.CREATING: "create", Claim.ADOPTING: "replace", Claim.MERGED: "merge"}
_OTHERS = {Do.NOTHING: "nothing", Do.STOP: "refuse", Do.WAIT: "wait", Do.SEND: "change"}


def preview(
    desired: Desired, observed: Observed, stored_digest: str, sure_digest: str = "", *, known: bool = True
) -> ObjectPreview:
    """Return what would happen to an object, with what is declared and differs; values of Secrets are left out.

    The digests are as in `decide`; `known` is whether all places are known whose stored values came from Secrets. If
    not, no stored text is shown.
    """
    decision = decide(desired, observed, stored_digest, sure_digest)
    does = _OTHERS.get(decision.do) or _CLAIMS.get(Claim(decision.claim), "change")
    if does == "change" and desired.what.kind.write is not Write.SETTINGS and stored(desired, observed) is None:
        does = "create"
    found = () if does == "nothing" else tuple(differences(rolled_on(desired, observed), observed))
    if not known:
        found = tuple(FieldChange(change.path, _textless(change.before), change.after) for change in found)
    message = decision.message or (_UNSHOWN if does == "change" and not found and desired.hidden else "")
    return ObjectPreview(desired.what.label, does, decision.reason, message, found)


def differences(desired: Desired, observed: Observed) -> list[FieldChange]:
    """Return where the stored object differs from what is declared; with an end in null, what a write removes."""
    body, wanted = comparable(desired, stored(desired, observed) or {}), comparable(desired, desired.body)
    body, wanted = without_defaults(desired.what, body, wanted), without_defaults(desired.what, wanted, body)
    claim = desired.memory.claim
    merged = (claim == Claim.MERGED and not desired.takes_over) or (not claim and desired.existing is Existing.MERGE)
    whole = not merged and desired.what.kind.write is not Write.UPDATE
    return [_shown(*change) for change in islice(_changes(body, wanted, None, whole=whole), MOST)]


def _shown(place: Place, before: object, after: object) -> FieldChange:
    key = place[1] if place is not None else ""
    return FieldChange(written(place) or "/", _masked(key, before), _masked(key, after))


def _textless(value: Any) -> Any:
    """Return a value without any of its texts."""
    if isinstance(value, Mapping):
        return {name: _textless(inner) for name, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_textless(inner) for inner in cast("list[Any]", value)]
    return NOT_SHOWN if isinstance(value, str) else value


def _masked(key: str, value: Any) -> Any:
    """Return a value without the texts whose keys say that they are secrets."""
    if isinstance(value, Mapping):
        return {name: _masked(name, inner) for name, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_masked(key, inner) for inner in cast("list[Any]", value)]
    secret = isinstance(value, str) and _SECRET_KEY.search(re.sub("[^a-z]", "", key.lower()))
    return NOT_SHOWN if secret else value


def _changes(stored: object, wanted: object, at: Place, *, whole: bool) -> Iterator[_Change]:
    """Yield what differs; if `whole`, also what is stored and not declared, because a write removes it."""
    if isinstance(wanted, Mapping) and isinstance(stored, Mapping):
        yield from _in_fields(cast("Json", stored), cast("Json", wanted), at, whole=whole)
        return
    mine, theirs = _objects(stored), _objects(cast("object", wanted))
    if mine and len(mine) == len(theirs):
        for i, (before, after) in enumerate(zip(mine, theirs, strict=True)):
            yield from _in_fields(before, after, (at, str(i)), whole=whole)
    elif _differ(stored, cast("object", wanted), whole=whole):
        yield at, stored, wanted


def _differ(stored: object, wanted: object, *, whole: bool) -> bool:
    return contains(stored, wanted) is not None or (whole and contains(wanted, stored) is not None)


def _in_fields(stored: Json, wanted: Json, at: Place, *, whole: bool) -> Iterator[_Change]:
    for key, value in wanted.items():
        if key in stored or not empty(value):
            yield from _changes(stored.get(key), value, (at, key), whole=whole)
    for key, value in stored.items() if whole else ():
        if key not in wanted and not empty(value):
            yield (at, key), value, None


def _objects(value: object) -> list[Json]:
    """Return the items of a list of objects, which are compared one by one; nothing for any other value."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    objects = [cast("Json", item) for item in items if isinstance(item, Mapping)]
    return objects if len(objects) == len(items) else []
