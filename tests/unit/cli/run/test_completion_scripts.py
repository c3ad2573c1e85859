"""The scripts that `completion` prints work with the one program that the user has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stateward.cli.main import COMPLETE, cli


def installed(folder: Path, name: str) -> Path:
    """Put the program under one name into a folder that has no other name of it."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\nfrom stateward.cli.main import main\nmain()\n")
    program.chmod(0o755)
    return program


def run(folder: Path, *words: str | Path) -> str:
    """Run a program with only this folder and those of the system in the PATH."""
    env = {**os.environ, "PATH": f"{folder}:/usr/bin:/bin", "KUBECONFIG": str(folder / "absent")}
    return subprocess.run(words, env=env, capture_output=True, text=True, check=True, timeout=60).stdout


def script(monkeypatch: pytest.MonkeyPatch, name: str, shell: str) -> str:
    """Return what the program prints that was called by a name."""
    monkeypatch.setattr(sys, "argv", [f"/somewhere/{name}"])
    return CliRunner().invoke(cli, ["completion", shell]).output


@pytest.mark.parametrize("name", ["stateward", "kubectl-stateward"])
def test_the_script_of_bash_completes_the_program_that_printed_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, name)
    typed = (
        script(monkeypatch, name, "bash")
        + f"\nCOMP_WORDS=({name} stat); COMP_CWORD=1; _{name.replace('-', '_')}_completion {name}"
        + '\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert run(tmp_path, "bash", "-c", typed).split() == ["status"]


@pytest.mark.parametrize(("shell", "for_program"), [("zsh", "#compdef {}\n"), ("fish", "--command {} ")])
@pytest.mark.parametrize("name", ["stateward", "kubectl-stateward"])
def test_the_scripts_of_other_shells_call_the_program_that_printed_them(
    shell: str, for_program: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = script(monkeypatch, name, shell)
    assert f"{COMPLETE}={shell}_complete" in printed
    assert for_program.format(name) in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stat"], ["status\tShow the state of a cluster, once or continuously.", ":4"]),
        (["status", "--wat"], ["--watch\tFollow it until it is deleted or you press Ctrl-C.", ":4"]),
        (["validate", "-f", "lo"], [":0"]),
        (["status", ""], [":4"]),
        ([], None),
    ],
)
@pytest.mark.parametrize("shown", ["kubectl-stateward", "stateward"])
def test_kubectl_completes_the_plug_in_where_no_program_stateward_is_installed(
    shown: str, words: list[str], said: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "kubectl-stateward")
    program = tmp_path / "kubectl_complete-stateward"
    program.write_text(script(monkeypatch, shown, "kubectl"))
    program.chmod(0o755)
    lines = run(tmp_path, program, *words).splitlines()
    assert lines == said if said is not None else lines[-1] == ":4"


def test_help_shows_each_command_on_a_line_of_its_own() -> None:
    shown = CliRunner().invoke(cli, ["completion", "--help"]).output
    assert "\\b" not in shown
    assert "  stateward completion fish | source\n" in shown
