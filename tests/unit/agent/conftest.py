from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.agent.process import transplant
from tests.unit.agent.authority import Authority
from tests.unit.agent.pod import Pod


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the agent with its own interpreter. Tests that change it work on a copy of the copy."""
    return transplant.copy(tmp_path_factory.mktemp("releases"))


@pytest.fixture
def pod(tmp_path: Path, authority: Authority) -> Iterator[Pod]:
    pod = Pod(tmp_path, authority)
    yield pod
    pod.close()
