"""A workload that uses very many objects takes neither memory nor requests of the operator, and an event says so."""

from types import SimpleNamespace
from typing import Any

import pytest

from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.views import ANNOTATION_CONTROL, Workload
from stateward.packages.restarts.digests import RootKey
from stateward.packages.restarts.guards import MOST_USED
from tests.support.moved_clock import MovedClock

APP = Workload(kind="Deployment", namespace="ns", name="app")


class OneWorkload:
    """An API server with one Deployment; it counts what is read."""

    def __init__(self, names: list[str]) -> None:
        env = [{"valueFrom": {"configMapKeyRef": {"name": name, "key": "k"}}} for name in names]
        meta = {"name": "app", "namespace": "ns", "annotations": {ANNOTATION_CONTROL: "true"}}
        template = {"spec": {"containers": [{"name": "c", "env": env}]}}
        self.body: dict[str, Any] | None = {"metadata": meta, "spec": {"template": template}}
        self.reads = 0

    async def get(self, _resource: Any, key: Key) -> Any:
        self.reads += 1
        if key == APP.key and self.body is not None:
            return self.body
        raise NotFound(f"{key} does not exist")


async def test_it_is_not_remembered_and_its_objects_are_not_read() -> None:
    api, said = OneWorkload([f"c{number}" for number in range(MOST_USED + 1)]), list[Any]()
    control: Any = RestartControl(Setting(api, SimpleNamespace(record=said.append), MovedClock(), "operator"))  # type: ignore[arg-type]
    control._workloads = {"Deployment": SimpleNamespace(get={APP.key: SimpleNamespace(metadata=META)}.get)}
    assert await control.reconcile(APP) is None
    assert api.reads == 1
    assert not control._uses._sources
    assert not control._uses._users
    assert [each.reason for each in said] == ["RestartSourcesTooMany"]
    await control.reconcile(APP)
    assert len(said) == 1
    api.body = None
    await control.reconcile(APP)
    assert not control._said


class WholeConfigMaps(OneWorkload):
    """An API server with a Deployment that uses ConfigMaps with all of their many keys."""

    def __init__(self, count: int) -> None:
        super().__init__([])
        sources = [{"configMapRef": {"name": f"config-{number}"}} for number in range(count)]
        assert self.body is not None
        self.body["spec"]["template"]["spec"]["containers"] = [{"name": "c", "envFrom": sources}]
        self.patched = 0

    async def get(self, resource: Any, key: Key) -> Any:
        if key.name.startswith("config-"):
            return {"metadata": {"name": key.name}, "data": {f"{'KEY' * 13}{number}": "v" for number in range(64)}}
        return await super().get(resource, key)

    async def patch(self, *_args: Any, **_options: Any) -> Any:
        self.patched += 1
        return self.body


@pytest.mark.parametrize(("count", "told"), [(30, []), (60, ["RestartSourcesTooMany"])])
async def test_a_record_that_no_annotation_can_hold_is_not_written_and_an_event_says_so(
    count: int, told: list[str]
) -> None:
    """The server refused it in each round, and no event said why the workload does not restart."""
    api, said = WholeConfigMaps(count), list[Any]()
    control: Any = RestartControl(Setting(api, SimpleNamespace(record=said.append), MovedClock(), "operator"))  # type: ignore[arg-type]
    control._workloads = {"Deployment": SimpleNamespace(get={APP.key: SimpleNamespace(metadata=META)}.get)}
    control._key = RootKey(b"k" * 32)
    await control.reconcile(APP)
    await control.reconcile(APP)
    assert [each.reason for each in said] == told
    assert bool(api.patched) is not bool(told)


META = SimpleNamespace(name="app", namespace="ns", uid="1")
