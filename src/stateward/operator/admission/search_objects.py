"""Decides whether a declared object may be stored, from its spec alone: the database judges its body later."""

import msgspec
import structlog

from stateward.api.kinds.search_object import SearchObject
from stateward.api.values.base import Json
from stateward.engines.search.declared.identity import problems
from stateward.kube.objects.metadata import WireRecord
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.reviews import review, too_deep, uid_of

_log = structlog.get_logger(__name__)


class _Request(WireRecord):
    uid: str = ""
    object: SearchObject | None = None
    old_object: SearchObject | None = None


class _Review(WireRecord):
    request: _Request = _Request()


def respond(question: bytes) -> Json:
    """Return the answer to a request; an unreadable one is accepted, with a warning in the log."""
    try:
        asked = msgspec.json.decode(question, type=_Review).request
    except msgspec.DecodeError as error:
        _log.warning("a request of the API server cannot be read", error=str(error))
        return review(uid_of(question), Verdict())
    except RecursionError:
        return too_deep(question)
    return review(asked.uid, verdict(asked.object, asked.old_object))


def verdict(new: SearchObject | None, old: SearchObject | None) -> Verdict:
    """Return the verdict on a new or changed object; one that is deleted or keeps its spec is accepted."""
    if new is None or new.metadata.deletion_timestamp is not None or (old is not None and old.spec == new.spec):
        return Verdict()
    return Verdict(tuple(str(problem) for problem in problems(new.spec)))
