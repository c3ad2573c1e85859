"""Generated files: those in the repository are up to date, and a wrong source is reported."""

from pathlib import Path

import pytest

from release.generated.files import files
from release.generated.values import values
from stateward.api.generate import outdated

ROOT = Path(__file__).parents[3]


def test_every_generated_file_is_up_to_date() -> None:
    assert outdated(ROOT, files(ROOT)) == []


def test_every_manifest_is_in_the_kustomization() -> None:
    import yaml

    listed = set(yaml.safe_load((ROOT / "charts/stateward/kustomization.yaml").read_text())["resources"])
    made = {str(path.relative_to("charts/stateward")) for path in files(ROOT) if path.suffix == ".yaml"}
    assert {path for path in made if path.startswith(("files/crds/", "manifests/"))} == listed


def test_a_value_without_a_comment_is_refused() -> None:
    with pytest.raises(ValueError, match="replicas has no comment"):
        values("replicas: 2\n")
