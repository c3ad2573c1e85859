"""The minor versions of Kubernetes of which a sandbox can be built."""

import re

import pytest

from sandbox.layout import sources
from sandbox.toolchain.kubelite import kubernetes_version, requirements

MINORS = sorted(path.stem for path in (sources() / "kubelite/minors").glob("*.mod"))


@pytest.mark.parametrize("minor", MINORS)
def test_the_choice_gives_a_patch_of_that_minor_with_modules_of_the_same_patch(
    minor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATEWARD_KUBERNETES", minor)
    chosen = kubernetes_version()
    assert chosen.startswith(f"v{minor}.")
    staged = re.findall(r"^\tk8s\.io/\S+ => k8s\.io/\S+ v0\.(\S+)$", requirements().read_text(), re.MULTILINE)
    assert len(staged) > 20
    assert {f"v1.{patch}" for patch in staged} == {chosen}
    assert requirements().with_suffix(".sum").is_file()


def test_without_a_choice_it_is_that_of_go_mod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STATEWARD_KUBERNETES", raising=False)
    assert requirements() == sources() / "kubelite/go.mod"
