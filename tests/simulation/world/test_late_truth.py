"""The database of a world tells the truth as late as real ones do."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.engines.connection.base import Answer, Call, UnreachableError
from stateward.simulation.opensearch.http import PATIENCE, Rates, Wire, WorldTransport
from stateward.simulation.opensearch.node import Node
from stateward.simulation.opensearch.pending_commands import MANAGER_PATIENCE
from stateward.simulation.opensearch.settings import EXCLUDE
from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation

EXCLUSIONS = "/_cluster/voting_config_exclusions"
DETECTED = 40.0
"""Seconds after which every silent node is noticed."""


def client(scenario: Scenario) -> WorldTransport:
    """Return a client of the database other than the operator."""
    context = scenario.world.context
    return WorldTransport(scenario.world.databases, Wire(context.stream("client"), context.count))


def endpoint(node: Node) -> str:
    return f"http://{node.container.address}:9200"


def drain(node: Node, name: str) -> Call:
    return Call(endpoint(node), "PUT", "/_cluster/settings", None, {"persistent": {EXCLUDE: name}})


def of(scenario: Scenario, name: str) -> Node:
    return next(node for node in scenario.nodes() if node.name == name)


async def quiet(scenario: Scenario) -> list[Node]:
    """Begin, and end the operator; return the data nodes, by name."""
    await scenario.begin()
    scenario.process.start = lambda: None
    scenario.process.kill()
    await asyncio.sleep(1.0)
    return sorted((node for node in scenario.nodes() if node.data), key=lambda node: node.name)


async def test_a_command_is_performed_although_its_client_has_died() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        node, _ = await quiet(scenario)
        other = client(scenario)
        other.wire.rates = Rates(late=1.0)
        task = asyncio.create_task(other.send(drain(node, "x")))
        await asyncio.sleep(0.5)
        task.cancel()
        assert not scenario.database.settings.excluded
        await asyncio.sleep(MANAGER_PATIENCE)
        assert scenario.database.settings.excluded == {"x"}


async def test_commands_that_are_performed_late_keep_their_order() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        node, _ = await quiet(scenario)
        first, second = client(scenario), client(scenario)
        first.wire.rates = Rates(late=1.0)
        task = asyncio.create_task(first.send(drain(node, "first")))
        await asyncio.sleep(0.5)
        answers = await asyncio.gather(task, second.send(drain(node, "second")), return_exceptions=True)
        assert all(isinstance(answer, (Answer, UnreachableError)) for answer in answers)
        await asyncio.sleep(MANAGER_PATIENCE)
        assert scenario.database.settings.excluded == {"second"}


async def test_a_node_without_a_manager_keeps_a_command_until_there_is_one() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        node, _ = await quiet(scenario)
        manager = of(scenario, "logs-managers-0")
        scenario.world.databases.pause(manager, on=True)
        began = scenario.world.now
        with pytest.raises(UnreachableError):
            await client(scenario).send(drain(node, "x"))
        assert scenario.world.now - began == pytest.approx(PATIENCE, abs=0.1)
        scenario.world.databases.pause(manager, on=False)
        await asyncio.sleep(5.0)
        assert scenario.database.settings.excluded == {"x"}


async def test_a_paused_node_is_missed_after_three_checks_and_joins_again() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        node, _ = await quiet(scenario)
        scenario.world.databases.pause(node, on=True)
        await asyncio.sleep(20.0)
        assert node.id in scenario.database.nodes
        assert scenario.database.health == "green"
        await asyncio.sleep(DETECTED - 20.0)
        assert node.id not in scenario.database.nodes
        scenario.world.databases.pause(node, on=False)
        await asyncio.sleep(10.0)
        assert scenario.database.nodes[node.id] is node


async def test_a_manager_that_is_cut_off_is_believed_for_a_while() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await quiet(scenario)
        leader = scenario.database.leader
        scenario.world.databases.isolate(scenario.database.nodes[leader].container.node, on=True)
        await asyncio.sleep(20.0)
        assert scenario.database.leader == leader
        assert not scenario.database.managed
        await asyncio.sleep(DETECTED - 20.0)
        assert scenario.database.leader not in {"", leader}
        assert scenario.database.managed


async def test_a_manager_that_is_elected_again_places_what_was_not_placed_before() -> None:
    """An index of a storm stayed red, because nothing else happened in the database."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await quiet(scenario)
        leader = scenario.database.nodes[scenario.database.leader]
        scenario.world.databases.pause(leader, on=True)
        scenario.database.create_index("late", 1, 2**20, 0.0)
        await asyncio.sleep(DETECTED)
        assert not scenario.database.leader
        scenario.world.databases.pause(leader, on=False)
        await asyncio.sleep(DETECTED)
        assert scenario.database.leader == leader.id
        assert scenario.database.health == "green"


async def test_the_voting_configuration_follows_an_exclusion_later_and_an_excluded_manager_abdicates() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        node, _ = await quiet(scenario)
        scenario.world.databases.behavior.reconfiguration = (5.0, 5.0)
        leader = scenario.database.nodes[scenario.database.leader]
        call = Call(endpoint(node), "POST", EXCLUSIONS, {"node_names": leader.name, "timeout": "10s"})
        task = asyncio.create_task(client(scenario).send(call))
        await asyncio.sleep(4.0)
        assert leader.name in scenario.database.exclusions
        assert leader.id in scenario.database.voters
        assert (await task).status == 200
        assert leader.id not in scenario.database.voters
        assert not scenario.database.leader
        await asyncio.sleep(5.0)
        assert scenario.database.leader not in {"", leader.id}


async def test_a_node_that_is_announced_as_leaving_gets_no_copies_and_one_that_restarts_is_waited_for() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        scenario.world.databases.announced = True
        first, *_ = await quiet(scenario)
        database, other = scenario.database, client(scenario)

        async def announce(method: str, body: Json | None = None) -> None:
            call = Call(endpoint(first), method, f"/_nodes/{first.id}/shutdown", None, body)
            assert (await other.send(call)).status == 200

        await announce("PUT", {"type": "remove", "reason": "it leaves"})
        await asyncio.sleep(60.0)
        assert not any(shard.on(first.id) for shard in database.shards)
        await announce("DELETE")
        await announce("PUT", {"type": "restart", "reason": "it comes back"})
        await asyncio.sleep(60.0)
        assert any(shard.on(first.id) for shard in database.shards)
        first.kill()
        await asyncio.sleep(200.0)
        assert database.health == "yellow"
        await asyncio.sleep(200.0)
        assert database.health == "green"


async def test_a_flush_waits_for_the_copies_of_a_silent_node_until_it_is_removed() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        node, other = await quiet(scenario)
        flush = Call(endpoint(node), "POST", "/_flush", None, None, 60.0)
        assert b'"failed":0' in (await client(scenario).send(flush)).body
        scenario.world.databases.pause(other, on=True)
        began = scenario.world.now
        answer = await client(scenario).send(flush)
        assert 20.0 < scenario.world.now - began < DETECTED
        assert b'"failed":0' not in answer.body
