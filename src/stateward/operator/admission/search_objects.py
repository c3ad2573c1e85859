"""Decides whether a declared object or user may be stored, from its spec alone: the database judges it later."""

from typing import Any

import msgspec
import structlog

from stateward.api.values.base import Json
from stateward.engines.search.rules import DECLARED_RULES, DeclaredRules
from stateward.operator.admission.additions import Reasons, added, of_problem, texts, written_alike
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.reviews import Review, review, too_deep, uid_of

_log = structlog.get_logger(__name__)

SPEC = "spec"
"""The one check."""


async def respond(question: bytes) -> Json:
    """Return the answer to a request; an unreadable one is accepted, with a warning in the log."""
    try:
        asked = msgspec.json.decode(question, type=Review).request
        rules = DECLARED_RULES[asked.kind.kind]
        new = msgspec.json.decode(asked.object, type=rules.record | None)
        old = msgspec.json.decode(asked.old_object, type=rules.record | None)
    except (msgspec.DecodeError, KeyError) as error:
        _log.warning("a request of the API server cannot be read", error=str(error))
        return review(uid_of(question), Verdict())
    except RecursionError:
        return await too_deep(question)
    return review(asked.uid, verdict(rules, new, old))


def verdict(rules: DeclaredRules, new: Any, old: Any) -> Verdict:
    """Return the verdict on a new or changed object: on what the change adds.

    One that is deleted or keeps its spec is accepted.
    """
    if (
        new is None
        or new.metadata.deletion_timestamp is not None
        or (old is not None and written_alike(old.spec, new.spec))
    ):
        return Verdict()
    found = _reasons(rules, new)
    return Verdict(texts(found.found) if old is None or not found.found else added(found, _reasons(rules, old)))


def _reasons(rules: DeclaredRules, wanted: Any) -> Reasons:
    return Reasons(tuple(of_problem(each, SPEC) for each in rules.problems(wanted)), frozenset({SPEC}))
