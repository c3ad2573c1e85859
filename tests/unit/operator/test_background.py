"""Long computations do not block the event loop; they have limits, and namespaces take turns."""

import asyncio
import base64
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import msgspec
import pytest
from msgspec import structs

from stateward.api.kinds.package import Package as PackageObject
from stateward.api.kinds.package import PackageSpec
from stateward.api.values.base import Metadata
from stateward.api.values.problem import Severity
from stateward.engines.connection import worker as shared
from stateward.operator.installations.execution import background as beside_module
from stateward.operator.installations.execution import worker
from stateward.operator.installations.execution.background import WorkerPool, in_foreground
from stateward.operator.installations.execution.jobs import OpenPackage, RenderNested, RenderObjects, RenderStep
from stateward.operator.installations.execution.opening import NoPackageError
from stateward.operator.installations.execution.worker import NotNowError, in_process
from stateward.packages.distribution.archive import pack
from stateward.packages.format.parameters import BadValue
from stateward.packages.format.reading import read_package
from stateward.packages.format.records import Task, TaskKind, TaskSpec
from stateward.packages.rendering.nested import Offer
from stateward.packages.rendering.objects import Rendered
from stateward.packages.rendering.rendering import Use, places
from stateward.packages.rendering.step_budget import Allowance
from stateward.packages.rendering.templates import TemplateProblem, Variables
from stateward.packages.review.checks import check_package
from tests.unit.packages.samples import CONFIG, files, shop

PATIENCE = 20.0
"""Seconds after which a job that blocks the loop ends, so that the test fails instead of hanging."""
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"


class Slow:
    """A job in the thread that the test continues."""

    may_be_small: ClassVar[bool] = True

    def __init__(self, error: Exception | None = None) -> None:
        self.namespace = "prod"
        self.loop, self.begun, self.may = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        self._error = error

    def do(self, allowance: Allowance | None = None) -> str:
        assert allowance is not None
        self.loop.call_soon_threadsafe(self.begun.set)
        assert self.may.wait(PATIENCE), "the loop waits for the rendering"
        if self._error is not None:
            raise self._error
        return "done"


def objects(template: str, **values: Any) -> RenderObjects:
    return RenderObjects("t.yaml", template, Variables("web", "prod", "shop", "1", "1", values))


def opening(namespace: str = "prod", changes: Mapping[str, str | None] | None = None) -> OpenPackage:
    content = files(changes)
    found = read_package(content)
    spec = PackageSpec(name=found.name, version=found.version, archive=base64.b64encode(pack(content)).decode())
    return OpenPackage(PackageObject(kind="Package", metadata=Metadata(name="shop-1", namespace=namespace), spec=spec))


@pytest.mark.parametrize("fails", [False, True])
async def test_the_loop_continues_while_a_package_is_rendered(*, fails: bool) -> None:
    job = Slow(KeyError("of the package") if fails else None)
    rendering = asyncio.create_task(WorkerPool()(job))
    await job.begun.wait()
    job.may.set()
    if fails:
        with pytest.raises(KeyError, match="of the package"):
            await rendering
    else:
        assert await rendering == "done"


async def test_what_a_process_does_is_what_is_done_here() -> None:
    use = Use(shop(), "web", "prod", {"COUNT": 3})
    for place in places(use.package, "deploy"):
        job = RenderStep(use, place)
        assert await in_process(job) == job.do() == await in_foreground(job)
    assert await in_process(opening()) == opening().do()


@pytest.mark.parametrize("template", ["a: [", HEAD + "  a: {{ fail .Params.WORD }}", "{{ .Params.NONE }}", "x"])
async def test_what_is_wrong_with_a_template_is_reported_by_a_process_as_it_is_here(template: str) -> None:
    job = objects(template, WORD="s3cret")
    with pytest.raises(TemplateProblem) as here:
        job.do()
    with pytest.raises(TemplateProblem) as there:
        await WorkerPool()(job)
    assert (str(there.value), there.value.public) == (str(here.value), here.value.public)


async def test_other_errors_come_from_a_process_as_they_are() -> None:
    use = Use(shop(), "web", "prod", {"COUNT": [1]})
    with pytest.raises(BadValue, match="is no integer"):
        await in_process(RenderStep(use, next(places(use.package, "deploy"))))
    body = opening().body
    with pytest.raises(NoPackageError, match="is not a") as error:
        await in_process(OpenPackage(structs.replace(body, spec=structs.replace(body.spec, archive="bm9uZQ=="))))
    assert error.value.reason == "PackageBroken"


async def test_a_package_that_works_is_opened_although_a_branch_that_no_value_takes_has_a_mistake() -> None:
    """`verify` refuses it. An update of the operator must not stop an installation that has worked until now."""
    wrong = '{{ if eq .Params.MODE "fast" }}{{ .Params.NOWHERE }}{{ end }}'
    changes = {"templates/config.yaml": CONFIG + wrong}
    found = shop(changes)
    assert any(problem.severity is Severity.ERROR for problem in check_package(found))
    assert opening(changes=changes).do().digest == found.digest


