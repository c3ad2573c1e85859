"""What one reconciliation of an installation may rely on, and what it has to ask for."""

from collections import Counter
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from stateward.api.kinds.installation import Installation, InstallationSpec
from stateward.api.values.base import Metadata
from stateward.kube.client.client import Page
from stateward.kube.objects.metadata import Key, ObjectMeta, PartialObject
from stateward.operator.installations import finish, reconcile
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.finish import Finisher
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.objects.owned_objects import OwnedObject
from stateward.operator.installations.objects.scaling import as_scaled
from stateward.operator.installations.objects.views import ANNOTATION_KINDS, FINALIZER, LABEL_SET, kinds_text
from stateward.operator.installations.objects.watches import Watches
from stateward.operator.installations.objects.write_memory import WriteMemory
from stateward.operator.installations.status_writer import StatusWriter
from stateward.packages.plans.steps import set_id
from stateward.packages.rendering.objects import Identity
from tests.unit.operator.installations.execution.test_tasks import JOB, SERVICE, package
from tests.unit.operator.installations.world import HOME, KnownKinds, World
from tests.unit.operator.stand_ins import always

NAME = Key(HOME, "web")
SET = set_id(NAME.name, NAME.namespace)
MAP = ("", "ConfigMap")
WORK = Identity("apps", "Deployment", HOME, "w")


def installation(*, going: bool = False, version: str = "1") -> Installation:
    """Return an installation whose marks name ConfigMaps."""
    meta = Metadata(
        name=NAME.name,
        namespace=NAME.namespace,
        uid="u",
        resource_version=version,
        deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
        annotations={ANNOTATION_KINDS: kinds_text([MAP])},
        labels={LABEL_SET: SET},
        finalizers=[FINALIZER],
    )
    return Installation(metadata=meta, spec=InstallationSpec(package="other-1"))


def shared(**known: Any) -> SharedTools:
    """Return shared tools with these parts, and without any other."""
    parts: dict[str, Any] = {each.name: None for each in fields(SharedTools)}
    parts |= {"written": dict[Key, str](), "findable": dict[Any, float](), **known}
    return SharedTools(**parts)


@pytest.mark.parametrize(
    ("live", "unreadable", "renewed", "shown"),
    [
        (installation(), False, True, True),
        (installation(), False, False, False),
        (installation(), True, True, False),
        (installation(going=True), False, True, False),
        (None, False, True, False),
    ],
)
def test_a_plan_begins_from_the_watch_only_if_nothing_else_comes_first(
    live: Installation | None, unreadable: bool, renewed: bool, shown: bool
) -> None:
    memory = WriteMemory()
    if renewed:
        memory.renew(SET)
    store = SimpleNamespace(get=always(live), unreadable={NAME} if unreadable else set[Key]())
    assert shared(memory=memory, installations=store).shown(NAME) is (live if shown else None)


@pytest.mark.parametrize("kind", [MAP, ("", "Secret")])
async def test_only_what_was_written_counts_as_the_version_of_this_process(kind: tuple[str, str]) -> None:
    """The disaster this prevents: an outdated state from the watch counts as read live."""
    live, written = installation(), installation(version="2")

    async def patch(*_: Any, **__: Any) -> Installation:
        return written

    tools = shared(
        tools=SimpleNamespace(api=SimpleNamespace(patch=patch)),
        accounts=SimpleNamespace(user_of=always("default")),
        clock=SimpleNamespace(monotonic=lambda: 0.0),
        findable={("default", HOME, kind): 60.0},
    )
    await StatusWriter(tools, live).mark([kind])
    assert tools.written == ({} if kind == MAP else {NAME: "2"})


def test_only_a_run_that_this_process_has_begun_leaves_nothing_unknown() -> None:
    memory = WriteMemory()
    assert not memory.knows(SET, "")
    memory.begin(SET, "one", first=False)
    assert not memory.knows(SET, "one"), "what was there before was not listed"
    memory.listed(SET)
    assert [memory.knows(SET, run) for run in ("one", "two", "")] == [True, False, False]


