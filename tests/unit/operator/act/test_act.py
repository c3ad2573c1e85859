"""An action changes only the observed object, and nothing if another process may lead."""

import asyncio
import dataclasses
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.values import names
from stateward.api.values.base import API_VERSION, Json, Metadata
from stateward.engines.connection.base import Target
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.election.fence import Fence, LostLease, unfenced
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import AlreadyExists, ApiError, Conflict, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.clock import SystemClock
from stateward.operator.act.act import Actor
from stateward.operator.objects import translate
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.objects.ownership import TakenNames
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Allocation, Ref
from stateward.planning.model.phase import Phase
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock

MEMBER, POD, CLAIM = "logs-hot-1", "logs-hot-1-0", "data-logs-hot-1"
LABELS = {names.LABEL_CLUSTER: "logs", names.LABEL_MEMBER: MEMBER}
SOME = frozenset({MEMBER})
REF = Ref(POD, "u", "1")

ACTIONS: tuple[a.Action, ...] = (
    a.Create(why="x", member=MEMBER, pool="hot", ordinal=1, version="2.19.5"),
    a.Stage(why="x", member=MEMBER, pool="hot", version="2.19.5"),
    a.DeletePod(why="x", member=MEMBER, pod=REF),
    a.SetPhase(why="x", member=MEMBER, pod=REF, phase=Phase.STOP),
    a.StopProcess(why="x", member=MEMBER, pod=REF, address="10.0.0.1"),
    a.StartProcess(why="x", member=MEMBER, address="10.0.0.1", checksum=""),
    a.FinishRestart(why="x", member=MEMBER, pod=REF, inputs={}, checksum=""),
    a.RecordData(why="x", member=MEMBER, pod=REF, inputs={}),
    a.ClearSchedule(why="x"),
    a.ClearConsent(why="x"),
    a.DeleteConfiguration(why="x", secret=REF),
    a.Release(why="x", member=MEMBER, workload=REF),
    a.DeleteMember(why="x", member=MEMBER, workload=REF),
    a.DeleteVolume(why="x", member=MEMBER, claim=REF),
    a.GrowVolume(why="x", member=MEMBER, claim=REF, size=1 << 40),
    a.MarkVolume(why="x", member=MEMBER, claim=REF, left=True),
    a.MarkState(why="x", member=MEMBER, claim=REF),
    a.ForgetState(why="x", member=MEMBER, claim=REF, data=True),
    a.RetainVolume(why="x", member=MEMBER, claim=REF),
    a.OwnVolume(why="x", member=MEMBER, claim=REF),
    a.RecordRemoval(why="x", member=MEMBER),
    a.CancelRemoval(why="x", member=MEMBER),
    a.RecordBootstrap(why="x", member=MEMBER, volume="v"),
    a.GrantBootstrap(why="x", member=MEMBER, pod=REF),
    a.CreateDatabase(why="x"),
    a.RestoreSnapshot(why="x"),
    a.ConfigureDatabase(why="x"),
    a.LimitAllocation(why="x", allocation=Allocation.PRIMARIES, members=SOME),
    a.RestoreAllocation(why="x"),
    a.ResumeBalancing(why="x"),
    a.Flush(why="x"),
    a.Drain(why="x", members=SOME),
    a.ExcludeVoters(why="x", members=SOME),
    a.MoveCopies(why="x", moves=(a.Move("logs[0]", MEMBER, "logs-hot-2"),)),
)

TOLD = (
    a.StopProcess,
    a.StartProcess,
    a.LimitAllocation,
    a.RestoreAllocation,
    a.ResumeBalancing,
    a.Flush,
    a.Drain,
    a.ExcludeVoters,
    a.MoveCopies,
)


class Recorder:
    """A fake database, agent, credentials store and API server that records its requests."""

    def __init__(self, heard: list[str]) -> None:
        self.heard = heard
        self.credentials: Any = self

    def __getattr__(self, word: str) -> Any:
        async def told(*_: object, **__: object) -> Any:
            await asyncio.sleep(0)
            self.heard.append(word)
            return SimpleNamespace(metadata=SimpleNamespace(namespace="data", labels={}, uid="u", name=POD))

        return told


def existing(cluster: OpenSearchCluster | None = None) -> ClusterObjects:
    spec = OpenSearchSpec(version="2.19.5", pools=[Pool(name="hot", replicas=2)])
    made = OpenSearchCluster(metadata=Metadata(name="logs", namespace="data", uid="u"), spec=spec)
    return ClusterObjects(cluster or made, sets=(), pods=(), claims=(), secrets=(), nodes={}, classes={})


