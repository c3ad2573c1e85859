"""Stand-ins for the parts of the operator that a single decision does not depend on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, UnreachableError


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


@dataclass
class Pods:
    """Pods that answer questions to one path, by their endpoint; all others cannot be reached."""

    answers: Mapping[str, Answer]
    path: str

    def within(self, access: Access) -> "Pods":
        raise AssertionError(access)

    async def send(self, call: Call) -> Answer:
        assert (call.method, call.path) == ("GET", self.path)
        if call.endpoint not in self.answers:
            raise UnreachableError(f"no route to {call.endpoint}")
        return self.answers[call.endpoint]


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
