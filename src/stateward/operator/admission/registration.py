"""Makes the API server trust the webhook's certificate. The manifests define the requests that it sends."""

from base64 import b64encode
from typing import Any

from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource

CONFIGURATION = "stateward"
"""Name of the ValidatingWebhookConfiguration."""
CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    dict[str, Any],
    namespaced=False,
)


async def register(api: Api, trusted: str) -> bool:
    """Make every webhook of the configuration trust these certificates; return whether it was new. Raises ApiError."""
    key = Key("", CONFIGURATION)
    found = await api.get(CONFIGURATIONS, key)
    bundle = b64encode(trusted.encode()).decode()
    patch = [
        {"op": "add", "path": f"/webhooks/{i}/clientConfig/caBundle", "value": bundle}
        for i, webhook in enumerate(found.get("webhooks") or [])
        if webhook["clientConfig"].get("caBundle") != bundle
    ]
    if not patch:
        return False
    pinned = {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
    await api.patch(CONFIGURATIONS, key, [pinned, *patch], kind=PatchKind.JSON)
    return True
