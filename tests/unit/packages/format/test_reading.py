"""Reading packages: as they are, with every fault named, and with a digest that says which it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.packages.distribution.archive import BadArchive, pack, unpack
from stateward.packages.format.reading import InvalidPackage, digest_of, read_package
from stateward.packages.format.records import ParameterType, Strategy, TaskKind
from tests.unit.packages.samples import OPERATOR, files, shop


def problems(found: dict[str, bytes]) -> list[str]:
    with pytest.raises(InvalidPackage) as caught:
        read_package(found)
    return [str(problem) for problem in caught.value.problems]


def test_a_package_is_read_with_its_tasks_plans_and_parameters() -> None:
    package = shop()
    assert (package.name, package.version) == ("shop", "1.2.0")
    assert package.task("extra").kind is TaskKind.TOGGLE
    assert package.operator.plans["backup"].strategy is Strategy.SERIAL
    assert package.parameters["SETTINGS"].default == {"color": "red"}
    assert package.parameters["COUNT"].type is ParameterType.INTEGER
    assert set(package.templates) == {"config.yaml", "app.yaml", "extra.yaml", "job.yaml"}


def test_a_version_without_quotes_stays_what_was_written() -> None:
    assert shop().operator.app_version == "5.10"


def test_everything_that_is_wrong_is_named_with_file_and_field() -> None:
    found = files(
        operator=("kind: Toggle", "kind: Togle"),
        params=("type: integer", "type: int"),
        config=("mode:", "\xe9mode:"),
    )
    found["templates/config.yaml"] = found["templates/config.yaml"].decode().encode("latin-1")
    assert problems(found) == [
        "templates/config.yaml: 'byte 106': must be text in UTF-8",
        "operator.yaml: tasks[1].kind: 'Togle': must be one of Apply, Delete, Toggle, Pipe, KudoOperator, Dummy",
        "params.yaml: parameters[0].type: 'int': must be one of string, integer, number, boolean, array, map",
    ]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (files({"operator.yaml": None}), "operator.yaml: is required"),
        (files({"operator.yaml": "a: [1"}), "operator.yaml:1: is not YAML"),
        (files({"operator.yaml": "- 1"}), "operator.yaml: ['1']: must be an object"),
        (files(operator=("name: shop\n", "")), "operator.yaml: name: is required"),
        (files(operator=("v1beta1", "v9")), "operator.yaml: apiVersion: 'kudo.dev/v9': must be kudo.dev/v1beta1"),
        (files(params=("name: EXTRA", "name: COUNT")), "params.yaml: parameters[1].name: 'COUNT': is listed twice"),
        (files({"params.yaml": "parameters: 5"}), "params.yaml: parameters: '5': must be a list"),
        (files(params=("immutable: true", "immutable: maybe")), "immutable: 'maybe': must be true or false"),
        *(
            (files(params=("prio: 1", f"prio: {prio}")), "params.yaml: groups[0].prio: ")
            for prio in ("007", "-01", "1.5", "0x1", f'"{"9" * 5000}"')
        ),
    ],
)
def test_a_fault_is_named(found: dict[str, bytes], words: str) -> None:
    assert any(words in problem for problem in problems(found))


def test_a_package_without_parameters_needs_no_file_for_them() -> None:
    assert shop({"params.yaml": None}).parameters == {}


def test_texts_may_be_written_as_numbers_flags_as_texts_and_unknown_fields_are_skipped() -> None:
    text = 'parameters: [{name: A, displayName: 5, required: "false", whatever: 1}]\n'
    parameter = shop({"params.yaml": text}).parameters["A"]
    assert (parameter.display_name, parameter.required) == ("5", False)


def test_what_is_no_part_of_a_package_does_not_change_its_digest() -> None:
    more = files() | {"README.md": b"x", "child/operator.yaml": b"x", "templates/notes.txt": b"x"}
    assert digest_of(more) == digest_of(files())
    assert read_package(more) == read_package(files())


@settings(deadline=None)
@given(path=st.sampled_from(sorted(files())), suffix=st.binary(min_size=1, max_size=3))
def test_any_change_of_content_is_another_digest(path: str, suffix: bytes) -> None:
    assert digest_of(files() | {path: files()[path] + suffix}) != digest_of(files())


def test_content_cannot_move_from_one_file_to_another_unseen() -> None:
    assert digest_of({"templates/a.yaml": b"12", "templates/b.yaml": b""}) != digest_of(
        {"templates/a.yaml": b"1", "templates/b.yaml": b"2"}
    )


def test_a_tarball_is_the_same_to_the_byte_and_gives_the_files_back() -> None:
    assert pack(files()) == pack(dict(reversed(files().items())))
    assert unpack(pack(files())) == files()


def test_a_tarball_with_a_folder_around_the_package_is_read() -> None:
    assert unpack(pack({f"shop/{path}": content for path, content in files().items()})) == files()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x"])
def test_a_path_that_leads_out_of_the_package_is_refused(path: str) -> None:
    with pytest.raises(BadArchive, match="leads out"):
        unpack(pack({path: b""}))


def test_what_is_no_tarball_and_what_is_too_large_is_refused() -> None:
    with pytest.raises(BadArchive, match="is not a"):
        unpack(b"hello")
    with pytest.raises(BadArchive, match="more than"):
        unpack(pack({"templates/big.yaml": b"x" * (5 << 20)}))


def test_an_operator_file_may_name_its_nulls() -> None:
    assert shop({"operator.yaml": OPERATOR + "description:\nnamespaceManifest: ~\n"}).operator.description == ""


def test_two_plans_of_one_name_are_refused_with_the_line() -> None:
    (said,) = problems(files({"operator.yaml": OPERATOR + "  deploy: {phases: []}\n"}))
    line = OPERATOR.count("\n") + 1
    assert said.startswith(f"operator.yaml:{line}: is not YAML: has the key 'deploy' twice, first in line ")
