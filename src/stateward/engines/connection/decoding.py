"""Decodes untrusted bytes into typed answers: malformed input of any kind raises one kind of error."""

from typing import TypeVar

import msgspec

from stateward.engines.connection.base import GarbledError

T = TypeVar("T")


def decoded(shape: type[T], body: bytes | str, whose: str) -> T:
    """Return a decoded JSON document; raise `GarbledError` with a message that begins with `whose`."""
    try:
        return msgspec.json.decode(body, type=shape)
    except RecursionError as error:
        raise GarbledError(f"{whose} it is nested too deep") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        # A validation error repeats the input, which can be long.
        raise GarbledError(f"{whose} {str(error)[:300]}") from error
