"""The OLM bundle, judged by the validators of the Operator Framework."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from release.bundle import bundle
from sandbox.progress import Progress
from sandbox.toolchain.programs import OPERATOR_VERIFY, build_program
from stateward.cli.run.chart import objects

pytestmark = pytest.mark.integration
Judge = Callable[[Path], tuple[int, str]]


@pytest.fixture(scope="module")
def judge() -> Judge:
    """Return a function that has a bundle judged: the exit code, and what is said."""
    program = build_program(OPERATOR_VERIFY, Progress())

    def judged(folder: Path) -> tuple[int, str]:
        words = [program, "manifests", folder]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout + done.stderr

    return judged


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Return a folder with the bundle."""
    for path, text in bundle(objects({}), "0.1.0", "registry.example/stateward:0.1.0", "2026-01-01T00:00:00Z").items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_the_bundle_is_valid_without_a_warning(judge: Judge, written: Path) -> None:
    assert judge(written) == (0, "")


@pytest.mark.parametrize(
    ("field", "value"), [("version", "one"), ("installModes", []), ("customresourcedefinitions", {"owned": []})]
)
def test_a_wrong_bundle_is_refused(judge: Judge, written: Path, field: str, value: object) -> None:
    file = written / "manifests/stateward.clusterserviceversion.yaml"
    document = yaml.safe_load(file.read_text())
    document["spec"][field] = value
    file.write_text(yaml.safe_dump(document))
    code, said = judge(written)
    assert code or said
