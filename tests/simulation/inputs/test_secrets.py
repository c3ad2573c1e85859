"""Secrets that members use: whose change restarts whom, and how."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from stateward.api.values.base import Json
from stateward.api.values.names import ANNOTATION_INPUTS
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from tests.simulation.scenario import PODS, SECRETS, Scenario, hot, managers
from tests.unit.operator.restarts.earlier_keys import use_one_key_for_all

pytestmark = pytest.mark.simulation

ENV: Json = {"spec": {"containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "words"}}]}]}}
STORE: list[Json] = [{"secretName": "store"}]
MEMBERS = ["logs-hot-0", "logs-hot-1", "logs-hot-2", "logs-managers-0"]


class Drawer:
    """The users' Secrets."""

    def __init__(self, scenario: Scenario) -> None:
        self._server, self._store = scenario.world.server, scenario.world.store

    def put(self, name: str, annotations: Json | None = None, **values: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        meta = {"name": name, "namespace": "data", "annotations": annotations or {}}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        key = Key("data", name)
        live = self._store.get(SECRETS, key)
        if live is None:
            self._server.create(SECRETS, "data", body)
        else:
            self._server.update(SECRETS, key, {**body, "metadata": {**live.meta, **meta}})

    def remove(self, name: str) -> None:
        live = self._store.get(SECRETS, Key("data", name))
        assert live is not None
        self._server.delete(SECRETS, live.key, DeleteOptions(Preconditions(live.uid)))


def keystores(scenario: Scenario) -> set[Any]:
    """Return what the configurations of the members say of a setting."""
    written = [s for s in scenario.world.store.all(SECRETS) if s.key.name in MEMBERS]
    return {base64.b64decode(s.doc["data"]["stateward-keystore.word"]).splitlines()[0] for s in written}


def digests(scenario: Scenario) -> set[str]:
    """Return the digests of data in the status of the cluster and on its pods."""
    (cluster,) = scenario.world.store.all("stateward.dev/osclusters")
    recorded = [json.loads(pod.meta["annotations"][ANNOTATION_INPUTS]) for pod in scenario.world.store.all(PODS)]
    data = {name: digest for each in recorded for name, digest in each.items() if "Secret/" in name}
    return {digest for digest in (*cluster.doc["status"]["dataDigests"].values(), *data.values()) if digest != "+"}


async def looked(scenario: Scenario) -> None:
    """Wait until the operator has started the change: without the watch it reads once a minute."""
    assert await scenario.until(lambda: scenario.disrupted() or not scenario.process.running)


async def test_data_in_variables_recreates_the_pods_of_that_pool_one_after_the_other() -> None:
    with Scenario(managers(1), hot(3, podTemplate=ENV), agents=True).logged() as scenario:
        drawer = Drawer(scenario)
        drawer.put("words", WORD="one")
        await scenario.begin()
        pods = scenario.uids(PODS)
        drawer.put("words", WORD="two")
        await looked(scenario)
        await scenario.settle()
        assert sorted(scenario.disrupted()) == MEMBERS[:3]
        assert scenario.uids(PODS)["logs-managers-0-0"] == pods["logs-managers-0-0"]
        assert scenario.most_down == 1
        assert scenario.red == 0


async def test_data_that_goes_comes_back_or_is_taken_out_restarts_no_member() -> None:
    with Scenario(managers(1), hot(2, podTemplate=ENV), agents=True).logged() as scenario:
        drawer = Drawer(scenario)
        drawer.put("words", WORD="one", OTHER="x")
        await scenario.begin()
        pods = scenario.uids(PODS)
        drawer.remove("words")
        await asyncio.sleep(150.0)
        scenario.process.kill()
        drawer.put("words", {"stateward.dev/skip-restart": "OTHER"}, WORD="one", OTHER="y")
        await asyncio.sleep(150.0)
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert scenario.disrupted() == []


async def test_data_of_the_keystore_restarts_each_process_once_in_its_pod() -> None:
    with Scenario(managers(1), hot(3), agents=True, secureSettings=STORE).logged() as scenario:
        drawer = Drawer(scenario)
        drawer.put("store", word="one")
        await scenario.begin()
        pods = scenario.uids(PODS)
        drawer.put("store", word="two")
        await looked(scenario)
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert sorted(scenario.disrupted()) == MEMBERS
        assert scenario.most_down == 1
        assert keystores(scenario) == {base64.b64encode(b"two")}


async def test_a_secret_of_the_keystore_that_is_gone_leaves_it_as_it_is_also_for_new_members() -> None:
    with Scenario(managers(1), hot(2), agents=True, secureSettings=STORE).logged() as scenario:
        drawer = Drawer(scenario)
        drawer.put("store", word="one")
        await scenario.begin()
        pods = scenario.uids(PODS)
        drawer.remove("store")
        scenario.pools(managers(1), hot(3))
        await scenario.settle()
        assert pods.items() <= scenario.uids(PODS).items()
        assert scenario.disrupted() == []
        assert keystores(scenario) == {base64.b64encode(b"one")}


async def test_an_upgrade_from_a_version_with_one_key_for_all_namespaces_restarts_no_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pools = [managers(1), hot(2, podTemplate=ENV)]
    with Scenario(*pools, agents=True, secureSettings=STORE).logged() as scenario:
        drawer = Drawer(scenario)
        for name in ("words", "store"):
            drawer.put(name, word="one")
        with monkeypatch.context() as patched:
            use_one_key_for_all(patched)
            await scenario.begin()
            before = digests(scenario)
            scenario.process.kill()
        pods = scenario.uids(PODS)
        assert await scenario.until(lambda: not digests(scenario) & before)
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert scenario.disrupted() == []
        drawer.put("words", word="two")
        await looked(scenario)
        await scenario.settle()
        assert sorted(scenario.disrupted()) == ["logs-hot-0", "logs-hot-1"]


async def test_members_wait_for_a_secret_of_the_keystore_that_was_never_there() -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        drawer = Drawer(scenario)
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.edit(secureSettings=STORE)
        assert await scenario.until(lambda: "SecretMissing" in scenario.waits)
        await asyncio.sleep(300.0)
        assert scenario.disrupted() == []
        drawer.put("store", word="one")
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert sorted(scenario.disrupted()) == ["logs-hot-0", "logs-hot-1", "logs-managers-0"]


@pytest.mark.parametrize(("verb", "kind"), [("patch", "pods"), ("apply", "secrets"), ("patch", "osclusters")])
async def test_an_operator_that_dies_while_data_is_rolled_out_restarts_no_member_twice(verb: str, kind: str) -> None:
    with Scenario(managers(1), hot(3), agents=True, secureSettings=STORE).logged() as scenario:
        drawer = Drawer(scenario)
        drawer.put("store", word="one")
        await scenario.begin()
        scenario.crash_after(verb, kind, 2)
        drawer.put("store", word="two")
        await looked(scenario)
        await scenario.settle()
        assert sorted(scenario.disrupted()) == MEMBERS
        assert keystores(scenario) == {base64.b64encode(b"two")}


ALL: list[Json] = [{"secretName": "store"}, {"secretName": "other"}]


async def a_burst_is_one_restart(name: str, put: Callable[[Drawer], None], *, crash: bool = False) -> None:
    """Write three times, while the members that use it settle; each restarts once, for the last of what was written."""
    pools = [managers(1), hot(3, podTemplate=ENV)]
    with Scenario(*pools, agents=True, secureSettings=ALL).logged() as scenario:
        drawer = Drawer(scenario)
        for each in ("words", "store", "other"):
            drawer.put(each, None, **{f"in_{each}": "zero"})
        await scenario.begin()
        put(drawer)
        assert await scenario.until(lambda: "DataChanging" in scenario.waits)
        if crash:
            scenario.crash_after("patch", "osclusters")
        for text in ("one", "two", "three"):
            await asyncio.sleep(3.0)
            assert scenario.disrupted() == []
            drawer.put(name, None, **{f"in_{name}": text})
        await asyncio.sleep(4.5)
        assert scenario.disrupted() == []
        await looked(scenario)
        await scenario.settle()
        assert sorted(scenario.disrupted()) == MEMBERS
        assert scenario.most_down == 1
        assert scenario.red == 0


async def test_a_burst_of_changes_of_one_secret_of_the_keystore_is_one_restart_of_each_process() -> None:
    await a_burst_is_one_restart("store", lambda drawer: drawer.put("store", in_store="begun"))


async def test_37_a_burst_of_changes_of_several_secrets_is_one_restart_of_each_member() -> None:
    await a_burst_is_one_restart("other", lambda drawer: drawer.put("words", in_words="begun"))


async def test_an_operator_that_dies_while_changes_settle_waits_for_the_rest_of_them() -> None:
    await a_burst_is_one_restart("other", lambda drawer: drawer.put("store", in_store="begun"), crash=True)
