"""The command line: its commands, and its errors."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from stateward.cli import main as entry
from stateward.cli.main import COMMANDS, cli, program
from stateward.cli.shared.failures import ExitCode, failure_of
from stateward.kube.election.fence import LostLease
from stateward.kube.objects import errors


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output
    assert all(f"  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")


def test_a_command_that_does_not_exist_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["stauts"])
    assert result.exit_code == ExitCode.USAGE
    assert "No such command 'stauts'; did you mean status?" in result.stderr


@pytest.mark.parametrize("words", [("package", "install"), ("installation", "status")])
def test_commands_about_installations_ask_for_no_kind_of_cluster(words: tuple[str, str]) -> None:
    shown = CliRunner().invoke(cli, [*words, "--help"]).output
    assert "--kind" not in shown
    assert "Namespace of the installation" in shown


def test_the_plugin_calls_itself_what_its_user_typed() -> None:
    assert program("/usr/bin/kubectl-stateward") == "kubectl stateward"
    assert program("stateward") == "stateward"


def test_a_kubeconfig_that_is_not_there_is_one_line_and_code_1() -> None:
    result = CliRunner(env={"KUBECONFIG": "/nowhere/config"}).invoke(cli, ["operator"])
    assert result.exit_code == 1
    assert result.stderr == (
        "stateward: no kubeconfig found (looked for /nowhere/config), and this is not a pod; set KUBECONFIG\n"
    )


def test_debug_shows_the_failure_itself() -> None:
    result = CliRunner(env={"KUBECONFIG": "/nowhere/config"}).invoke(cli, ["--debug", "operator"])
    assert isinstance(result.exception, errors.ConfigError)


def test_a_lost_lease_ends_with_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose(_: object, page: object) -> None:
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [LostLease("the lease was lost")])])

    monkeypatch.setattr("stateward.cli.run.operator.run_operator", lose)
    result = CliRunner().invoke(entry.cli, ["operator"])
    assert (result.exit_code, result.stderr) == (1, "stateward: the lease was lost; the next start tries again\n")


def test_an_end_for_a_fresh_start_is_one_line_and_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    async def end(_: object, page: object) -> None:
        raise ExceptionGroup("tasks", [errors.FreshStart("namespace b exists again")])

    monkeypatch.setattr("stateward.cli.run.operator.run_operator", end)
    result = CliRunner().invoke(entry.cli, ["operator"])
    assert (result.exit_code, result.stderr) == (1, "stateward: namespace b exists again\n")


def test_ctrl_c_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(_: object, page: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stateward.cli.run.operator.run_operator", interrupted)
    result = CliRunner().invoke(entry.cli, ["operator"])
    assert (result.exit_code, result.output) == (130, "")


def test_a_port_that_is_taken_is_reported() -> None:
    assert failure_of(OSError(98, "Address already in use")) == "Address already in use"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            errors.TransportError("GET /x: Cannot connect"),
            "no answer from the API server: GET /x: Cannot connect; check that the",
        ),
        (errors.Forbidden("no", status=errors.Status(code=403)), "the API server answered: no; ask for a role"),
        (errors.UnknownResource("404", status=errors.Status(code=404)), "Stateward's CRDs are not installed there"),
    ],
)
def test_what_the_api_server_did_not_do_comes_with_advice(error: errors.ApiError, says: str) -> None:
    assert says in (failure_of(error) or "")


def test_a_bug_is_not_hidden() -> None:
    assert failure_of(KeyError("x")) is None


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_help_says(name: str) -> None:
    command = COMMANDS[name]
    module, _, attribute = command.place.partition(":")
    loaded = getattr(import_module(f"stateward.cli.{module}"), attribute)
    assert loaded.help.replace("\n", " ").startswith(command.help)


def imported(*words: str) -> set[str]:
    """Return the modules that a command line imports."""
    code = (
        f"import sys; from stateward.cli.main import cli; cli.main({words!r}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


SLOW = {"aiohttp", "gotpl", "stateward.packages.rendering", "stateward.simulation", "stateward.planning.plan"}


@pytest.mark.parametrize("words", [("--help",), ("status", "--help"), ("list", "--help"), ("restart", "--help")])
def test_a_command_imports_only_what_it_uses(words: tuple[str, ...]) -> None:
    assert not (SLOW | {"stateward.packages"}) & imported(*words)


@pytest.mark.parametrize("words", [("status", "logs"), ("list",), ("pause", "logs")])
def test_a_command_that_logs_nothing_does_not_import_the_library_of_logs(words: tuple[str, ...]) -> None:
    """It imports the highlighting of source texts too, which takes longer than all else."""
    code = (
        "import sys; from stateward.cli.main import cli\n"
        f"try: cli.main({words!r}, standalone_mode=False)\n"
        "finally: print(*sys.modules, file=sys.stdout)"
    )
    env = {**os.environ, "KUBECONFIG": "/none"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "no kubeconfig found" in done.stderr
    assert not {"structlog", "pygments", "stateward.packages", "stateward.planning.plan"} & set(done.stdout.split())


def late_imports() -> Iterator[tuple[str, str]]:
    """Yield modules of commands, and modules that they import within a session."""
    folder = Path(entry.__file__).parent
    for path in folder.rglob("*.py"):
        module = ".".join(path.relative_to(folder.parents[1]).with_suffix("").parts)
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for node in ast.walk(function) if isinstance(function, ast.AsyncFunctionDef) else ():
                if isinstance(node, ast.ImportFrom) and node.module:
                    yield module, node.module
                elif isinstance(node, ast.Import):
                    yield from ((module, name.name) for name in node.names)


def loads_logs(*modules: str) -> bool:
    """Return whether the modules need the library of logs."""
    code = f"import sys, {', '.join(modules)}; print('structlog' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout == "True\n"


def test_the_library_of_logs_is_imported_before_a_session_begins_which_keeps_it_quiet() -> None:
    """Otherwise a command prints what the operator would log, in the middle of its own output."""
    late = set(late_imports())
    assert ("stateward.cli.shared.session", "stateward.kube.client.http_client") in late
    assert [case for case in late if not loads_logs(case[0]) and loads_logs(*case)] == []


@pytest.mark.parametrize("words", [("status", "logs", "--watch"), ("list", "--watch"), ("diagnose", "logs")])
def test_a_session_that_logs_is_quiet(words: tuple[str, ...]) -> None:
    code = (
        "import sys; from stateward.cli.main import cli\n"
        f"try: cli.main({words!r}, standalone_mode=False)\n"
        "finally: print(sys.modules['structlog'].is_configured())"
    )
    env = {**os.environ, "KUBECONFIG": "/none"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "no kubeconfig found" in done.stderr
    assert done.stdout == "True\n"


@pytest.mark.parametrize("name", ["timeline", "events", "logs", "diagnose"])
def test_commands_about_the_past_import_neither_planner_nor_client(name: str) -> None:
    assert not SLOW & imported(name, "--help")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_character_that_a_terminal_cannot_show_ends_no_command(encoding: str) -> None:
    code = "from stateward.cli.main import main; import sys; sys.argv = ['stateward', 'validate', '-f', '-']; main()"
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    text = 'apiVersion: stateward.dev/v1alpha1\nkind: PoolScale\nmetadata: {name: "a\\u2192b"}\nspec: {}\n'
    done = subprocess.run([sys.executable, "-c", code], env=env, input=text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"spec.cluster: is required" in done.stdout


def test_names_of_commands_are_completed_without_an_import_of_any() -> None:
    code = "import sys; from stateward.cli.main import main; main()\n"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        env={"_STATEWARD_COMPLETE": "bash_complete", "COMP_WORDS": "stateward re", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == [
        "rehearse",
        "resume",
        "restart",
        "replace",
    ]
    assert "stateward.cli.steering" not in done.stderr
