"""Questions of the API server, and answers in its format."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import msgspec

from stateward.api.values.base import Json
from stateward.api.values.problem import MOST_PROBLEMS, in_short, printable, short
from stateward.kube.client.depth import LEVELS, TOO_DEEP, deeper, shallow
from stateward.kube.objects.metadata import WireRecord
from stateward.operator.admission.judge import Verdict

_THREAD = ThreadPoolExecutor(1, "too-deep")
"""Looks at questions that are nested too deeply, one after the other.

The disaster this prevents: anyone who reaches the port sends 8 MiB of brackets, which take ten seconds, and meanwhile
the operator does nothing else and loses its lease.
"""
_ABOVE = 2
"""Levels of a question above the objects that it is about."""


class Kind(WireRecord):
    """What a question is about."""

    kind: str = ""


class Request(WireRecord):
    """A request of the API server; without an object on deletion, without an old object on creation."""

    uid: str = ""
    kind: Kind = Kind()
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class Review(WireRecord):
    """The request as it is sent."""

    request: Request = Request()


def review(uid: str, verdict: Verdict) -> Json:
    """Return a verdict as the API server reads it."""
    response: Json = {"uid": uid, "allowed": not verdict.refused}
    if verdict.refused:
        response["status"] = {"code": 422, "reason": "Invalid", "message": printable(in_short(verdict.refused))}
    if verdict.warnings:
        # The API server cuts warnings off after 256 characters, in the middle of a word.
        response["warnings"] = [short(printable(text), 253) for text in verdict.warnings[:MOST_PROBLEMS]]
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def uid_of(question: bytes) -> str:
    """Return the number of a question, however little else of it can be read."""
    try:
        return msgspec.json.decode(question, type=Review).request.uid
    except RecursionError:
        return uid_of(shallow(question)[0])
    except msgspec.DecodeError:
        return ""


async def too_deep(question: bytes) -> Json:
    """Return the answer to a question that is nested too deeply to be read, while all else goes on."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, _without_depth, question)


def _without_depth(question: bytes) -> Json:
    """Return the refusal of an object that nothing here could read once it was stored.

    One that is stored as deep as that can be changed: what corrects it must come in, and what takes its finalizers off.
    """
    # The stored object cannot be read from the request directly. The rest of it is at the last level there.
    try:
        asked = msgspec.json.decode(shallow(question)[0], type=Review).request
    except msgspec.DecodeError:
        asked = Request()
    stored = deeper(bytes(asked.old_object), LEVELS - _ABOVE - 1)
    return review(asked.uid, Verdict() if stored else Verdict((TOO_DEEP,)))
