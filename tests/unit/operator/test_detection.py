"""A CronJob for each cluster that is looked after: how often, with what, and when it goes."""

import asyncio
import base64
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from stateward.api.replacement import ReplacementPolicy
from stateward.api.search import OpenSearchCluster
from stateward.api.security import Security
from stateward.kube.client import Api, ApplyOptions, DeleteOptions, Page
from stateward.kube.errors import Invalid, NotFound
from stateward.kube.event_record import Occurrence
from stateward.kube.metadata import Key, PartialObject
from stateward.kube.virtual_time import VirtualClock
from stateward.operator.caches import Caches
from stateward.operator.detection.control import DetectionControl, Setting
from stateward.operator.detection.cronjob import LONGEST_NAME, Place, cron_job, schedule
from stateward.operator.detection.cronjob import name as job_name
from stateward.operator.detection.look import access, suspected
from stateward.simulation.loop import run_virtual

PLACE = Place("system", "stateward:1", "stateward")
LOGS = Key("data", "logs")


def body(**policy: Any) -> dict[str, Any]:
    return cron_job(PLACE, "opensearch", LOGS, ReplacementPolicy(enabled=True, **policy))


@pytest.mark.parametrize(
    ("after", "fields"),
    [("20s", "/1 * * * *"), ("30m", "/30 * * * *"), ("90m", "-23/1 * * *"), ("4h", "-23/4 * * *")],
)
def test_it_looks_as_often_as_a_member_is_waited_for(after: str, fields: str) -> None:
    assert body(after=after)["spec"]["schedule"].endswith(fields)


def test_no_two_looks_are_further_apart_than_a_day_and_not_all_clusters_are_looked_at_at_once() -> None:
    minute, hour, *rest = schedule(90 * 3600.0, "a").split()
    assert (minute.isdigit(), hour.isdigit(), rest) == (True, True, ["*", "*", "*"])
    assert len({schedule(1800.0, str(seed)) for seed in range(50)}) > 10


def test_it_runs_with_the_operators_own_account_and_image_where_that_account_is() -> None:
    made = body()
    pod = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert made["metadata"]["namespace"] == "system"
    assert (pod["serviceAccountName"], pod["containers"][0]["image"]) == ("stateward", "stateward:1")
    assert pod["containers"][0]["args"] == ["detect", "logs", "--namespace=data", "--kind=opensearch"]
    assert made["spec"]["concurrencyPolicy"] == "Forbid"


def test_everything_about_it_can_be_overridden_but_its_name() -> None:
    pod = {
        "serviceAccountName": "own",
        "containers": [{"name": "detect", "image": "mine:2"}],
        "nodeSelector": {"a": "b"},
    }
    made = body(
        detection={
            "metadata": {"labels": {"team": "a"}, "name": "other"},
            "spec": {"schedule": "@daily", "suspend": True, "jobTemplate": {"spec": {"template": {"spec": pod}}}},
        }
    )
    spec = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert made["metadata"]["name"] == job_name("opensearch", LOGS)
    assert made["metadata"]["labels"]["team"] == "a"
    assert (made["spec"]["schedule"], made["spec"]["suspend"]) == ("@daily", True)
    assert (spec["serviceAccountName"], spec["containers"][0]["image"]) == ("own", "mine:2")
    assert spec["containers"][0]["args"][0] == "detect"
    assert spec["nodeSelector"] == {"a": "b"}


def test_its_name_fits_and_no_two_clusters_share_it() -> None:
    long = [Key("a" * 60, "b" * 50), Key("a" * 60, "b" * 49 + "c")]
    made = {job_name(engine, key) for engine in ("opensearch", "elasticsearch") for key in long}
    assert len(made) == 4
    assert all(len(one) <= LONGEST_NAME for one in made)


def cluster(annotation: str = "", *, enabled: bool = True, name: str = "logs", **policy: Any) -> OpenSearchCluster:
    annotations = {"stateward.dev/missing-detected": annotation} if annotation else {}
    spec = {
        "version": "2.19.5",
        "pools": [{"name": "all", "replicas": 1, "roles": ["cluster_manager", "data"]}],
        "replacement": {"enabled": enabled, **policy},
    }
    meta = {"name": name, "namespace": "data", "uid": name, "annotations": annotations}
    return msgspec.convert({"metadata": meta, "spec": spec}, OpenSearchCluster)


def test_a_finding_is_believed_for_two_looks_and_only_where_replacement_is_enabled() -> None:
    when, then = "2026-11-21T12:00:00Z", 1795262400.0
    assert suspected(cluster(when, after="30m"), then + 3700.0)
    assert not suspected(cluster(when, after="30m"), then + 4000.0)
    assert not suspected(cluster(when, enabled=False), then)
    assert not suspected(cluster("soon"), then)
    assert not suspected(cluster(), then)


