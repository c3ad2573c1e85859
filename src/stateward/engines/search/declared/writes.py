"""The requests that create, change and remove an object. Each has the same effect if it is sent again. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from stateward.api.kinds.search_object import Claim
from stateward.api.values.base import Json
from stateward.engines.search.declared.comparison import merged
from stateward.engines.search.declared.desired import Desired, Observed, stored
from stateward.engines.search.declared.identity import settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import placed, without
from stateward.engines.search.declared.updates import update


@dataclass(frozen=True)
class Request:
    """One request to the database."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json | None = None


def write(desired: Desired, observed: Observed) -> Request:
    """Return the request that makes the object as it is declared."""
    what, kind = desired.what, desired.what.kind
    match kind.write:
        case Write.ALIAS:
            action = {**desired.sent, "index": what.names["index"], "alias": what.name}
            return Request("POST", "/_aliases", body={"actions": [{"add": action}]})
        case Write.SETTINGS:
            left = dict.fromkeys(desired.memory.settings - desired.settings)
            return Request("PUT", kind.path, body={"persistent": {**left, **settings_of(desired.sent)}})
        case _ if stored(desired, observed) is None:
            method = "POST" if kind.write is Write.POST_NUMBERED else "PUT"
            return Request(method, what.filled(kind.path), {**kind.creates, **kind.always}, _sent(desired))
        case Write.UPDATE:
            return Request(
                "POST", f"{what.filled(kind.path)}/_update", kind.always, update(_sent(desired), desired, observed)
            )
        case _:
            numbered = kind.write in (Write.NUMBERED, Write.POST_NUMBERED)
            params = {**kind.always, **(observed.number if numbered else {})}
            return Request("PUT", what.filled(kind.path), params, _changed(desired, observed))


def removal(desired: Desired) -> Request:
    """Return the request that removes the object, or gives the claimed settings their defaults."""
    what = desired.what
    match what.kind.write:
        case Write.ALIAS:
            action = {"index": what.names["index"], "alias": what.name, "must_exist": False}
            return Request("POST", "/_aliases", body={"actions": [{"remove": action}]})
        case Write.SETTINGS:
            return Request("PUT", what.kind.path, body={"persistent": dict.fromkeys(sorted(desired.memory.settings))})
        case _:
            return Request("DELETE", what.filled(what.kind.path))


def _sent(desired: Desired) -> Json:
    """Return the body with the note about the owner, where it has a place and the object is the resource's alone."""
    if not desired.note or desired.memory.claim == Claim.MERGED:
        return desired.sent
    return placed(desired.sent, desired.note, desired.owner)


def _changed(desired: Desired, observed: Observed) -> Json:
    if desired.memory.claim != Claim.MERGED:
        return _sent(desired)
    base = stored(desired, observed)
    for pointer in desired.what.kind.volatile:
        base = without(base, pointer)
    return cast("Json", merged(base, desired.sent))