async def test_the_installation_of_another_package_is_rendered_in_a_process() -> None:
    package = replace(shop(), templates={"values.yaml": "A: '{{ .Params.COUNT }}'"})
    task = Task(name="n", kind=TaskKind.OPERATOR, spec=TaskSpec(package="other", parameter_file="values.yaml"))
    use = Use(package, "web", "prod", {"COUNT": 3})
    job = RenderNested(use, next(places(package, "deploy")), task, Offer("other-1", "other", "1", "1"))
    assert await in_process(job) == job.do()
    assert job.do()["spec"]["parameters"] == {"A": "3"}


async def test_small_work_starts_no_process_and_large_work_does(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []

    async def counted(job: Any) -> Any:
        started.append(job)
        return await in_process(job)

    monkeypatch.setattr(beside_module, "in_process", counted)
    beside = WorkerPool()
    many = "{{ range $i := until 600 }}" + "  k{{ $i }}: {{ repeat 1000 `x` }}\n" + "{{ end }}"
    assert len(await beside(objects(HEAD + "  a: b"))) == 1
    assert started == []
    found: list[Rendered] = await beside(objects(HEAD + many))
    assert len(found[0].body["data"]) == 600
    assert len(started) == 1


@pytest.mark.parametrize(
    ("template", "limit"),
    [
        ("{{ repeat 999999 `- a\n` }}", "repeat: would produce"),
        ("{{ $x := repeat 200000 `- a\n` }}{{ $x }}{{ $x }}{{ $x }}", "more than 200000 nodes"),
        (HEAD + "  a: {{ range until 9000 }}{{ repeat 999 `x` }}{{ end }}", "output"),
    ],
)
async def test_a_short_template_that_makes_very_much_ends_by_a_limit_that_is_named(template: str, limit: str) -> None:
    """One line with 4 MB of output took a minute of the one thread there was, and more than a gigabyte of memory."""
    before = time.process_time()
    with pytest.raises(TemplateProblem, match=limit) as error:
        await WorkerPool()(objects(template))
    assert limit in error.value.public
    assert time.process_time() - before < 2, "in this process"


async def test_a_step_of_many_templates_has_a_limit_on_all_of_them() -> None:
    package, names = shop(), [f"m{n}.yaml" for n in range(18)]
    place = next(places(package, "deploy"))
    task = package.task(place.step.tasks[0])
    wide = structs.replace(task, spec=structs.replace(task.spec, resources=tuple(names)))
    tasks = tuple(wide if each.name == task.name else each for each in package.operator.tasks)
    text = HEAD + "{{ range $i := until 1000 }}  k{{ $i }}: {{ repeat 1000 `x` }}\n{{ end }}"
    package = replace(
        package, operator=structs.replace(package.operator, tasks=tasks), templates=dict.fromkeys(names, text)
    )
    with pytest.raises(TemplateProblem, match="more characters together than the 16777216 allowed") as error:
        await in_process(RenderStep(Use(package, "web", "prod"), place))
    assert f"step {place.phase}/{place.step.name} cannot be rendered" in error.value.public


async def test_a_process_that_takes_too_long_is_ended_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "SECONDS", 0.05)
    with pytest.raises(TemplateProblem, match=r"takes more than the 0.05 s") as error:
        await in_process(objects(HEAD + "  a: b"))
    assert "t.yaml" in error.value.public
    with pytest.raises(NoPackageError, match=r"shop-1 cannot be opened: it takes more than"):
        await in_process(opening())


async def test_a_process_that_is_killed_fails_its_job_with_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "__name__", "os")  # a module that ends without an answer, as a killed process does
    with pytest.raises(TemplateProblem, match=r"15 s of processor time or 320 MiB"):
        await in_process(objects(HEAD + "  a: b"))


def test_a_result_that_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LARGEST", 10)
    with pytest.raises(worker.TooLargeError, match="the result has"):
        list(worker.do_job(iter([msgspec.msgpack.encode(objects(HEAD + "  a: b"))])))


async def test_without_a_process_it_is_held_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none)
    with pytest.raises(NotNowError, match="temporarily unavailable"):
        await in_process(objects(HEAD + "  a: b"))


async def test_each_namespace_has_one_job_at_a_time_and_the_others_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[str] = []
    order: list[str] = []
    held = asyncio.Event()

    async def counted(job: Any) -> str:
        running.append(job.namespace)
        assert running.count(job.namespace) == 1
        assert len(running) <= beside_module.PLACES
        order.append(job.namespace)
        if job.namespace == "bad":
            await held.wait()
        await asyncio.sleep(0)
        running.remove(job.namespace)
        return job.namespace

    monkeypatch.setattr(beside_module, "in_process", counted)
    beside = WorkerPool()
    bad = [asyncio.create_task(beside(opening("bad"))) for _ in range(20)]
    await asyncio.sleep(0)
    good = [f"good-{n}" for n in range(5)]
    async with asyncio.timeout(PATIENCE):
        assert await asyncio.gather(*(beside(opening(name)) for name in good)) == good
    assert order.count("bad") == 1
    held.set()
    assert await asyncio.gather(*bad) == ["bad"] * 20
