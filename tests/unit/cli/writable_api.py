"""An API server for commands that write: what they make, change and delete is kept."""

import copy
from collections.abc import Sequence
from typing import Any

import msgspec

from stateward.kube.client.client import Body, DeleteOptions, PatchKind
from stateward.kube.client.decoding import decode_object
from stateward.kube.objects.errors import AlreadyExists, Conflict
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource
from stateward.packages.format.reading import read_package
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.packages.samples import files

DIGEST = read_package(files()).digest

GROUPS = {
    "/api/v1": [("configmaps", "ConfigMap", True), ("services", "Service", True), ("secrets", "Secret", True)],
    "/apis/apps/v1": [("deployments", "Deployment", True), ("statefulsets", "StatefulSet", True)],
    "/apis/batch/v1": [("jobs", "Job", True)],
}


class WritableApi(FakeApi):
    """Keeps packages and installations, and knows a few kinds of objects."""

    def __init__(self) -> None:
        super().__init__()
        self.served.add("swclusterpackages")
        for path, kinds in GROUPS.items():
            names = ("name", "kind", "namespaced")
            self.requests[path] = {"resources": [dict(zip(names, kind, strict=True)) for kind in kinds]}
        self.requests["/api"] = {"versions": ["v1"]}
        versions = {group: {"version": "v1", "groupVersion": f"{group}/v1"} for group in ("apps", "batch")}
        groups = [{"name": name, "preferredVersion": v, "versions": [v]} for name, v in versions.items()]
        self.requests["/apis"] = {"groups": groups}

    def names(self, plural: str) -> list[str]:
        """Return the names of the objects of a kind."""
        return sorted(key.name for found, key in self.objects if found == plural)

    def there(self, plural: str, name: str, namespace: str = "default") -> dict[str, Any]:
        """Return an object that has to be there."""
        return self.objects[plural, Key(namespace, name)]

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        made = msgspec.json.decode(msgspec.json.encode(body))
        key = Key(namespace, made["metadata"]["name"])
        if (resource.plural, key) in self.objects:
            raise AlreadyExists(f"{resource.plural} {key.name!r} already exists")
        made["metadata"] |= {"namespace": namespace, "uid": f"uid-{len(self.objects)}", "resourceVersion": "1"}
        self.objects[resource.plural, key] = made
        return decode_object(resource.view, msgspec.json.encode(made))

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        await self.get(resource, key)
        changed = copy.deepcopy(self.objects[resource.plural, key])
        change = msgspec.json.decode(msgspec.json.encode(body))
        if kind is PatchKind.MERGE:
            changed["metadata"].setdefault("annotations", {}).update(change["metadata"]["annotations"])
        for step in change if kind is PatchKind.JSON else []:
            *path, last = step["path"].strip("/").split("/")
            place = changed
            for name in path:
                place = place[name]
            if step["op"] != "test":
                place[last] = step["value"]
            elif place[last] != step["value"]:
                raise Conflict(f"{key} has changed")
        self.objects[resource.plural, key] = changed
        return decode_object(resource.view, msgspec.json.encode(changed))

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        await self.get(resource, key)
        uid = options.preconditions.uid if options.preconditions else ""
        if uid != self.objects[resource.plural, key]["metadata"].get("uid", ""):
            raise Conflict(f"{key} is another one")
        del self.objects[resource.plural, key]
        return None


def good(run: Run, *words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output + result.stderr
    return result.output


def bad(run: Run, *words: str) -> str:
    result = run(*words)
    assert result.exit_code == 1, result.output
    return result.stderr


def installed(api: WritableApi, name: str = "web", **more: Any) -> dict[str, Any]:
    """Give an installation the status that the operator would write."""
    body = api.there("swinstallations", name)
    state: dict[str, Any] = {"package": body["spec"]["package"], "digest": DIGEST, "version": "1.2.0"}
    state |= {"parameters": {"STORAGE": "1Gi"} | body["spec"]["parameters"], "immutable": ["STORAGE"]}
    past = {"plan": "deploy", "description": "the package is installed for the first time", "version": "1.2.0"}
    times = {"startTime": "2026-11-21T10:00:00.000000Z", "completionTime": "2026-11-21T10:01:00.000000Z"}
    status = {
        "installed": state,
        "history": [past | times | {"stage": "Done"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    body["status"] = status | more
    return body
