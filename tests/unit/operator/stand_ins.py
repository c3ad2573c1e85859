"""Stand-ins for the parts of the operator that a single decision does not depend on."""

from collections.abc import Callable
from typing import Any


def always(value: Any) -> Callable[..., Any]:
    """Return a function that answers the same to everything."""

    def answer(*_: object, **__: object) -> Any:
        return value

    return answer


def soon(value: Any = None) -> Callable[..., Any]:
    """Return a coroutine function that answers the same to everything."""

    async def answer(*_: object, **__: object) -> Any:
        return value

    return answer


class Recorded:
    """A part that records what is done with it; its methods return what it is made with, by name."""

    def __init__(self, **answers: Any) -> None:
        self.done: list[str] = []
        self.last: tuple[Any, ...] = ()
        self.calls: dict[str, tuple[Any, ...]] = {}
        """The arguments of the last call of each method."""
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **_: Any) -> Any:
            self.done.append(name)
            self.last = self.calls[name] = arguments
            return self._answers.get(name)

        return called
