"""A client that keeps the rules of a server with RBAC, as far as they matter here, and notes as whom it was asked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stateward.kube.objects.errors import Forbidden, Status, StatusDetails
from stateward.operator.installations.execution.service_account import user

HOME = "prod"
SAME = ("get", "list", "watch", "create", "patch", "delete")
VERBS = {**dict(zip(SAME, SAME, strict=True)), "apply": "patch", "evict": "create"}
OPERATOR = "stateward"
"""What the server in memory calls the operator."""


@dataclass(frozen=True)
class Asked:
    """A request: as whom (the operator: nothing), which verb of the client, of which kind, where, and for what."""

    user: str
    verb: str
    plural: str
    namespace: str
    name: str
    partial: bool = False
    labels: str = ""
    subresource: str = ""


@dataclass
class Rules:
    """Which requests are refused, and which there were; `denies` may be replaced at any time."""

    denies: Callable[[Asked], bool] = field(default=lambda _: False)
    asked: list[Asked] = field(default_factory=list[Asked])

    def nested_installation(self) -> list[Asked]:
        """Return what was asked as another than the operator."""
        return [each for each in self.asked if each.user]


class Ruled:
    """An `Api` under rules."""

    def __init__(self, api: Any, rules: Rules, acting: str = "") -> None:
        self._api, self._rules, self._acting = api, rules, acting

    def acting_as(self, acting: str) -> "Ruled":
        return Ruled(self._api.acting_as(acting), self._rules, acting)

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._api, verb)
        if verb not in VERBS:
            return method

        def noted(resource: Any, *args: Any, **options: Any) -> Any:
            self._note(verb, resource, args, options)
            return method(resource, *args, **options)

        if verb == "watch":
            return noted

        async def awaited(resource: Any, *args: Any, **options: Any) -> Any:
            return await noted(resource, *args, **options)

        return awaited

    def _note(self, verb: str, resource: Any, args: tuple[Any, ...], options: Any) -> None:
        what = args[0]
        where = options.get("namespace") or getattr(what, "namespace", "")
        name = what.get("metadata", {}).get("name", "") if isinstance(what, dict) else getattr(what, "name", "")
        found = Asked(
            self._acting,
            verb,
            resource.plural,
            where if resource.namespaced else "",
            name,
            resource.partial,
            getattr(what, "labels", ""),
            options.get("subresource", ""),
        )
        self._rules.asked.append(found)
        if self._rules.denies(found):
            raise denied(found, resource.group)


def denied(asked: Asked, group: str = "") -> Forbidden:
    """Return what a server answers to a request that the user has no right to make."""
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    kind = ".".join(filter(None, (asked.plural, group)))
    what = f'{kind} "{asked.name}"' if asked.name else kind
    text = (
        f'{what} is forbidden: User "{asked.user or user("stateward", OPERATOR)}" cannot {VERBS[asked.verb]} resource'
        f' "{asked.plural}" in API group "{group}" {where}'
    )
    return Forbidden(
        text, status=Status(code=403, reason="Forbidden", message=text, details=StatusDetails(name=asked.name))
    )
