"""Requests to the API server of a simulated world: counted, and refused."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from stateward.kube.objects.errors import ApiError
from stateward.simulation.apiserver.client import WorldApi, kind_name
from stateward.simulation.apiserver.refusals import refusal
from stateward.simulation.apiserver.writing.admission import Admission

HISTORY = "-history"
Refuses = Callable[[str, Any], ApiError | None]
"""From the kind and the document of a write to its refusal; None accepts it."""


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


def refuse(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    """Let the API server refuse what `refuses` says, until the patch is undone."""
    accepting = Admission.check

    def check(self: Admission, kind: str, key: Any, doc: Any) -> None:
        refused = refuses(kind, doc)
        if refused is not None:
            raise refused
        accepting(self, kind, key, doc)

    monkeypatch.setattr(Admission, "check", check)


def unknown_field(wanted: str) -> Refuses:
    """Return the refusal of pods of a kind of workload with the field `bogus`, which Kubernetes does not know."""

    def refuses(kind: str, doc: Any) -> ApiError | None:
        if kind == wanted and "bogus" in doc["spec"]["template"]["spec"]:
            return refusal(400, "BadRequest", ".spec.template.spec.bogus: field not declared in schema")
        return None

    return refuses
