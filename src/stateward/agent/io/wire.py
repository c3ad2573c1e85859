"""The part of HTTP/1.1 that the agent supports: one request per connection, strictly parsed."""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

HEAD_LIMIT = 8 * 1024
BODY_LIMIT = 4 * 1024
_REQUEST = re.compile(rb"([A-Z]{1,16}) (/[!-~]{0,1023}) HTTP/1\.[01]")
# One quantifier for the value: several that match white space would take hours for a header of it.
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):([\t -~\x80-\xff]*)")
_FIELDS = 64
_SHOWN = 100  # characters of a value that an answer repeats
_REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class RefusedError(Exception):
    """A refused request, with the status and the message."""

    def __init__(self, status: int, reason: str, **more: object) -> None:
        super().__init__(reason)
        self.status = status
        self.more = more


class Head(NamedTuple):
    """The request line and the fields, names in lower case."""

    method: str
    path: str
    fields: Mapping[str, bytes]


class Answer(NamedTuple):
    """A status, a JSON document, and a follow-up action once the answer is sent."""

    status: int
    document: Mapping[str, object]
    fields: tuple[str, ...] = ()
    after: Callable[[], None] | None = None


def parse_head(data: bytes) -> Head:
    """Parse everything before the empty line. Raise `RefusedError`.

    It refuses everything that two programs could read differently: a repeated field, a folded line, a chunked body.
    """
    first, *lines = data.split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None:
        raise RefusedError(400, "this is not an HTTP/1.1 request line")
    if len(lines) > _FIELDS:
        raise RefusedError(431, f"more than {_FIELDS} header fields")
    fields: dict[str, bytes] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        name = field[1].decode("ascii").lower() if field else ""
        if field is None or name in fields:
            raise RefusedError(400, "a header field is malformed or given twice")
        fields[name] = field[2].strip(b" \t")
    if "transfer-encoding" in fields:
        raise RefusedError(400, "only bodies with a Content-Length are read")
    return Head(request[1].decode("ascii"), request[2].decode("ascii"), fields)


def body_length(head: Head) -> int:
    """Return the length of the body in bytes. Raise `RefusedError`."""
    text = head.fields.get("content-length", b"0")
    if not re.fullmatch(rb"[0-9]{1,18}", text):
        raise RefusedError(400, "Content-Length is not a number")
    if int(text) > BODY_LIMIT:
        raise RefusedError(413, f"the body has {int(text)} bytes; at most {BODY_LIMIT} are read")
    return int(text)


def parse_body(body: bytes, allowed: frozenset[str]) -> dict[str, str]:
    """Return the strings of a JSON object; no body counts as an empty object. Raise `RefusedError`."""
    if not body:
        return {}
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, "the body is not JSON") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "the body is not a JSON object")
    found: dict[str, str] = {}
    for name, value in cast("dict[str, object]", document).items():
        if name not in allowed:
            accepted = ", ".join(sorted(allowed)) or "no field at all"
            raise RefusedError(400, f"{_shown(name)} is not a field of this body; accepted are: {accepted}")
        if not isinstance(value, str) or not value.isprintable():
            what = "a string of printable characters (no control characters, no lone surrogates)"
            raise RefusedError(400, f"{name}: {_shown(value)} is not {what}")
        found[name] = value
    return found


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def format_answer(answer: Answer) -> bytes:
    """Return the encoded answer."""
    body = json.dumps(answer.document).encode() + b"\n"
    lines = [
        f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *answer.fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def refusal(error: RefusedError) -> Answer:
    """Return the answer to a request that was refused."""
    return Answer(error.status, {"error": str(error), **error.more})
