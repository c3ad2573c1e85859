"""A CronJob for each managed cluster: its schedule, its command, and its deletion."""

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any, cast
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.replacement import ReplacementPolicy
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.validation import Severity, validate
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Page
from stateward.kube.events.event_record import Occurrence
from stateward.kube.objects.errors import Invalid
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.detection.control import DetectionControl, Setting
from stateward.operator.detection.cronjob import (
    ANNOTATION_CLUSTER,
    LABEL_DETECTS,
    LONGEST_NAME,
    Place,
    cron_job,
    schedule,
)
from stateward.operator.detection.cronjob import name as job_name
from stateward.operator.detection.look import suspected
from stateward.operator.objects.caches import Caches
from stateward.simulation.timing.loop import run_virtual

PLACE = Place("system", "stateward:1", "stateward-detection")
LOGS = Key("data", "logs")


def body(**policy: Any) -> dict[str, Any]:
    return cron_job(PLACE, "opensearch", LOGS, ReplacementPolicy(enabled=True, **policy))


@pytest.mark.parametrize(
    ("after", "fields"),
    [("20s", "/1 * * * *"), ("30m", "/30 * * * *"), ("90m", "-23/1 * * *"), ("4h", "-23/4 * * *")],
)
def test_it_looks_as_often_as_a_member_is_waited_for(after: str, fields: str) -> None:
    assert body(after=after)["spec"]["schedule"].endswith(fields)


def test_no_two_checks_are_further_apart_than_a_day_and_not_all_clusters_are_checked_at_once() -> None:
    minute, hour, *rest = schedule(90 * 3600.0, "a").split()
    assert (minute.isdigit(), hour.isdigit(), rest) == (True, True, ["*", "*", "*"])
    assert len({schedule(1800.0, str(seed)) for seed in range(50)}) > 10


def moments(line: str) -> list[int]:
    """Return the minutes of a day at which a line of cron is due."""

    def values(part: str, end: int) -> list[int]:
        if part == "*":
            return list(range(end))
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        return list(range(int(first), int(last or first) + 1, int(step or 1)))

    minute, hour, *_ = line.split()
    return [each * 60 + at for each in values(hour, 24) for at in values(minute, 60)]


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_no_gap_is_longer_than_a_member_is_waited_for(seed: str) -> None:
    for minutes in (*range(1, 120), *range(120, 1441, 60)):
        due = moments(schedule(minutes * 60.0, seed))
        gaps = [after - before for before, after in zip(due, [*due[1:], due[0] + 1440], strict=True)]
        assert max(gaps) <= minutes, (minutes, schedule(minutes * 60.0, seed))


