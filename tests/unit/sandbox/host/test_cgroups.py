"""The sandbox's branch is made and removed in every hierarchy, and nothing beside it is touched."""

from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.host import cgroups

_BRANCH = "stateward-sandbox/test/n1"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
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


def _kernel(root: Path, offered: str, handed_down: str) -> Path:
    """Play the kernel of version 2, which fills each directory with control files; return the last one."""
    directories = [root, *(root / part for part in ("stateward-sandbox", "stateward-sandbox/test", _BRANCH))]
    for directory in directories:
        directory.mkdir(exist_ok=True)
        (directory / "cgroup.controllers").write_text(offered if directory == root else handed_down)
        (directory / "cgroup.subtree_control").touch()
    for directory in directories[1:]:
        (directory / "cpu.weight").write_text("100\n")
    return directories[-1]


def test_version_2_hands_all_controllers_down_to_the_branch_which_weighs_more_than_one_process(root: Path) -> None:
    offered = "cpuset cpu io memory hugetlb pids rdma misc\n"
    last = _kernel(root, offered, offered)
    cgroups.make(_BRANCH)
    everything = "+cpu +cpuset +hugetlb +io +memory +misc +pids +rdma"
    for directory in (root, root / "stateward-sandbox", last.parent):
        assert (directory / "cgroup.subtree_control").read_text() == everything
    assert (last / "cgroup.subtree_control").read_text() == ""  # the kubelet's own affair
    assert (last / "cpu.weight").read_text() == "2000"


def test_version_2_without_a_controller_that_a_kubelet_insists_on_is_an_error(root: Path) -> None:
    # The kubelet would only say that its cgroup does not exist.
    last = _kernel(root, "cpu cpuset hugetlb memory pids\n", "cpuset cpu pids\n")
    with pytest.raises(SandboxError, match=f"controllers hugetlb, memory down to {last}"):
        cgroups.make(_BRANCH)


def test_version_2_needs_no_controller_that_the_machine_does_not_have(root: Path) -> None:
    _kernel(root, "cpu memory pids\n", "cpu memory pids\n")
    cgroups.make(_BRANCH)


def test_the_branch_of_another_sandbox_stays(root: Path) -> None:
    (root / "cpu").mkdir()
    cgroups.make(_BRANCH)
    cgroups.make("stateward-sandbox/other/n1")
    cgroups.remove("stateward-sandbox/test")
    assert cgroups.left("stateward-sandbox/test") == []
    assert cgroups.left("stateward-sandbox/other") == [root / "cpu" / "stateward-sandbox/other"]
