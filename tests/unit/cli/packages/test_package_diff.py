"""`package diff` shows the effect of a change before it is made."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stateward.cli.main import cli
from tests.unit.packages.samples import files


def written(folder: Path, found: dict[str, bytes]) -> Path:
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "shop", files())


def diff(*words: object) -> str:
    result = CliRunner().invoke(cli, ["package", "diff", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def test_scaling_is_a_change_that_restarts_nothing(folder: Path) -> None:
    assert diff(folder, "-p", "COUNT=5") == "~ Deployment default/shop: spec.replicas\nno pod restarts\n"


def test_a_restart_names_the_object_and_the_key_and_shows_no_value(folder: Path) -> None:
    said = diff(folder, "--before", "MODE=slow", "-p", "MODE=fast", "--name", "web", "-n", "prod")
    assert said == (
        "~ ConfigMap prod/web-config: data.mode\n"
        "pods of Deployment prod/web restart: it uses ConfigMap/web-config, whose key mode changes\n"
    )


def test_two_versions_are_compared_with_the_same_values(folder: Path, tmp_path: Path) -> None:
    newer = written(tmp_path / "newer", files(app=("image: shop:", "image: store:")))
    said = diff(folder, newer, "--before", "COUNT=4")
    assert said.splitlines() == [
        "~ Deployment default/shop: spec.template.spec.containers[app].image",
        "pods of Deployment default/shop restart: its template changes (spec.template.spec.containers[app].image)",
    ]


def test_no_change_is_reported(folder: Path) -> None:
    assert diff(folder, folder) == "no object changes\n"


def test_a_file_of_values_takes_the_place_of_those_before(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_text("EXTRA: true\n")
    assert "+ Service shop-extra" in diff(folder, "--before", "COUNT=2", "-P", tmp_path / "v.yaml")
