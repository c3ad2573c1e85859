"""Decides whether a declared object or user may be stored, from its spec alone: the database judges it later."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.search_user import SearchUser
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.engines.search.declared import identity, users
from stateward.kube.objects.metadata import WireRecord
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.reviews import review, too_deep, uid_of

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Rules:
    """How objects of one kind are read, and what is wrong with one."""

    record: type[Any]
    problems: Callable[[Any], Iterable[Problem]]


def _object_problems(found: SearchObject) -> Iterable[Problem]:
    return identity.problems(found.spec)


RULES: Mapping[str, Rules] = {
    SearchObject.__name__: Rules(SearchObject, _object_problems),
    SearchUser.__name__: Rules(SearchUser, users.problems),
}


class _Kind(WireRecord):
    kind: str = ""


class _Request(WireRecord):
    uid: str = ""
    kind: _Kind = _Kind()
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(WireRecord):
    request: _Request = _Request()


def respond(question: bytes) -> Json:
    """Return the answer to a request; an unreadable one is accepted, with a warning in the log."""
    try:
        asked = msgspec.json.decode(question, type=_Review).request
        rules = RULES[asked.kind.kind]
        new = msgspec.json.decode(asked.object, type=rules.record | None)
        old = msgspec.json.decode(asked.old_object, type=rules.record | None)
    except (msgspec.DecodeError, KeyError) as error:
        _log.warning("a request of the API server cannot be read", error=str(error))
        return review(uid_of(question), Verdict())
    except RecursionError:
        return too_deep(question)
    return review(asked.uid, verdict(rules, new, old))


def verdict(rules: Rules, new: Any, old: Any) -> Verdict:
    """Return the verdict on a new or changed object; one that is deleted or keeps its spec is accepted."""
    if new is None or new.metadata.deletion_timestamp is not None or (old is not None and old.spec == new.spec):
        return Verdict()
    return Verdict(tuple(str(problem) for problem in rules.problems(new)))
