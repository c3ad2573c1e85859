"""What was half done is taken back, and what differs each time is made once, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.packages.yamltext import to_yaml
from tests.unit.operator.installations.test_tasks import POD, package
from tests.unit.operator.installations.town import Town

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {of: %s}\n"


class Fresh(dict[str, bytes]):
    """Files that are another one each time they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def __getitem__(self, path: str) -> bytes:
        self.reads += 1
        return f"{path} {self.reads}".encode()


@pytest.fixture
async def town() -> Town:
    return Town()


async def test_an_upgrade_that_failed_half_way_is_taken_back_by_asking_for_the_version_of_before(town: Town) -> None:
    config = {"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}
    bad = {"name": "bad", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}}
    town.package("other-1", package([config], {"deploy": ["config"]}, config=CONFIG % "one"))
    town.package("other-2", package([config, bad], {"deploy": ["config", "bad"]}, "2.0.0", config=CONFIG % "two"))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.install("other-2")
        await town.until(lambda: town.condition("Stalled").get("reason") == "PlanFailed")
        assert town.there("ConfigMap", "config")["data"] == {"of": "two"}
        town.install("other-1")
        await town.until(town.ready)
    assert town.there("ConfigMap", "config")["data"] == {"of": "one"}
    assert town.status()["installed"]["version"] == "1.0.0"


def piped(version: str) -> dict[str, bytes]:
    """Return a package whose only step pipes a file, and waits for something else."""
    pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/password", "kind": "Secret", "key": "made"}]}
    tasks: list[Any] = [
        {"name": "pipe", "kind": "Pipe", "spec": pipe},
        {"name": "slow", "kind": "Dummy", "spec": {"done": False}},
    ]
    plans = {"deploy": {"phases": [{"name": "main", "steps": [{"name": "both", "tasks": ["pipe", "slow"]}]}]}}
    head = {"apiVersion": "kudo.dev/v1beta1", "name": "other", "operatorVersion": version, "tasks": tasks}
    return {"operator.yaml": to_yaml(head | {"plans": plans}).encode(), "templates/pod.yaml": POD.encode()}


async def test_a_pipe_runs_once_for_a_run_however_long_its_step_waits_for_something_else(town: Town) -> None:
    """Disaster prevented: a new password each few seconds, and pods that restart for each of them."""
    town.written = Fresh()
    town.package("other-1", piped("1.0.0"))
    town.package("other-2", piped("2.0.0"))
    town.install("other-1")
    async with town.operator():
        await town.until(lambda: town.get("Secret", "web-pipe-made"))
        before = town.there("Secret", "web-pipe-made")["data"]
        await asyncio.sleep(120)
        assert town.there("Secret", "web-pipe-made")["data"] == before
        assert town.store.all("/pods") == []
        town.install("other-2")
        await town.until(lambda: town.there("Secret", "web-pipe-made")["data"] != before)
        await asyncio.sleep(120)
    assert town.written.reads == 2
