"""The world in which a contract is checked: an API, a namespace of its own, and a clock."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key, KubeObject, PartialObject
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS, STATEFUL_SETS
from stateward.kube.timing.clock import Clock

MAPS = CONFIG_MAPS.raw()


@dataclass(frozen=True)
class World:
    """One API server (real or not), with an empty namespace to work in."""

    api: Api
    namespace: str
    clock: Clock

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    def manifest(self, resource: Resource[Any], name: str, **fields: Any) -> dict[str, Any]:
        """Return the manifest of an object in this world's namespace."""
        meta = {"name": name, "namespace": self.namespace, **fields.pop("metadata", {})}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **fields}

    async def config_map(self, name: str, data: dict[str, str] | None = None, **meta: Any) -> PartialObject:
        body = self.manifest(CONFIG_MAPS, name, metadata=meta, data=data or {"a": "1"})
        return await self.api.create(CONFIG_MAPS, body, namespace=self.namespace)

    async def secret(self, name: str) -> PartialObject:
        body = self.manifest(SECRETS, name, stringData={"password": "hidden"})
        return await self.api.create(SECRETS, body, namespace=self.namespace)

    async def data(self, name: str) -> dict[str, str]:
        return (await self.api.get(MAPS, self.key(name))).get("data", {})

    async def apply_map(self, name: str, manager: str, data: dict[str, str], **options: Any) -> PartialObject:
        body = self.manifest(CONFIG_MAPS, name, data=data)
        return await self.api.apply(CONFIG_MAPS, self.key(name), body, ApplyOptions(manager, **options))

    async def pod_on_lost_node(self, name: str, **meta: Any) -> Pod:
        """Create a pod that counts as running on a node without a kubelet: its deletion waits."""
        return await self.pod(name, node="nowhere", **meta)

    async def pod(self, name: str, node: str = "", **meta: Any) -> Pod:
        """Create a pod; without a node no scheduler takes it, and its deletion waits for nothing."""
        account = self.manifest(SERVICE_ACCOUNTS, "default")
        await self.api.apply(SERVICE_ACCOUNTS, self.key("default"), account, ApplyOptions("contract", force=True))
        spec: dict[str, Any] = {"terminationGracePeriodSeconds": 30, "automountServiceAccountToken": False}
        spec |= {"nodeName": node} if node else {"schedulerName": "none"}
        spec |= {"containers": [{"name": "main", "image": "example.invalid/none:1"}]}
        body = self.manifest(PODS, name, metadata=meta, spec=spec)
        return await self.api.create(PODS, body, namespace=self.namespace)

    def stateful_set(self, name: str, **template_annotations: str) -> dict[str, Any]:
        """Return the manifest of a StatefulSet of no replicas."""
        labels = {"app": name}
        template = {
            "metadata": {"labels": labels, "annotations": template_annotations},
            "spec": {"containers": [{"name": "main", "image": "example.invalid/none:1"}]},
        }
        spec = {"replicas": 0, "serviceName": name, "selector": {"matchLabels": labels}, "template": template}
        return self.manifest(STATEFUL_SETS, name, spec=spec)

    async def delete(self, resource: Resource[Any], obj: KubeObject) -> Any:
        """Delete exactly this version of an object."""
        key = Key(obj.metadata.namespace, obj.metadata.name)
        return await self.api.delete(resource, key, DeleteOptions(Preconditions.of(obj)))

    async def eventually(self, condition: Callable[[], Awaitable[bool] | bool], seconds: float = 60.0) -> None:
        """Wait until a condition holds; for what a controller does in its own time."""
        async with self.clock.timeout(seconds):
            while True:
                holds = condition()
                if await holds if inspect.isawaitable(holds) else holds:
                    return
                await self.clock.sleep(0.1)
