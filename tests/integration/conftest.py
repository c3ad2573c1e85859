"""A real API server for the integration tests: the sandbox's control plane, without nodes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from tests.support.own import own_name


@pytest.fixture(scope="package")
def integration_sandbox() -> Iterator[Sandbox]:
    """Bring a control plane up once for this package: databases need the cores later. KEEP=1 leaves it running."""
    sandbox = Sandbox(own_name(os.environ.get("STATEWARD_INTEGRATION_SANDBOX", "stateward-int")))
    try:
        sandbox.clear()
        sandbox.up(nodes=0)
        # A new server knows everything since version 1; as in any cluster of some age, old versions have to be gone.
        sandbox.restart_api_server()
        yield sandbox
    finally:
        if not os.environ.get("KEEP"):
            sandbox.down()


@pytest.fixture(scope="package")
def control_plane(integration_sandbox: Sandbox) -> Path:
    """Return the path of the administrator's kubeconfig."""
    return integration_sandbox.kubeconfig_path
