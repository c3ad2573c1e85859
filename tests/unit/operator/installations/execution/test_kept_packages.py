"""Packages and steps that are kept in memory: their size is limited, and not only their number."""

import base64
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.package import Package as PackageObject
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.operator.installations.execution.background import in_foreground
from stateward.operator.installations.execution.jobs import RenderStep
from stateward.operator.installations.execution.kept import LARGEST, Kept, size_of
from stateward.operator.installations.execution.library import Library
from stateward.operator.installations.execution.opening import NoPackageError, open_package
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.packages.distribution.archive import pack
from stateward.packages.plans.steps import Work
from stateward.packages.rendering.objects import Rendered
from stateward.packages.rendering.rendering import Use, places
from tests.unit.packages.samples import files, shop


class Packages:
    """An API server with any number of packages: a few kilobytes each, and 4 MiB when they are unpacked."""

    def __init__(self) -> None:
        padding = {f"templates/large-{number}.yaml": b"#" * 900_000 for number in range(4)}
        archive = pack({**files(), **padding})
        assert len(archive) < 10_000
        self.spec = {"name": "shop", "version": "1.2.0", "archive": base64.b64encode(archive).decode()}
        self.asked = 0

    async def get(self, resource: Any, key: Key) -> Any:
        self.asked += 1
        meta = {"name": key.name, "namespace": key.namespace, "uid": f"uid-{key.namespace}-{key.name}"}
        return msgspec.convert({"metadata": meta, "spec": self.spec}, resource.view, strict=False)


async def test_packages_of_one_tenant_do_not_fill_the_memory_of_the_operator() -> None:
    api: Any = Packages()
    library = Library(api, ("data",), in_foreground)
    for number in range(30):
        found = await library.read("data", f"shop-{number}")
        assert size_of(found) > 3_600_000
    assert LARGEST / 2 < library.kept.size <= LARGEST


async def test_a_tenant_with_many_packages_does_not_evict_those_of_others() -> None:
    api: Any = Packages()
    library = Library(api, ("data", "evil"), in_foreground)
    mine = await library.read("data", "shop")
    for number in range(30):
        await library.read("evil", f"shop-{number}")
    assert await library.read("data", "shop") is mine


async def test_steps_of_one_tenant_do_not_fill_the_memory_of_the_operator() -> None:
    """A step may render to 4 MiB of text, and to many times as much of objects: 128 of them were kept."""

    async def render(job: RenderStep) -> Work:
        body = {"data": ["x" * 900_000 + str(number) for number in range(4)], "of": job.use.name}
        return Work((Rendered("large.yaml", body),), (), ())

    background: Any = render
    steps = RenderedSteps(background)
    place = next(places(shop(), "deploy"))
    for number in range(30):
        await steps.of(Use(shop(), f"shop-{number}", "data"), place)
    assert LARGEST / 2 < steps.kept.size <= LARGEST


def test_what_was_read_from_a_text_counts_as_what_it_takes() -> None:
    assert size_of([[] for _ in range(1000)]) > 50_000


def test_what_was_used_last_stays() -> None:
    kept = Kept[str](3000)
    for name in ("first", "second"):
        kept.keep("data", name, "x" * 1000)
    assert kept.get("data", "first") is not None
    kept.keep("data", "third", "x" * 1000)
    assert [name for name in ("first", "second", "third") if kept.get("data", name)] == ["first", "third"]
    kept.keep("evil", "all", "x" * 5000)
    assert kept.get("evil", "all") is None
    assert kept.get("data", "third") is not None
    kept.keep("data", "third", "y")
    assert kept.size < 1500


def known(namespace: str, name: str) -> PartialObject:
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": "1"}
    return msgspec.convert({"metadata": meta}, PartialObject, strict=False)


async def test_what_packages_are_called_is_read_once_for_each_of_them() -> None:
    """A task that installs another package compares all of them, in each round: a thousand with a megabyte each."""
    api: Any = Packages()
    library = Library(api, ("data", "evil"), in_foreground)
    library.packages.feed("data").replace([known("data", f"shop-{number}") for number in range(20)], "1")
    for _ in range(3):
        assert [offer.object for offer in await library.offers("data")][:2] == ["shop-0", "shop-1"]
    assert api.asked == 20


async def test_a_package_that_is_deleted_meanwhile_is_not_offered() -> None:
    class Gone(Packages):
        async def get(self, resource: Any, key: Key) -> Any:
            raise NotFound(f"{resource.kind} {key}")

    api: Any = Gone()
    library = Library(api, ("data",), in_foreground)
    library.packages.feed("data").replace([known("data", "shop")], "1")
    assert await library.offers("data") == []


def test_the_problems_of_a_hostile_package_fill_no_status() -> None:
    """They come as text of megabytes, and conditions repeat it."""
    parameters = "parameters:\n" + "- {name: A}\n" * 20_000
    archive = base64.b64encode(pack({**files(), "params.yaml": parameters.encode()})).decode()
    body = msgspec.convert(
        {"metadata": {"name": "shop"}, "spec": {"name": "shop", "version": "1.2.0", "archive": archive}},
        PackageObject,
        strict=False,
    )
    with pytest.raises(NoPackageError) as refused:
        open_package(body)
    assert len(refused.value.message) < 6000
