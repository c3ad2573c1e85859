"""The readiness probe says what a process waits for."""

from typing import Any

import aiohttp

from stateward.operator.assembly import Operator
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.runtime.health import health_routes
from stateward.operator.runtime.listener import serve
from stateward.operator.runtime.options import OperatorOptions


async def asked(operator: Operator) -> tuple[int, str]:
    async with (
        serve("127.0.0.1", 0, health_routes(operator.unfilled)) as port,
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}/readyz") as answer,
    ):
        return answer.status, await answer.text()


def fill(operator: Operator, *, but: str = "") -> None:
    caches = operator.controllers["opensearch"].caches
    for store in (*operator.objects.stores(), caches.clusters):
        for namespace in store.unfilled:
            if f"{store.name}/{namespace}" != but:
                store.feed(namespace).replace((), "1")


async def test_a_process_is_ready_when_all_its_caches_are_filled_and_else_names_the_others() -> None:
    silent: Any = None
    options = OperatorOptions(namespaces=("team-a", "team-b"))
    operator = Operator(silent, (OpenSearchFamily(silent),), options)
    _, text = await asked(operator)
    assert "pods in namespace team-a, pods in namespace team-b" in text
    assert "nodes, " in text
    fill(operator, but="pods/team-b")
    assert await asked(operator) == (503, "these caches are not filled yet: pods in namespace team-b")
    fill(operator)
    assert await asked(operator) == (200, "ok")


async def test_a_process_whose_kinds_are_not_served_is_not_ready() -> None:
    silent: Any = None
    operator = Operator(silent, (OpenSearchFamily(silent),), OperatorOptions())
    fill(operator)
    for reflector in operator.controllers["opensearch"].reflectors:
        reflector.missing = True
    assert (await asked(operator))[0] == 503