def finisher(cached: Any, live: Any = None) -> Finisher:
    async def read(*_: Any) -> Any:
        return live

    async def each(*_: Any) -> Any:
        raise HeldError("nothing is rendered")

    tools: Any = SimpleNamespace(
        tools_of=always(SimpleNamespace(api=None, kinds=None)),
        rendered_steps=SimpleNamespace(each=each),
        applier=always(SimpleNamespace(read=read)),
        known_objects=always(cached),
    )
    return Finisher(tools, installation())


class Listed(Exception):  # noqa: N818 - no error
    """The server was asked for all objects."""


async def test_the_end_of_a_plan_lists_what_no_watch_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    async def owned(*_: Any) -> list[OwnedObject]:
        raise Listed

    monkeypatch.setattr(finish, "owned_objects", owned)
    memory = WriteMemory()
    memory.begin(SET, "one", first=True)
    cached = SimpleNamespace(memory=memory, set_id=SET, inventory=always(None))
    with pytest.raises(Listed):
        await finisher(cached).finish(SimpleNamespace(), "one")  # type: ignore[arg-type]


@pytest.mark.parametrize("live", [None, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}])
async def test_the_end_of_a_plan_waits_for_no_workload_that_is_gone_or_goes(
    monkeypatch: pytest.MonkeyPatch, live: dict[str, Any] | None
) -> None:
    async def owned(*_: Any) -> list[OwnedObject]:
        meta = PartialObject(metadata=ObjectMeta(name="w", namespace=HOME))
        return [OwnedObject(WORK, await KnownKinds().find("apps/v1", "Deployment"), meta)]

    monkeypatch.setattr(finish, "owned_objects", owned)
    cached = SimpleNamespace(memory=WriteMemory(), set_id=SET, inventory=always(None))
    use: Any = SimpleNamespace(package=SimpleNamespace(operator=SimpleNamespace(plans=())))
    assert await finisher(cached, live).finish(use, "one") == ""
    assert cached.memory.knows(SET, "") is False


@pytest.mark.parametrize(
    ("asked", "there", "scaled", "expected"),
    [(2, 5, True, 5), (2, 5, False, 2), (0, 5, True, 0), (2, 0, True, 2), (None, 5, True, None)],
)
async def test_replicas_stay_as_an_autoscaler_sets_them_unless_one_side_is_zero(
    asked: int | None, there: int, scaled: bool, expected: int | None
) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
    scalers = ({"spec": {"scaleTargetRef": target}},) if scaled else ()

    async def listed(*_: Any) -> Page[Any]:
        return Page(scalers, "1")

    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": HOME}}
    wanted: dict[str, Any] = {**head, "spec": {} if asked is None else {"replicas": asked}}
    api: Any = SimpleNamespace(list=listed)
    made = await as_scaled(api, wanted, {**head, "spec": {"replicas": there}})
    assert made["spec"].get("replicas") == expected


def test_nothing_is_known_of_a_kind_that_is_not_watched() -> None:
    nothing: Any = None
    assert Watches(nothing, KnownKinds(), (HOME,), nothing, nothing).find(MAP, NAME) is None


async def test_steps_that_are_done_at_once_take_one_reconciliation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, counted = World(), Counter[str]()
    continue_run = reconcile.continue_run

    async def counting(*arguments: Any) -> Any:
        counted["reconciliations"] += 1
        return await continue_run(*arguments)

    monkeypatch.setattr(reconcile, "continue_run", counting)
    names = ("one", "two", "three")
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in names]
    texts = {name: SERVICE.replace("NAME", name) for name in names}
    world.package("other-1", package(tasks, {"deploy": list(names)}, **texts))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
    assert counted["reconciliations"] == 1


async def test_the_cleanup_of_an_installation_that_was_never_ready_uses_the_package_of_its_first_plan() -> None:
    world = World()
    tasks: list[Any] = [
        {"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}},
        {"name": "slow", "kind": "Dummy", "spec": {"done": False}},
        {"name": "job", "kind": "Apply", "spec": {"resources": ["job.yaml"]}},
    ]
    plans = {"deploy": ["one", "slow"], "cleanup": ["job"]}
    world.package("other-1", package(tasks, plans, one=SERVICE.replace("NAME", "one"), job=JOB))
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.get("Service", "one") is not None)
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.jobs == {"job": 1}
