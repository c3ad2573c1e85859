"""`package`: users check, read, create and build packages."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from stateward.cli.main import cli
from tests.unit.packages.samples import files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "shop", files())


def written(folder: Path, found: dict[str, bytes]) -> Path:
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["package", *map(str, words)])


def test_a_good_package_is_summed_up(folder: Path) -> None:
    result = run("verify", folder)
    assert result.exit_code == 0
    assert "shop 1.2.0 (application 5.10): 8 parameters, plans deploy, backup, sha256:" in result.output


def test_a_bad_one_is_refused_with_file_and_field(tmp_path: Path) -> None:
    result = run("verify", written(tmp_path / "bad", files(operator=("kind: Toggle", "kind: X"))))
    assert result.exit_code == 1
    assert "error: operator.yaml: tasks[1].kind: 'X': must be one of Apply" in result.output


@pytest.mark.parametrize("name", [b"templates/\x1b[2J.yaml", b"templates/\xff.yaml"])
@pytest.mark.parametrize("command", ["verify", "build"])
def test_a_file_whose_name_cannot_be_printed_is_refused_also_in_a_folder(
    folder: Path, command: str, name: bytes
) -> None:
    (folder / name.decode(errors="surrogateescape")).write_bytes(b"a: b")
    result = run(command, folder)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "a path must have at most 255 characters, and only printable characters" in result.stderr


@pytest.mark.parametrize(
    ("old", "new"), [("name: shop", 'name: "a\\e[2J"'), ("  backup:", '  "a\\e[2J":'), ('"1.2.0"', '"1\\n2"')]
)
def test_what_a_package_writes_reaches_the_terminal_only_as_text(tmp_path: Path, old: str, new: str) -> None:
    result = CliRunner().invoke(
        cli, ["package", "verify", str(written(tmp_path / "bad", files(operator=(old, new))))], color=True
    )
    assert all(line.isprintable() for line in result.output.splitlines())
    assert all(line.startswith(str(tmp_path)) for line in result.output.splitlines())


def test_warnings_fail_when_that_is_requested(tmp_path: Path) -> None:
    doubtful = written(tmp_path / "doubtful", files({"templates/more.yaml": "a: b"}))
    assert run("verify", doubtful).exit_code == 0
    assert run("verify", "--strict", doubtful).exit_code == 1


def test_objects_are_shown_with_their_templates_and_the_values_given(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("COUNT: 4\nMODE: slow\n")
    result = run("render", folder, "-P", tmp_path / "values.yaml", "-p", "MODE=fast", "--name", "web", "-n", "prod")
    assert "# templates/app.yaml\n" in result.output
    config, app = yaml.safe_load_all(result.output)
    assert config["data"]["mode"] == "fast"
    assert (app["metadata"]["name"], app["metadata"]["namespace"], app["spec"]["replicas"]) == ("web", "prod", 4)


def test_programs_get_the_rendered_objects_as_one_list(folder: Path) -> None:
    made = json.loads(run("render", folder, "-o", "json").output)
    assert (made["apiVersion"], made["kind"]) == ("v1", "List")
    assert made["items"] == list(yaml.safe_load_all(run("render", folder).output))
    assert run("render", folder, "-o", "yaml").output == run("render", folder).output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-p", "COUNT=x"], "these parameters are not accepted:\n  COUNT: 'x': must be a whole number"),
        (["-p", "COUNT"], "COUNT: a parameter is given as NAME=VALUE"),
        (["--plan", "nothing"], "shop has no plan 'nothing'; it has deploy, backup"),
    ],
)
def test_what_cannot_be_rendered_is_a_line(folder: Path, words: list[str], says: str) -> None:
    result = run("render", folder, *words)
    assert result.exit_code == 1
    assert says in result.stderr


def test_a_tarball_is_what_its_folder_is(folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").write_text("not part of it")
    target = tmp_path / "shop.tgz"
    built = run("build", folder, "-o", target)
    assert built.exit_code == 0
    first = target.read_bytes()
    run("build", folder, "-o", target)
    assert target.read_bytes() == first
    assert built.output.split("sha256:")[1] == run("verify", target).output.split("sha256:")[1]


def test_a_package_that_cannot_work_is_not_built(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad", files(operator=("[extra.yaml]", "[other.yaml]")))
    result = run("build", bad, "-o", tmp_path / "x.tgz")
    assert result.exit_code == 1
    assert "'other.yaml': is not a file below templates/" in result.stderr
    assert not (tmp_path / "x.tgz").exists()


def test_a_new_package_has_nothing_wrong_with_it(tmp_path: Path) -> None:
    assert run("new", "first", "-d", tmp_path / "first").exit_code == 0
    assert run("verify", "--strict", tmp_path / "first").exit_code == 0
    assert "kind: Deployment" in run("render", tmp_path / "first").output
    assert "already exists" in run("new", "first", "-d", tmp_path / "first").stderr


@pytest.mark.parametrize("name", ["Bad Name", "a/b", "-first", "", "x" * 64])
def test_a_package_is_begun_only_under_a_name_that_its_objects_can_have_in_a_label(tmp_path: Path, name: str) -> None:
    refused = run("new", "-d", tmp_path / "made", "--", name)
    assert refused.exit_code == 1
    assert f"operator.yaml: name: {name!r}: must be at most 63 letters" in " ".join(refused.stderr.split())
    assert not (tmp_path / "made").exists()


def test_the_schema_of_the_parameters_is_json(folder: Path) -> None:
    assert '"title": "Parameters of shop 1.2.0"' in run("schema", folder).output


def test_what_is_no_package_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    assert "is not a" in run("verify", tmp_path / "x").stderr
    assert "No such file" in run("verify", tmp_path / "missing").stderr
    assert "is not a package:" in run("schema", written(tmp_path / "y", {"params.yaml": b""})).stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "[extra.yaml]",
            "[other.yaml]",
            "operator.yaml: tasks[1].spec.resources[0]: 'other.yaml': is not a file below",
        ),
        ("[app, extra]", "[app, extar]", "operator.yaml: plans.deploy.phases[0].steps[0].tasks[1]: 'extar': is not a"),
    ],
)
@pytest.mark.parametrize("command", ["render", "diff", "schema"])
def test_a_missing_file_or_task_is_a_line_for_each_command(
    tmp_path: Path, command: str, old: str, new: str, says: str
) -> None:
    result = run(command, written(tmp_path / "bad", files(operator=(old, new))))
    assert result.exit_code == 1
    assert says in " ".join(result.stderr.split())


def test_wrong_yaml_of_values_is_a_line_with_its_place(folder: Path, tmp_path: Path) -> None:
    given = tmp_path / "values.yaml"
    given.write_text("COUNT: 2\nRATE: !!float\n")
    result = run("render", folder, "-P", given)
    assert f"{given}:2: is not YAML: '' is no !!float; it must be a number" in result.stderr
    given.write_text("SETTINGS: " + "{a: " * 300)
    assert f"{given}:1: is not YAML: is nested deeper than 200 levels" in run("render", folder, "-P", given).stderr
