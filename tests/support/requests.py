"""Counts requests to the API server of a simulated world."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from stateward.simulation.apiserver.client import WorldApi, kind_name

HISTORY = "-history"


def counted_requests(monkeypatch: pytest.MonkeyPatch, whose: str | None = None) -> Counter[str]:
    """Return a counter of the requests from now on, but for watches, as `VERB KIND [SUBRESOURCE]`.

    With `whose`, only those of the clients of this name count: the operator's are not those of its leader election.
    Requests for the history of a cluster are counted apart.
    """
    counted = Counter[str]()

    def counting(verb: str) -> Callable[..., Any]:
        plain = getattr(WorldApi, verb)

        async def call(self: WorldApi, resource: Any, *rest: Any, subresource: str = "", **more: Any) -> Any:
            if whose in (None, self.name):
                part = "history" if rest and str(getattr(rest[0], "name", "")).endswith(HISTORY) else subresource
                counted[f"{verb} {kind_name(resource)} {part}".strip()] += 1
            if subresource:
                more["subresource"] = subresource
            return await plain(self, resource, *rest, **more)

        return call

    for verb in ("get", "list", "create", "apply", "patch", "delete"):
        monkeypatch.setattr(WorldApi, verb, counting(verb))
    return counted
