# pyright: reportUnknownLambdaType=false, reportArgumentType=false
"""A user that writes an object a thousand times in a second does not make the operator look as often at what uses it.

The first event leads to work at once.
"""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stateward.kube.cache.deltas import Change, Delta
from stateward.kube.cache.store import Store
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta
from stateward.kube.objects.pods import Pod
from stateward.kube.queue.event_pace import BURST, EventPace
from stateward.kube.queue.queue import WorkQueue
from stateward.operator.clusters.controller import Controller
from stateward.operator.declared.controller import OBJECTS, USERS, KindControl
from stateward.operator.declared.controller import Setting as DeclaredSetting
from stateward.operator.installations import controller as installations
from stateward.operator.observe.referenced_data import ReferencedData
from stateward.operator.restarts.control import RestartControl
from stateward.operator.restarts.control import Setting as RestartSetting
from stateward.operator.restarts.views import SourceView, Workload, WorkloadView
from stateward.operator.scaling.control import ScalingControl
from stateward.operator.scaling.control import Setting as ScalingSetting
from stateward.packages.restarts.dependencies import SECRET, Dependency
from tests.support.moved_clock import MovedClock

SOURCE, USER = Key("ns", "words"), Key("ns", "app")
EVENTS, SECONDS = 1000, 1.0


class Empty:
    """An API server without any object."""

    async def get(self, _resource: Any, key: Key) -> Any:
        raise NotFound(f"{key} does not exist")


async def rounds(
    clock: MovedClock, queue: WorkQueue[Any], event: Callable[[], object], work: Callable[[Any], Awaitable[object]]
) -> int:
    """Return how many rounds the events of a second lead to, if each takes no time; the first comes at once."""
    done = 0
    for number in range(EVENTS):
        event()
        queue._promote()
        while len(queue):
            key = await queue.get()
            await work(key)
            queue.done(key)
            done += 1
        assert done or number, "the first event waits for nothing"
        clock.later(SECONDS / EVENTS)
    return done


def changed() -> Delta[Any]:
    return Delta(Change.CHANGED, SOURCE, SourceView(), SourceView())


async def test_a_cluster_whose_data_changes_all_the_time() -> None:
    clock = MovedClock()
    control: Any = Controller.__new__(Controller)
    control.queue = WorkQueue[Key](clock=clock)
    control._pace = EventPace(control.queue, clock)
    control.data = ReferencedData(Empty(), "operator", clock)
    control._reconciler = SimpleNamespace(reconcile=nothing)
    control.data._uses.put(USER, "ns", [Dependency(SECRET, "words")])
    watch: Store[SourceView] = Store("secrets")
    heard = list[Callable[[Delta[SourceView]], None]]()
    watch.subscribe = heard.append  # type: ignore[method-assign, assignment]
    control.follow({SECRET: watch})
    assert await rounds(clock, control.queue, lambda: heard[0](changed()), control._reconcile) <= BURST + 1


async def nothing(*_: object) -> None:
    return None


@pytest.mark.parametrize("kind", [OBJECTS, USERS])
async def test_declared_resources_whose_secret_or_spec_changes_all_the_time(kind: Any) -> None:
    clock = MovedClock()
    control: Any = KindControl(kind, DeclaredSetting(Empty(), None, None, clock, "operator", ()))
    using = Pod(metadata=ObjectMeta(name=USER.name, namespace=USER.namespace))
    control.objects = SimpleNamespace(indexed=lambda *_: [using])
    assert await rounds(clock, control._queue, lambda: control._on_secret(changed()), control.reconcile) <= BURST + 1
    control.objects = SimpleNamespace(indexed=lambda *_: [])
    delta = Delta(Change.CHANGED, Key("ns", "other"), SimpleNamespace(**SPEC), SimpleNamespace(**SPEC))
    assert await rounds(clock, control._queue, lambda: control._on_object(delta), control.reconcile) <= BURST + 1


SPEC: dict[str, Any] = {
    "metadata": SimpleNamespace(name="other", namespace="ns"),
    "spec": SimpleNamespace(cluster=SimpleNamespace(kind=SimpleNamespace(value="OpenSearchCluster"), name="logs")),
}


async def test_installations_whose_package_or_objects_change_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MovedClock()
    monkeypatch.setattr(installations, "reconcile", nothing)
    control: Any = installations.InstallationControl(
        installations.Setting(Empty(), None, clock, "operator", kinds=object())
    )
    control._shared = object()
    using = Pod(metadata=ObjectMeta(name=USER.name, namespace=USER.namespace))
    control._installations = SimpleNamespace(all=lambda: [using])
    for event in (lambda: control._on_package(changed()), lambda: control._watches._hear(USER)):
        clock.later(100)
        assert await rounds(clock, control._queue, event, control.reconcile) <= BURST + 1


async def test_a_workload_that_changes_all_the_time() -> None:
    clock = MovedClock()
    control: Any = RestartControl(RestartSetting(Empty(), None, clock, "operator"))
    heard = control._on_workload("Deployment")
    asks = {"metadata": {"annotations": {"stateward.dev/restart-on-change": "true"}}}

    def event() -> None:
        number = clock.monotonic()
        views = [workload(asks, int(number * 2000) + more) for more in (0, 1)]
        heard(Delta(Change.CHANGED, USER, views[0], views[1]))

    assert await rounds(clock, control._queue, event, control.reconcile) <= BURST + 1


def workload(body: Any, generation: int) -> WorkloadView:
    return msgspec.convert({"metadata": body["metadata"] | {"generation": generation}}, WorkloadView)


async def test_the_data_of_a_workload_is_read_once_it_has_settled() -> None:
    clock = MovedClock()
    control: Any = RestartControl(RestartSetting(Empty(), None, clock, "operator"))
    control._uses.put(Workload(kind="Deployment", namespace="ns", name="app"), "ns", [Dependency(SECRET, "words")])
    heard, done = control._on_source(SECRET), 0
    for _ in range(60 * 100):
        heard(changed())
        control._queue._promote()
        while len(control._queue):
            key = await control._queue.get()
            control._pace.begun(key)
            control._queue.done(key)
            done += 1
        clock.later(0.01)
    assert 10 <= done <= 12


async def test_a_scale_that_changes_all_the_time() -> None:
    clock = MovedClock()
    scales = SimpleNamespace(get=lambda _: None, indexed=lambda *_: [])
    control: Any = ScalingControl(ScalingSetting(Empty(), clock, scales, ()))
    event = lambda: control._on_scale(Delta(Change.CHANGED, USER, None, None))  # noqa: E731
    assert await rounds(clock, control._queue, event, control.reconcile) <= BURST + 1
