"""The text of the API server's refusal for a status: fields and what is accepted, without any value.

The server repeats the values it was given, and a rendered value may be a password.
"""

import re

from stateward.kube.objects.errors import BadRequest, FieldCause, Invalid

HIDDEN = "..."
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
"""A value in quotes. One without an end goes on to the end of the text: it is not searched for again at each quote."""
_VALUED = frozenset(
    {"Invalid value", "Unsupported value", "Duplicate value", "Not found", "Too long", "Too many", "Too few"}
)
"""Words of the server that a value follows, and what is accepted after it."""
_VALUELESS = ("Required value", "Forbidden")
_SAID = re.compile(rf"(?P<name>unknown field |in version |webhook |\[name=)?{_TEXT}")
_DUMP = "{Value:"


def public(error: Invalid | BadRequest) -> str:
    """Return what is wrong with an object, without anything that it holds but names."""
    if not error.causes:
        return _hidden(error.message)
    named = " ".join(filter(None, (error.details.kind, error.details.name)))
    return f"{named or 'the object'} is invalid: " + "; ".join(_cause(cause) for cause in error.causes)


def _hidden(text: str) -> str:
    text = _SAID.sub(lambda found: found[0] if found["name"] else HIDDEN, text)
    begin, end = text.find(_DUMP), text.rfind("}")
    return f"{text[:begin]}{HIDDEN}{text[end + 1 :]}" if 0 <= begin < end else text


def _cause(cause: FieldCause) -> str:
    what, _, rest = cause.message.partition(": ")
    if what not in _VALUED:
        said = cause.message if what.startswith(_VALUELESS) else _hidden(cause.message)
        return f"{cause.field}: {said or cause.reason or 'is not accepted'}"
    quoted = re.match(_TEXT, rest)
    if quoted is None:
        value, _, accepted = rest.rpartition(": ")
        accepted = "" if re.search(r'[{}\[\]"]', accepted) else accepted
    else:
        value, accepted = quoted[0][1:-1], rest[quoted.end() :].removeprefix(": ")
    accepted = accepted.replace(value, HIDDEN) if value else accepted
    return f"{cause.field}: {what}{accepted and f': {accepted}'}"
