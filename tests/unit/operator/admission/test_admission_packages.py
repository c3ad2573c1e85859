"""Questions about installations and packages: packages themselves answer them, and what is in doubt is let through."""

import base64
from typing import Any, TypeVar

import msgspec

from stateward.api.values.base import Json
from stateward.kube.objects.errors import ApiError, Unavailable
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.installations.execution.background import Job, in_foreground
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import read_package
from tests.unit.cli.fake_api import FakeApi
from tests.unit.packages.samples import files

T = TypeVar("T")


def package(name: str = "shop-1.2.0", kind: str = "Package", namespace: str = "prod", **replaced: Any) -> Json:
    content = files(None, **replaced)
    found = read_package(content)
    archive = base64.b64encode(pack(content)).decode()
    spec = {"name": found.name, "version": found.version, "archive": archive, "digest": found.digest}
    meta = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}
    return {"apiVersion": "stateward.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}


def installation(parameters: Json, package: str = "shop-1.2.0") -> Json:
    meta = {"name": "web", "namespace": "prod"}
    spec = {"package": package, "parameters": parameters}
    return {"apiVersion": "stateward.dev/v1alpha1", "kind": "Installation", "metadata": meta, "spec": spec}


async def asked(api: FakeApi, new: Json | None, old: Json | None = None, namespaces: tuple[str, ...] = ("",)) -> Json:
    kind = (new or old or {}).get("kind", "")
    request = {"uid": "q-1", "kind": {"kind": kind}, "object": new, "oldObject": old}
    question = msgspec.json.encode({"kind": "AdmissionReview", "request": request})
    answer = await PackageReviews(api, namespaces).respond(question)
    assert answer["response"]["uid"] == "q-1"
    return answer["response"]


async def test_a_wrong_value_is_refused() -> None:
    api = FakeApi()
    api.add("swpackages", package())
    assert (await asked(api, installation({"COUNT": 3})))["allowed"]
    found = await asked(api, installation({"COUNT": "many"}))
    assert not found["allowed"]
    assert found["status"]["message"] == "spec.parameters.COUNT: 'many': must be a whole number"


async def test_a_wrong_value_is_refused_also_if_python_takes_it_for_the_one_before() -> None:
    api = FakeApi()
    api.add("swpackages", package())
    assert (await asked(api, installation({"COUNT": 1}), installation({"COUNT": 1.0})))["allowed"]
    found = await asked(api, installation({"COUNT": True}), installation({"COUNT": 1}))
    assert found["status"]["message"] == "spec.parameters.COUNT: True: must be a whole number"


async def test_a_package_of_the_cluster_counts_where_the_operator_sees_those() -> None:
    api = FakeApi()
    api.served.add("swclusterpackages")
    api.add("swclusterpackages", package(kind="ClusterPackage", namespace=""))
    assert not (await asked(api, installation({"COUNT": "many"})))["allowed"]
    assert (await asked(api, installation({"COUNT": "many"}), namespaces=("prod",)))["allowed"]


async def test_an_installation_may_come_before_its_package_and_gets_an_error_that_says_so() -> None:
    api = FakeApi()
    api.served.add("swclusterpackages")
    found = await asked(api, installation({"COUNT": "many"}))
    assert found["allowed"]
    assert found["warnings"][0].startswith("spec.package: there is no Package 'shop-1.2.0' in namespace prod")


async def test_what_changes_neither_spec_nor_annotations_is_not_judged() -> None:
    api = FakeApi()
    api.refusal = ApiError("no lookup is allowed")
    wrong = installation({"COUNT": "many"})
    assert (await asked(api, wrong, wrong))["allowed"]
    going = {**wrong, "metadata": {**wrong["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert (await asked(api, going, installation({})))["allowed"]


async def test_a_server_that_does_not_respond_blocks_no_other_request() -> None:
    api = FakeApi()
    api.refusal = Unavailable("later")
    assert (await asked(api, installation({"COUNT": "many"})))["allowed"]
    assert (await asked(api, None, installation({})))["allowed"]


async def test_a_package_that_cannot_work_is_refused() -> None:
    api = FakeApi()
    assert (await asked(api, package()))["allowed"]
    broken = package()
    broken["spec"]["archive"] = base64.b64encode(b"nothing").decode()
    assert "is not a" in (await asked(api, broken))["status"]["message"]
    wrong = package()
    wrong["spec"]["digest"] = "sha256:other"
    assert "says its digest is sha256:other" in (await asked(api, wrong))["status"]["message"]


async def test_two_contents_of_one_version_are_refused_per_namespace() -> None:
    api = FakeApi()
    api.add("swpackages", package("first"))
    other = package("second", app=("image: shop:", "image: store:"))
    assert "first is shop 1.2.0 already" in (await asked(api, other))["status"]["message"]
    assert (await asked(api, package("third")))["allowed"]
    elsewhere = package("second", namespace="test", app=("image: shop:", "image: store:"))
    assert (await asked(api, elsewhere))["allowed"]


async def test_a_package_is_judged_when_it_is_created_and_where_the_process_wants_it_opened() -> None:
    """Its content never changes, so an edit of its labels is let through whatever else exists."""
    api, opened = FakeApi(), list[object]()

    async def background(job: Job[T]) -> T:
        opened.append(job)
        return await in_foreground(job)

    new = package()
    for old, count in ((new, 0), (None, 1)):
        request = {"uid": "q-1", "kind": {"kind": "Package"}, "object": new, "oldObject": old}
        question = msgspec.json.encode({"kind": "AdmissionReview", "request": request})
        await PackageReviews(api, ("",), background).respond(question)
        assert len(opened) == count
