"""What the API server says about its kinds, asked once for all who want to know it at about the same time.

The disaster this prevents: tenants name thousands of kinds that the server does not have. The operator asks for each of
them again and again, and does little else.
"""

from typing import Any, TypeVar

import msgspec

from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import ApiError, DecodeError
from stateward.kube.queue.locks import Locks
from stateward.kube.timing.clock import Clock

SHARED_SECONDS = 2.0
"""Seconds for which an answer counts, also a refusal: a kind that a step has just defined is found soon."""

T = TypeVar("T")


class Discovery:
    """Asks for a path once at a time."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._answers: dict[str, tuple[float, Any]] = {}
        self._locks = Locks[str]()

    async def ask(self, path: str, view: type[T]) -> T:
        """Return an answer that is at most some seconds old; raises ApiError."""
        async with self._locks[path]:
            now = self._clock.monotonic()
            at, known = self._answers.get(path, (float("-inf"), None))
            found: Any = known if now - at < SHARED_SECONDS else await self._fresh(path, view)
        if isinstance(found, ApiError):
            raise found
        return found

    def forget(self, *paths: str) -> None:
        """Ask again for these paths, whenever they were asked for last."""
        for path in paths:
            self._answers.pop(path, None)

    async def _fresh(self, path: str, view: type[T]) -> T | ApiError:
        """Ask, and keep the answer in place of all that do not count any more."""
        found, now = await self._asked(path, view), self._clock.monotonic()
        self._answers = {known: each for known, each in self._answers.items() if now - each[0] < SHARED_SECONDS}
        self._answers[path] = now, found
        return found

    async def _asked(self, path: str, view: type[T]) -> T | ApiError:
        try:
            return msgspec.json.decode(await self._api.request(RawRequest(path)), type=view)
        except ApiError as error:
            return error
        except msgspec.DecodeError as error:
            return DecodeError(f"cannot read the API server's list of kinds: {error}")