def actor(api: Any, fence: Fence = unfenced, heard: list[str] | None = None) -> Actor:
    told: Any = Recorder([] if heard is None else heard)
    family: Any = SimpleNamespace(kind=OPENSEARCH, engine=told, member_objects=member_objects)
    return Actor(api, Caches(), family, told, fence, taken=TakenNames(api, SystemClock()))


def member_objects(*_: object, **__: object) -> Any:
    body = {"metadata": {"namespace": "data", "name": MEMBER}}
    template = {"template": {"metadata": {"annotations": dict[str, str]()}}}
    return SimpleNamespace(config=body, claim=None, workload={**body, "spec": template})


def test_every_kind_of_action_is_tried_here() -> None:
    assert {type(action) for action in ACTIONS} == set(a.Action.__subclasses__())


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
async def test_nothing_is_sent_anywhere_when_another_process_may_lead(action: a.Action) -> None:
    heard: list[str] = []

    def lost() -> AbstractAsyncContextManager[None]:
        raise LostLease

    with pytest.raises(LostLease):
        await actor(Recorder(heard), lost, heard).carry_out(action, existing(), Target((), "logs"))
    assert heard == []


@pytest.mark.parametrize("action", [x for x in ACTIONS if isinstance(x, TOLD)], ids=lambda x: type(x).__name__)
async def test_a_database_or_an_agent_is_reported_within_the_fence_and_the_call_ends_in_it(action: a.Action) -> None:
    heard: list[str] = []

    @asynccontextmanager
    async def fence() -> AsyncGenerator[None]:
        heard.append("may write")
        yield
        heard.append("may no longer")

    await actor(Recorder(heard), fence, heard).carry_out(action, existing(), Target((), "logs"))
    assert len(heard) == 3
    assert [heard[0], heard[-1]] == ["may write", "may no longer"]


# The very object that was seen


@pytest.fixture
async def api() -> WorldApi:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    made = WorldApi(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    await made.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
    return made


async def make(api: WorldApi, kind: Resource[Any], name: str, **more: Any) -> Ref:
    body: Json = {"metadata": {"name": name, "namespace": "data", "labels": LABELS}, **more}
    return seen(await api.create(kind, body, namespace="data"))


def seen(obj: Any) -> Ref:
    return Ref(obj.metadata.name, obj.metadata.uid, obj.metadata.resource_version)


async def pod(api: WorldApi) -> Ref:
    return await make(api, kinds.PODS, POD, spec={"containers": [{"name": "opensearch", "image": "i"}]})


async def claim(api: WorldApi) -> Ref:
    growing: Json = {"metadata": {"name": "fast"}, "provisioner": "p", "allowVolumeExpansion": True}
    with suppress(AlreadyExists):
        await api.create(kinds.STORAGE_CLASSES, growing)
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": resources}
    await make(api, kinds.CLAIMS, CLAIM, spec=spec)
    bound = {"status": {"phase": "Bound"}}
    return seen(await api.patch(kinds.CLAIMS, Key("data", CLAIM), bound, kind=PatchKind.MERGE, subresource="status"))


async def size(api: WorldApi) -> str:
    found: Any = await api.get(kinds.CLAIMS.raw(), Key("data", CLAIM))
    return found["spec"]["resources"]["requests"]["storage"]


async def workload(api: WorldApi) -> Ref:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "opensearch", "image": "i"}]}}
    spec = {"replicas": 1, "serviceName": "logs", "selector": {"matchLabels": LABELS}, "template": template}
    return await make(api, kinds.STATEFUL_SETS, MEMBER, spec=spec)


async def remove(api: WorldApi, kind: Resource[Any], ref: Ref) -> None:
    """Delete an object, and remove its finalizers."""
    key = Key("data", ref.name)
    await api.delete(kind, key, DeleteOptions(Preconditions(ref.uid), grace_seconds=0))
    with suppress(NotFound):
        await api.patch(kind, key, {"metadata": {"finalizers": None}}, kind=PatchKind.MERGE)


async def annotate(api: WorldApi, kind: Resource[Any], ref: Ref, **annotations: str) -> None:
    meta = {"annotations": {name.replace("_", "/"): value for name, value in annotations.items()}}
    await api.patch(kind, Key("data", ref.name), {"metadata": meta}, kind=PatchKind.MERGE)


async def carry_out(api: WorldApi, action: a.Action, cluster: OpenSearchCluster | None = None) -> None:
    await actor(api).carry_out(action, existing(cluster), Target((), "logs"))


