"""The sandbox's branch is made and removed in every hierarchy, and nothing beside it is touched."""

from pathlib import Path

import pytest

from sandbox import cgroups

_BRANCH = "stateward-sandbox/test/n1"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroups, "_ROOT", tmp_path)
    return tmp_path


def test_version_1_gets_a_branch_in_every_controller_but_none_in_the_unified_tree(root: Path) -> None:
    for name in ("cpu", "memory", "unified"):
        (root / name).mkdir()
    (root / "unified" / "cgroup.controllers").write_text("")
    cgroups.make(_BRANCH)
    assert (root / "cpu" / _BRANCH).is_dir()
    assert (root / "memory" / _BRANCH).is_dir()
    assert not (root / "unified" / "stateward-sandbox").exists()
    cgroups.remove("stateward-sandbox/test")
    assert sorted(path.name for path in root.rglob("*") if path.is_dir()) == ["cpu", "memory", "unified"]


def test_version_2_hands_the_controllers_down_to_the_branch(root: Path) -> None:
    (root / "cgroup.controllers").write_text("cpu memory pids rdma\n")
    with pytest.raises(FileNotFoundError):
        # A plain directory has no control files; the kernel makes them in a real one. The first hand-over is seen.
        cgroups.make(_BRANCH)
    assert (root / "cgroup.subtree_control").read_text() == "+pids"


def test_the_branch_of_another_sandbox_stays(root: Path) -> None:
    (root / "cpu").mkdir()
    cgroups.make(_BRANCH)
    cgroups.make("stateward-sandbox/other/n1")
    cgroups.remove("stateward-sandbox/test")
    assert cgroups.left("stateward-sandbox/test") == []
    assert cgroups.left("stateward-sandbox/other") == [root / "cpu" / "stateward-sandbox/other"]
