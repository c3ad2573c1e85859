"""A namespace whose service account may make what packages are made of."""

from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest

from sandbox import Sandbox
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from tests.e2e.operators import kubectl
from tests.e2e.packages.package_namespace import PackageNamespace


@pytest.fixture
async def place(api: HttpApi, stateward: Sandbox, images: None) -> AsyncGenerator[PackageNamespace]:
    namespace = f"packages-{uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    role, account = "--clusterrole=stateward-packages", f"--serviceaccount={namespace}:default"
    kubectl(stateward, "-n", namespace, "create", "rolebinding", "packages", role, account)
    yield PackageNamespace(api, stateward, namespace)
    kubectl(stateward, "delete", "namespace", namespace, "--wait=true", "--timeout=180s")
