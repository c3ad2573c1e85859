"""From bytes that somebody else wrote to a typed answer: garbage of any kind is one kind of error."""

from typing import TypeVar

import msgspec

from stateward.engines.connection.base import GarbledError

T = TypeVar("T")


def decoded(shape: type[T], body: bytes | str, whose: str) -> T:
    """Return a JSON document as what it should be; raise `GarbledError`, which begins with `whose`, otherwise."""
    try:
        return msgspec.json.decode(body, type=shape)
    except RecursionError as error:
        raise GarbledError(f"{whose} it is nested too deep") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        # An error of validation repeats what it found, which can be long.
        raise GarbledError(f"{whose} {str(error)[:300]}") from error
