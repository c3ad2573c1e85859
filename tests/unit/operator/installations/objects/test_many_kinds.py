"""How many requests the kinds of installations lead to: tenants write the annotation that names them."""

import asyncio
from typing import Any

import msgspec

from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.objects.errors import UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.installations.objects.kinds import ServedKinds
from stateward.operator.installations.objects.views import ANNOTATION_KINDS, MOST_KINDS, kinds_in
from stateward.operator.installations.objects.watches import Watches

TENANTS = 5
"""Installations."""


class Server:
    """Serves one group with one kind, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request(self, request: Any) -> bytes:
        self.asked.append(request.path)
        await asyncio.sleep(0)
        version = {"groupVersion": "example.dev/v1", "version": "v1"}
        group = {"name": "example.dev", "preferredVersion": version, "versions": [version]}
        answers: dict[str, Any] = {
            "/apis": {"groups": [group]},
            "/apis/example.dev/v1": {"resources": [{"name": "others", "kind": "Other", "namespaced": True}]},
        }
        if request.path not in answers:
            raise UnknownResource(f"no {request.path}")
        return msgspec.json.encode(answers[request.path])


async def asked_in_ten_minutes(group_of: str) -> int:
    """Return how many requests there are in ten minutes if installations name many kinds that are not served."""
    server: Any = Server()
    clock = VirtualClock()
    watches = Watches(server, ServedKinds(server, clock), ("",), ReflectorOptions(clock=clock), lambda _: None)
    async with asyncio.TaskGroup() as group:
        for tenant in range(TENANTS):
            named = ",".join(f"K{tenant}x{each}.{group_of.format(tenant=tenant, each=each)}" for each in range(1_000))
            watches.use(Key("prod", f"web-{tenant}"), kinds_in({ANNOTATION_KINDS: named}), group)
        await asyncio.sleep(600)
        watches.stop()
    return len(server.asked)


async def test_many_groups_that_are_not_served_lead_to_few_requests() -> None:
    """The disaster: a tenant names thousands of kinds, and the operator does little but ask the API server for them."""
    assert await asked_in_ten_minutes("g{tenant}x{each}.example") < 600


async def test_many_kinds_of_a_served_group_that_are_not_served_lead_to_few_requests() -> None:
    assert await asked_in_ten_minutes("example.dev") < 600


def test_an_installation_has_only_so_many_kinds() -> None:
    named = ",".join(f"K{each}.example.dev" for each in range(MOST_KINDS + 50))
    assert len(kinds_in({ANNOTATION_KINDS: named})) == MOST_KINDS