class Jobs:
    """The CronJobs of a server; `refuses` is what it says to an apply."""

    def __init__(self) -> None:
        self.there: dict[str, PartialObject] = {}
        self.writes: list[str] = []
        self.refuses = ""

    async def list(self, *_: object) -> Page[PartialObject]:
        return Page(tuple(self.there.values()), "1")

    async def apply(self, _: object, key: Key, manifest: dict[str, Any], __: ApplyOptions) -> PartialObject:
        if self.refuses:
            raise Invalid(self.refuses)
        before = self.there.get(key.name)
        meta = {**manifest["metadata"], "uid": key.name, "generation": before.metadata.generation + 1 if before else 1}
        self.there[key.name] = msgspec.convert({"metadata": meta}, PartialObject)
        self.writes.append(f"apply {key.name}")
        return self.there[key.name]

    async def delete(self, _: object, key: Key, options: DeleteOptions) -> None:
        assert options.preconditions is not None
        self.writes.append(f"delete {key.name}")
        del self.there[key.name]


class Control:
    """A control with what it works with."""

    def __init__(self, *namespaces: str) -> None:
        self.jobs, self.caches, self.told = Jobs(), Caches(), list[str]()

        def record(happened: Occurrence) -> None:
            self.told.append(happened.note)

        recorder = SimpleNamespace(record=record)
        self.control = DetectionControl(
            Setting(
                api=cast("Api", self.jobs),
                recorder=cast("Any", recorder),
                clock=VirtualClock(),
                place=PLACE,
                kinds=[self.caches],
                namespaces=namespaces or ("",),
            )
        )

    def know(self, *clusters: OpenSearchCluster) -> "Control":
        """Let the cache hold exactly these, synced."""
        self.caches.clusters = cast("Any", SimpleNamespace(all=lambda: clusters, has_synced=True))
        return self

    async def sweep(self) -> list[str]:
        self.jobs.writes.clear()
        await self.control.sweep()
        return [write.split()[0] for write in self.jobs.writes]


@pytest.fixture
def made() -> Control:
    return Control()


async def test_it_is_there_when_replacement_is_enabled_and_gone_when_not(made: Control) -> None:
    assert await made.know(cluster()).sweep() == ["apply"]
    assert await made.sweep() == []
    assert await made.know(cluster(after="10m")).sweep() == ["apply"]
    assert await made.know(cluster(enabled=False)).sweep() == ["delete"]
    assert await made.sweep() == []


async def test_that_of_a_cluster_that_went_away_while_nobody_looked_is_removed(made: Control) -> None:
    await made.know(cluster()).sweep()
    later = Control()
    later.jobs.there = made.jobs.there
    assert await later.know().sweep() == ["delete"]


async def test_what_is_not_known_completely_is_left_alone(made: Control) -> None:
    await made.know(cluster()).sweep()
    unsynced, elsewhere = Control(), Control("other")
    for each in (unsynced, elsewhere):
        each.jobs.there = made.jobs.there
    assert await unsynced.sweep() == []
    assert await elsewhere.know().sweep() == []


async def test_what_somebody_has_changed_is_made_so_again(made: Control) -> None:
    await made.know(cluster()).sweep()
    (job,) = made.jobs.there.values()
    meta = msgspec.structs.replace(job.metadata, generation=7)
    made.jobs.there = {meta.name: msgspec.structs.replace(job, metadata=meta)}
    assert await made.sweep() == ["apply"]


async def test_an_override_that_the_server_refuses_is_told_once_and_keeps_no_other_cluster_waiting(
    made: Control,
) -> None:
    made.jobs.refuses = "spec.schedule: Invalid value"
    await made.know(cluster(), cluster(name="more")).sweep()
    await made.sweep()
    assert len(made.told) == 2
    assert "spec.schedule" in made.told[0]


async def test_a_look_enters_a_secured_database_with_the_operators_own_certificate() -> None:
    files = {"tls.crt": "c", "tls.key": "k", "ca.crt": "t"}
    asked: list[Key] = []

    class Secrets:
        async def get(self, _: object, key: Key) -> dict[str, Any]:
            asked.append(key)
            if key.name.startswith("new"):
                raise NotFound("no such Secret")
            return {"data": {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}}

    secrets = cast("Api", Secrets())
    safe = msgspec.structs.replace(cluster().spec, security=Security(enabled=True))
    found = await access(secrets, msgspec.structs.replace(cluster(), spec=safe))
    assert found is not None
    assert (found.trusted, found.certificate, found.key) == ("t", "c", "k")
    assert await access(secrets, msgspec.structs.replace(cluster(name="new"), spec=safe)) is None
    assert len(asked) == 2
    assert await access(secrets, cluster()) is None
    assert len(asked) == 2


def test_a_comparison_that_fails_again_and_again_is_told_on_the_clusters_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: object) -> None:
        raise KeyError("hunter2")

    async def live() -> None:
        made = Control().know(cluster())
        made.caches.clusters.subscribe = lambda _: None  # type: ignore[method-assign]
        running = asyncio.create_task(made.control.run())
        with monkeypatch.context() as patched:
            patched.setattr(made.jobs, "list", broken)
            await asyncio.sleep(10 * 62.0)
            assert not running.done()
        assert made.told
        assert all("KeyError" in note and "hunter2" not in note for note in made.told)
        await asyncio.sleep(2 * 62.0)
        assert made.jobs.writes
        await made.control.stop(1.0)
        await running

    run_virtual(live())
