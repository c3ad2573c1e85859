"""Cuts values out of an answer that are nested too deep for any decoder, so that the rest is readable.

The API server stores objects with thousands of levels. One of them would make a whole list unreadable, and with it all
other objects.
"""

import re

LEVELS = 200
"""Levels of an answer that are kept; Kubernetes objects have a few tens, and decoders end at about a thousand."""
TOO_DEEP = f"it is nested deeper than {LEVELS} levels"

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
"""A text, or a bracket. A text without an end goes on to the end of the answer.

The disaster this prevents: what is no JSON has such a text, with thousands of quotes in it. A search for its end begins
again at each of them, and the operator does nothing else for hours.
"""


def deeper(body: bytes, levels: int) -> bool:
    """Return whether JSON has more than `levels` levels."""
    depth = 0
    for token in _TOKENS.finditer(body):
        depth += (token[0] in b"{[") - (token[0] in b"}]")
        if depth > levels:
            return True
    return False


def shallow(body: bytes) -> tuple[bytes, frozenset[int]]:
    """Return valid JSON with null for too deep values, and the indexes of the affected elements of a list in it."""
    parts = list[bytes]()
    hit = set[int]()
    depth, element, listed, kept = 0, -1, False, 0
    for token in _TOKENS.finditer(body):
        sign = token[0]
        if sign in b"{[":
            depth += 1
            if depth == 2:
                listed = sign == b"["
            elif depth == 3 and listed:
                element += 1
            elif depth == LEVELS + 1:
                parts += body[kept : token.start()], b"null"
                hit.add(element)
        elif sign in b"}]":
            depth -= 1
            if depth == LEVELS:
                kept = token.end()
    return b"".join((*parts, body[kept:])), frozenset(hit)