async def test_a_phase_is_not_written_on_the_pod_that_came_after_the_one_that_was_seen(api: WorldApi) -> None:
    """Its process runs with the new configuration already, and would be stopped for it once more."""
    old = await pod(api)
    await remove(api, kinds.PODS, old)
    await pod(api)
    with pytest.raises(ApiError):
        await carry_out(api, a.SetPhase(why="x", member=MEMBER, pod=old, phase=Phase.STOP))
    assert not (await api.get(kinds.PODS, Key("data", POD))).metadata.annotations


async def test_a_phase_is_written_on_the_pod_that_was_seen_whatever_else_was_written_on_it(api: WorldApi) -> None:
    ref = await pod(api)
    await annotate(api, kinds.PODS, ref, somebody_wrote="this")
    await carry_out(api, a.SetPhase(why="x", member=MEMBER, pod=ref, phase=Phase.STOP))
    found = (await api.get(kinds.PODS, Key("data", POD))).metadata.annotations
    assert found[names.ANNOTATION_PHASE] == Phase.STOP.value


def finished(ref: Ref) -> a.Action:
    return a.FinishRestart(why="x", member=MEMBER, pod=ref, inputs={"config/a": "2"}, checksum="c")


def taken_off(ref: Ref) -> a.Action:
    return a.SetPhase(why="x", member=MEMBER, pod=ref, phase=Phase.NONE)


def noted(ref: Ref) -> a.Action:
    return a.RecordData(why="x", member=MEMBER, pod=ref, inputs={"config/a": "2"})


@pytest.mark.parametrize("ending", [finished, taken_off, noted])
async def test_what_a_user_writes_on_a_pod_meanwhile_is_not_lost(
    api: WorldApi, ending: Callable[[Ref], a.Action]
) -> None:
    """A user requests a restart at the moment when the last one ends: it still happens."""
    ref = await pod(api)
    await api.patch(
        kinds.PODS,
        Key("data", POD),
        {"metadata": {"annotations": {names.ANNOTATION_PHASE: Phase.SCHEDULE.value}}},
        kind=PatchKind.MERGE,
    )
    with pytest.raises(Conflict):
        await carry_out(api, ending(ref))
    found = (await api.get(kinds.PODS, Key("data", POD))).metadata.annotations
    assert found == {names.ANNOTATION_PHASE: Phase.SCHEDULE.value}


async def test_the_volume_of_a_successor_is_not_made_to_grow(api: WorldApi) -> None:
    """A volume that has grown never becomes smaller again."""
    old = await claim(api)
    await remove(api, kinds.CLAIMS, old)
    await claim(api)
    with pytest.raises(ApiError):
        await carry_out(api, a.GrowVolume(why="x", member=MEMBER, claim=old, size=10 << 30))
    assert await size(api) == "1Gi"


async def test_a_volume_grows_that_was_seen(api: WorldApi) -> None:
    ref = await claim(api)
    await carry_out(api, a.GrowVolume(why="x", member=MEMBER, claim=ref, size=10 << 30))
    assert await size(api) == "10Gi"


@pytest.mark.parametrize(("by_itself", "grown"), [(True, "10Gi"), (False, None)])
async def test_a_volume_that_grows_by_itself_records_its_size_and_each_one_the_time(
    api: WorldApi, *, by_itself: bool, grown: str | None
) -> None:
    ref = await claim(api)
    await carry_out(api, a.GrowVolume(why="x", member=MEMBER, claim=ref, size=5 << 30, at=0.0, by_itself=True))
    await carry_out(api, a.GrowVolume(why="x", member=MEMBER, claim=ref, size=10 << 30, at=60.0, by_itself=by_itself))
    found = (await api.get(kinds.CLAIMS, Key("data", ref.name))).metadata.annotations
    assert found.get(names.ANNOTATION_GROWN) == grown
    assert found[names.ANNOTATION_RESIZED] == "1970-01-01T00:01:00Z"


async def test_a_mark_of_what_a_volume_holds_records_the_version_and_keeps_it_when_it_is_unknown(api: WorldApi) -> None:
    ref = await claim(api)
    for version in ("2.18.0", ""):
        mark = a.MarkState(why="x", member=MEMBER, claim=ref, only_data=True, version=version)
        await carry_out(api, mark)
        found = (await api.get(kinds.CLAIMS, Key("data", ref.name))).metadata.annotations
        assert (found[names.ANNOTATION_DATA], found[names.ANNOTATION_DATA_VERSION]) == ("true", "2.18.0")