def pod_of(made: dict[str, Any]) -> dict[str, Any]:
    return made["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_it_runs_with_an_account_of_its_own_and_the_operators_image_where_the_operator_is() -> None:
    made = body()
    pod = pod_of(made)
    assert made["metadata"]["namespace"] == "system"
    assert (pod["serviceAccountName"], pod["containers"][0]["image"]) == ("stateward-detection", "stateward:1")
    assert pod["containers"][0]["args"] == ["detect", "--namespace=data", "--kind=opensearch", "--", "logs"]
    assert made["spec"]["concurrencyPolicy"] == "Forbid"


def test_what_users_need_can_be_set() -> None:
    made = body(
        detection={
            "schedule": "@daily",
            "suspend": True,
            "resources": {"requests": {"memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "nodeSelector": {"a": "b"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "labels": {"team": "a"},
            "annotations": {"example.org/owner": "b"},
        }
    )
    pod = pod_of(made)
    assert made["metadata"]["name"] == job_name("opensearch", LOGS)
    assert (made["spec"]["schedule"], made["spec"]["suspend"]) == ("@daily", True)
    assert pod["containers"][0]["resources"] == {
        "requests": {"cpu": "50m", "memory": "128Mi"},
        "limits": {"memory": "256Mi"},
    }
    assert (pod["nodeSelector"], pod["tolerations"][0]["key"]) == ({"a": "b"}, "dedicated")
    assert made["metadata"]["labels"].items() >= {"team": "a", LABEL_DETECTS: "opensearch"}.items()
    assert made["metadata"]["annotations"] == {"example.org/owner": "b", ANNOTATION_CLUSTER: "data/logs"}


TEXT = st.text(alphabet="abc/.-$;", max_size=8)
LEAF = st.none() | st.booleans() | st.integers(-5, 5) | TEXT
ANYTHING = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
MINE = {"name": "detect", "image": "mine:2", "command": ["sh"], "args": ["-c", "id"], "env": [{"name": "A"}]}
POD = {"serviceAccountName": "stateward", "containers": [MINE], "volumes": [], "securityContext": {}, "hostPID": True}
KEYS = st.sampled_from(["team", LABEL_DETECTS, ANNOTATION_CLUSTER, "app.kubernetes.io/component", "k8s.io/a"]) | TEXT
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "spec": st.just({"suspend": True, "jobTemplate": {"spec": {"template": {"spec": POD}}}}) | ANYTHING,
    "metadata": st.just({"name": "other", "namespace": "kube-system"}) | ANYTHING,
    "schedule": st.just("@daily") | ANYTHING,
    "suspend": st.booleans() | ANYTHING,
    "resources": st.just({"limits": {"cpu": "1"}, "requests": None}) | st.just({"claims": [{"name": "a"}]}) | ANYTHING,
    "nodeSelector": st.dictionaries(KEYS, LEAF) | ANYTHING,
    "tolerations": st.lists(st.just({"operator": "Exists"}) | ANYTHING, max_size=3) | ANYTHING,
    "labels": st.dictionaries(KEYS, LEAF) | ANYTHING,
    "annotations": st.dictionaries(KEYS, LEAF) | ANYTHING,
    "containers": st.just([MINE]),
    "serviceAccountName": st.just("stateward"),
    "template": st.just({"spec": POD}),
}
SETTABLE = {"nodeSelector", "tolerations"}


def without_settings(made: dict[str, Any]) -> dict[str, Any]:
    """Return all of a CronJob that no setting reaches."""
    spec = {key: value for key, value in made["spec"].items() if key not in {"schedule", "suspend", "jobTemplate"}}
    pod = {key: value for key, value in pod_of(made).items() if key not in SETTABLE}
    containers = [{k: v for k, v in one.items() if k != "resources"} for one in pod["containers"]]
    job = made["spec"]["jobTemplate"]
    inner = {key: value for key, value in job["spec"].items() if key != "template"}
    return {
        "kind": (made["apiVersion"], made["kind"], made["metadata"]["name"], made["metadata"]["namespace"]),
        "keys": (set(made), set(made["metadata"]), set(job), job["spec"]["template"]["metadata"]),
        "spec": spec,
        "job": inner,
        "pod": {**pod, "containers": containers},
    }


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_no_setting_changes_what_runs_or_with_which_rights(detection: dict[str, Any]) -> None:
    made, plain = body(detection=detection), body()
    assert without_settings(made) == without_settings(plain)
    assert made["metadata"]["labels"].items() >= plain["metadata"]["labels"].items()
    assert made["metadata"]["annotations"].items() >= plain["metadata"]["annotations"].items()
    added = {*made["metadata"]["labels"], *made["metadata"]["annotations"]}
    added -= {*plain["metadata"]["labels"], *plain["metadata"]["annotations"]}
    assert not [key for key in added if key.partition("/")[0].endswith(("stateward.dev", "kubernetes.io", "k8s.io"))]


@pytest.mark.parametrize(
    ("detection", "path", "words"),
    [
        ({"spec": {"jobTemplate": {"spec": POD}}}, "spec", "known are schedule, suspend"),
        ({"serviceAccountName": "stateward"}, "serviceAccountName", "known are schedule"),
        ({"resources": {"claims": []}}, "resources.claims", "known are requests, limits"),
        ({"schedule": 5}, "schedule", "must be text"),
        ({"suspend": "yes"}, "suspend", "must be true or false"),
        ({"tolerations": [{"kye": "a"}]}, "tolerations[0].kye", "known are key"),
        ({"tolerations": [{"tolerationSeconds": True}]}, "tolerations[0].tolerationSeconds", "a whole number"),
        (
            {"labels": {"stateward.dev/detection-engine": "a"}},
            "labels[stateward.dev/detection-engine]",
            "other domains",
        ),
        ({"annotations": {"a.kubernetes.io/b": "a"}}, "annotations[a.kubernetes.io/b]", "other domains"),
    ],
)
def test_another_setting_is_refused_with_its_place_and_what_is_accepted(
    detection: dict[str, Any], path: str, words: str
) -> None:
    (found,) = (p for p in validate(cluster(detection=detection)) if p.path.startswith("spec.replacement"))
    assert found.path == f"spec.replacement.detection.{path}"
    assert words in found.message
    assert found.severity is Severity.ERROR


def test_its_name_fits_and_no_two_clusters_share_it() -> None:
    long = [Key("a" * 60, "b" * 50), Key("a" * 60, "b" * 49 + "c")]
    made = {job_name(engine, key) for engine in ("opensearch", "elasticsearch") for key in long}
    assert len(made) == 4
    assert all(len(one) <= LONGEST_NAME for one in made)


def test_no_cluster_gets_the_cronjob_of_another_one_with_the_same_checksum() -> None:
    seen: dict[int, Key] = {}
    drawn = Random(1)  # noqa: S311 - nothing here is secret
    for _ in range(300_000):
        key = Key("a" * 50, f"b{drawn.getrandbits(60):x}")
        other = seen.setdefault(crc32(f"opensearch/{key}".encode()), key)
        if other is not key:
            assert job_name("opensearch", key) != job_name("opensearch", other)
            return
    pytest.fail("no two names with the same checksum")


def cluster(annotation: str = "", *, enabled: bool = True, name: str = "logs", **policy: Any) -> OpenSearchCluster:
    annotations = {"stateward.dev/missing-detected": annotation} if annotation else {}
    spec = {
        "version": "2.19.5",
        "pools": [{"name": "all", "replicas": 1, "roles": ["cluster_manager", "data"]}],
        "replacement": {"enabled": enabled, **policy},
    }
    meta = {"name": name, "namespace": "data", "uid": name, "annotations": annotations}
    return msgspec.convert({"metadata": meta, "spec": spec}, OpenSearchCluster)


def test_a_finding_is_believed_for_two_checks_and_only_where_replacement_is_enabled() -> None:
    when, then = "2026-11-21T12:00:00Z", 1795262400.0
    assert suspected(cluster(when, after="30m"), then + 3700.0)
    assert not suspected(cluster(when, after="30m"), then + 4000.0)
    assert suspected(cluster(when, after="30m"), then - 30.0), "clocks differ a little"
    assert not suspected(cluster(when, after="30m"), then - 4000.0), "it was written by a clock that was ahead"
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
        self.caches.clusters = cast("Any", SimpleNamespace(all=lambda: clusters, has_synced=True, unreadable={}))
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


async def test_the_job_of_a_cluster_that_was_deleted_while_no_operator_ran_is_removed(made: Control) -> None:
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


async def test_what_a_user_has_changed_is_made_so_again(made: Control) -> None:
    await made.know(cluster()).sweep()
    (job,) = made.jobs.there.values()
    meta = msgspec.structs.replace(job.metadata, generation=7)
    made.jobs.there = {meta.name: msgspec.structs.replace(job, metadata=meta)}
    assert await made.sweep() == ["apply"]


async def test_an_override_that_the_server_refuses_is_reported_once_and_keeps_no_other_cluster_waiting(
    made: Control,
) -> None:
    made.jobs.refuses = "spec.schedule: Invalid value"
    await made.know(cluster(), cluster(name="more")).sweep()
    await made.sweep()
    assert len(made.told) == 2
    assert "spec.schedule" in made.told[0]


async def test_a_cluster_that_is_created_again_is_told_what_the_earlier_one_was_told(made: Control) -> None:
    made.jobs.refuses = "spec.schedule: Invalid value"
    stored = cluster(detection={"spec": {"suspend": True}})
    await made.know(stored).sweep()
    first = list(made.told)
    assert len(first) == 2
    await made.know().sweep()
    await made.know(stored).sweep()
    assert made.told == first * 2


def test_a_comparison_that_fails_again_and_again_is_reported_on_the_clusters_and_ends_nothing(
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


async def test_settings_that_are_stored_and_not_accepted_are_ignored_and_named_once(made: Control) -> None:
    stored = cluster(detection={"spec": {"suspend": True}, "schedule": "@daily"})
    await made.know(stored).sweep()
    assert await made.sweep() == []
    (note,) = made.told
    assert "spec.replacement.detection.spec" in note


async def test_settings_that_the_server_refuses_leave_no_cron_job_of_old_rules(
    made: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made.know(cluster()).sweep()
    applied, apply = list[dict[str, Any]](), made.jobs.apply

    async def choosy(kind: object, key: Key, manifest: dict[str, Any], options: ApplyOptions) -> PartialObject:
        if manifest["spec"]["schedule"] == "never":
            raise Invalid("spec.schedule")
        applied.append(manifest)
        return await apply(kind, key, manifest, options)

    monkeypatch.setattr(made.jobs, "apply", choosy)
    await made.know(cluster(detection={"schedule": "never"})).sweep()
    assert [one["spec"]["schedule"] for one in applied] == [body()["spec"]["schedule"]]
    assert "refused" in made.told[0]
