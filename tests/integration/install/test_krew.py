"""The plug-in of a release, installed by the real krew, and run by the real kubectl and uv."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from release import __main__ as release
from release import installation
from sandbox.progress import Progress
from sandbox.toolchain.kubelite import build_kubelite
from sandbox.toolchain.programs import KREW, build_program
from stateward import __version__

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]
ARCHIVE = f"kubectl-stateward-{__version__}.tar.gz"


@dataclass(frozen=True)
class Desk:
    """A user's programs, and the folder of krew."""

    krew: Path
    kubectl: Path
    folder: Path

    def run(self, program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program as a user with krew would, whose `stateward` is not installed."""
        path = [self.folder / "bin", self.folder / "programs", Path("/usr/bin"), Path("/bin")]
        env = {**os.environ, "KREW_ROOT": str(self.folder), "PATH": ":".join(map(str, path))}
        return subprocess.run(
            [program, *words],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def install(self, files: Path) -> subprocess.CompletedProcess[str]:
        """Install the plug-in as docs/install.md says."""
        return self.run(
            self.krew, "install", f"--manifest={files / 'stateward.krew.yaml'}", f"--archive={files / ARCHIVE}"
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    progress = Progress()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("uv", "uvx"):
        (programs / name).symlink_to(Path(sys.executable).parent / name)
    return Desk(build_program(KREW, progress), build_kubelite(progress) / "kubectl", tmp_path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of a release, made from the files of this tree."""
    place = tmp_path_factory.mktemp("release")
    release.distributions(ROOT, place, "1700000000")
    (wheel,) = place.glob("*.whl")
    made = installation.files(ROOT, "1700000000", wheel)
    for name in ("stateward.krew.yaml", ARCHIVE):
        (place / name).write_bytes(made[name])
    return place


def test_krew_installs_the_plug_in_and_kubectl_runs_the_program_in_its_archive(desk: Desk, files: Path) -> None:
    installed = desk.install(files)
    assert installed.returncode == 0, installed.stderr
    assert "kubectl stateward" in installed.stderr
    assert desk.run(desk.kubectl, "plugin", "list").stdout.strip().endswith("/bin/kubectl-stateward")
    shown = desk.run(desk.kubectl, "stateward", "--version")
    assert (shown.returncode, shown.stdout) == (0, f"stateward, version {__version__}\n"), shown.stderr
    wrong = desk.run(desk.kubectl, "stateward", "validate", "-f", files / "absent.yaml")
    assert (wrong.returncode, "absent.yaml" in wrong.stderr) == (1, True), wrong.stderr
    completes = desk.folder / "bin/kubectl_complete-stateward"
    completes.write_text(desk.run(desk.kubectl, "stateward", "completion", "kubectl").stdout)
    completes.chmod(0o755)
    completed = desk.run(desk.kubectl, "__complete", "stateward", "timel")
    assert completed.stdout.splitlines() == ["timeline\tDraw the history of a cluster.", ":4"], completed.stderr


def test_krew_refuses_an_archive_that_was_changed(desk: Desk, files: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "stateward.krew.yaml").write_bytes((files / "stateward.krew.yaml").read_bytes())
    (other / ARCHIVE).write_bytes((files / ARCHIVE).read_bytes() + b"\0")
    refused = desk.install(other)
    assert refused.returncode != 0
    assert "checksum does not match" in refused.stderr
    assert not (desk.folder / "bin/kubectl-stateward").exists()
