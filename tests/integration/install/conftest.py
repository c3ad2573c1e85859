from pathlib import Path

import pytest

from sandbox.progress import Progress
from sandbox.toolchain.kubelite import build_kubelite
from sandbox.toolchain.programs import HELM, build_program
from tests.integration.install.helm import Tools


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Return Helm and kubectl, without a server."""
    progress = Progress()
    scratch = tmp_path_factory.mktemp("helm")
    return Tools(build_program(HELM, progress), build_kubelite(progress) / "kubectl", Path("/nonexistent"), scratch)