@pytest.mark.parametrize(("grown", "size_"), [(0, "1Gi"), (5 << 30, "5Gi")])
async def test_a_new_volume_has_the_size_to_which_those_of_its_pool_have_grown(
    api: WorldApi, grown: int, size_: str
) -> None:
    def with_claim(*_: object, **__: object) -> Any:
        made = member_objects()
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        made.claim = {"metadata": {"namespace": "data", "name": CLAIM, "labels": LABELS}, "spec": spec}
        return made

    told: Any = Recorder([])
    family: Any = SimpleNamespace(kind=OPENSEARCH, engine=told, member_objects=with_claim)
    create = a.Create(why="x", member=MEMBER, pool="hot", ordinal=1, version="2.19.5", grown_size=grown)
    with suppress(ApiError):  # The StatefulSet, which comes after the claim, is none here.
        await Actor(api, Caches(), family, told, unfenced, taken=TakenNames(api, SystemClock())).carry_out(
            create, existing(), Target((), "logs")
        )
    assert await size(api) == size_


async def test_a_member_that_is_created_on_its_volume_gets_the_objects_of_what_it_was(api: WorldApi) -> None:
    asked: list[Any] = []

    def objects(*_: object, **options: object) -> Any:
        asked.append(options["keeps"])
        return member_objects()

    told: Any = Recorder([])
    family: Any = SimpleNamespace(kind=OPENSEARCH, engine=told, member_objects=objects)
    keeps = {"storage/holds": "x"}
    create = a.Create(why="x", member=MEMBER, pool="hot", ordinal=1, version="2.19.5", keeps=keeps)
    with suppress(ApiError):  # The StatefulSet is none here.
        await Actor(api, Caches(), family, told, unfenced, taken=TakenNames(api, SystemClock())).carry_out(
            create, existing(), Target((), "logs")
        )
    assert asked == [keeps]


async def test_a_statefulset_that_has_changed_since_it_was_seen_is_not_scaled_to_zero(api: WorldApi) -> None:
    """A concurrent change may have put the member into use again."""
    ref = await workload(api)
    await annotate(api, kinds.STATEFUL_SETS, ref, somebody_wrote="this")
    with pytest.raises(Conflict):
        await carry_out(api, a.Release(why="x", member=MEMBER, workload=ref))
    assert (await api.get(kinds.STATEFUL_SETS, Key("data", MEMBER))).spec.replicas == 1


async def test_a_statefulset_that_is_as_it_was_seen_is_scaled_to_zero(api: WorldApi) -> None:
    await carry_out(api, a.Release(why="x", member=MEMBER, workload=await workload(api)))
    assert (await api.get(kinds.STATEFUL_SETS, Key("data", MEMBER))).spec.replicas == 0


async def test_a_statefulset_that_is_scaled_to_zero_tells_that_the_operator_did_it_until_someone_changes_it(
    api: WorldApi,
) -> None:
    ref, key = await workload(api), Key("data", MEMBER)
    seen = dataclasses.replace(existing(), sets=(await api.get(kinds.STATEFUL_SETS, key),))
    await actor(api).carry_out(a.Release(why="x", member=MEMBER, workload=ref), seen, Target((), "logs"))
    assert translate.workload(await api.get(kinds.STATEFUL_SETS, key)).released
    for replicas in (1, 0):
        await api.patch(kinds.STATEFUL_SETS, key, {"spec": {"replicas": replicas}}, kind=PatchKind.MERGE)
        assert not translate.workload(await api.get(kinds.STATEFUL_SETS, key)).released


async def test_a_request_that_is_made_while_the_last_one_is_taken_off_the_cluster_stays(api: WorldApi) -> None:
    spec = {"version": "2.19.5", "pools": [{"name": "hot", "replicas": 2}]}
    wish = {names.ANNOTATION_PHASE: "schedule"}
    meta = {"name": "logs", "namespace": "data", "annotations": wish}
    body = {"apiVersion": API_VERSION, "kind": OPENSEARCH.resource.kind, "metadata": meta, "spec": spec}
    read: Any = await api.create(OPENSEARCH.resource, body, namespace="data")
    key, pools = Key("data", "logs"), {"metadata": {"annotations": {names.ANNOTATION_RESTART_POOLS: "hot"}}}
    await api.patch(OPENSEARCH.resource, key, pools, kind=PatchKind.MERGE)
    with pytest.raises(Conflict):
        await carry_out(api, a.ClearSchedule(why="x"), read)
    found = await api.get(OPENSEARCH.resource, key)
    assert found.metadata.annotations == {**wish, names.ANNOTATION_RESTART_POOLS: "hot"}
