"""The JSON schemas for editors: valid ones, that accept what is accepted when the values are used, and nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from stateward.packages.format.editing import installation_schema
from stateward.packages.format.parameters import check_values, seen, text_of
from stateward.packages.format.records import Package, Parameter, ParameterType
from stateward.packages.format.schema import schema
from tests.unit.packages.samples import shop

STRUCTURES = (ParameterType.ARRAY, ParameterType.MAP)
MOST = 10**20
"""Larger integers have no exact JSON form, and are no valid parameters."""


def test_the_schema_names_every_parameter_with_what_it_accepts() -> None:
    made = schema(shop())
    assert list(made["properties"]) == list(shop().parameters)
    assert made["properties"]["MODE"] == {"enum": ["slow", "fast", None], "default": "slow"}
    assert made["properties"]["COUNT"]["description"] == "How many."
    assert made["required"] == []
    assert made["additionalProperties"] is False
    assert msgspec.json.decode(msgspec.json.encode(made)) == made


def test_editors_know_the_whole_installation() -> None:
    found = installation_schema(shop())
    assert found["required"] == ["apiVersion", "kind", "metadata", "spec"]
    assert found["properties"]["kind"] == {"const": "Installation"}
    spec = found["properties"]["spec"]
    assert not spec["additionalProperties"]
    assert spec["required"] == ["package"]
    values = spec["properties"]["parameters"]
    assert not values["additionalProperties"]
    assert values["properties"]["MODE"] == {"enum": ["slow", "fast", None], "default": "slow"}
    assert values["properties"]["STORAGE"]["description"] == "It cannot be changed once it is installed."
    assert "x-kubernetes" not in str(found)


def test_editors_take_choices_as_numbers_and_as_text() -> None:
    package = shop(params=("enum: [slow, fast], default: slow", "type: integer, enum: [1, 2]"))
    assert schema(package)["properties"]["MODE"]["enum"] == [1, 2, "1", "2"]
    found = installation_schema(package)["properties"]["spec"]
    assert found["required"] == ["package", "parameters"]


# A schema's `$` is the end of the text in editors; in Python it is also the place before a last line break.
WORDS = ("", "1", "-1", "+1", "01", "1.5", "1.", ".5", "1e3", "true", "false", "yes", "null", "nan", "1 ", "1_0")
OTHERS: tuple[Any, ...] = (True, False, 0, 1, 1.0, 2.5, -(10**9), None, [], [1], {}, {"a": 1})
TEXTS = st.sampled_from(WORDS) | st.text(max_size=6).filter(lambda text: not text.endswith("\n"))
SCALARS = st.booleans() | st.integers(-MOST, MOST) | st.floats(-1e20, 1e20) | TEXTS
INNER = st.recursive(
    st.none() | SCALARS, lambda each: st.lists(each, max_size=2) | st.dictionaries(TEXTS, each, max_size=2)
)
VALUES = INNER | st.sampled_from((*WORDS, *OTHERS))


def choices(kind: ParameterType) -> st.SearchStrategy[tuple[Any, ...] | None]:
    """Return choices of a type, written as itself or as text."""
    by_type: Mapping[ParameterType, st.SearchStrategy[Any]] = {
        ParameterType.STRING: st.sampled_from(["a", "1", "2.50", "2.5", "true", 1, 2.5, True]),
        ParameterType.INTEGER: st.sampled_from([1, 2, "1", "+1", 2.0]),
        ParameterType.NUMBER: st.sampled_from([1, 2.5, "2.5", "2.50"]),
        ParameterType.BOOLEAN: st.sampled_from([True, False, "true", "false"]),
        ParameterType.ARRAY: st.sampled_from([[1], ["a"], []]),
        ParameterType.MAP: st.sampled_from([{"a": 1}, {}]),
    }
    return st.none() | st.lists(by_type[kind], min_size=1, max_size=3).map(tuple)


@st.composite
def parameters(draw: st.DrawFn, name: str) -> Parameter:
    """Return a parameter of a package that passes `verify`."""
    kind = draw(st.sampled_from(ParameterType))
    made = Parameter(name=name, type=kind, enum=draw(choices(kind)), required=draw(st.none() | st.booleans()))
    if made.enum and draw(st.booleans()):
        made = msgspec.structs.replace(made, default=made.enum[0])
    return msgspec.structs.replace(made, immutable=draw(st.booleans()), description=draw(st.sampled_from(["", "Why."])))


PACKAGES = st.tuples(*(parameters(name) for name in "AB")).map(
    lambda made: replace(shop(), parameters={parameter.name: parameter for parameter in made})
)


def sayable(package: Package, given_values: Mapping[str, Any]) -> bool:
    """Return whether a schema can say if these are accepted: the YAML of a list or map is beyond it."""
    return not any(
        isinstance(given_values.get(name), str) and parameter.type in STRUCTURES
        for name, parameter in package.parameters.items()
    )


VALUES_OF = st.dictionaries(st.sampled_from(["A", "B", "C"]), VALUES, max_size=3)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(package=PACKAGES, values=VALUES_OF)
def test_a_schema_accepts_exactly_what_is_accepted_when_it_is_used(package: Package, values: dict[str, Any]) -> None:
    wrong = [str(problem) for problem in check_values(package, values)]
    found = [error.message for error in Draft202012Validator(schema(package)).iter_errors(values)]
    if sayable(package, values):
        assert bool(wrong) == bool(found), (wrong, found)


@pytest.mark.parametrize("owed", [True, False])
@pytest.mark.parametrize("kind", ParameterType)
def test_each_way_of_writing_a_value_is_accepted_by_both_or_by_none(kind: ParameterType, owed: bool) -> None:
    package = replace(shop(), parameters={"A": Parameter(name="A", type=kind, required=owed)})
    validator = Draft202012Validator(schema(package))
    for value in (*WORDS, *OTHERS):
        if sayable(package, {"A": value}):
            assert validator.is_valid({"A": value}) == (not check_values(package, {"A": value})), value


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(package=PACKAGES, values=VALUES_OF)
def test_schemas_are_valid_and_that_of_an_installation_says_the_same(package: Package, values: dict[str, Any]) -> None:
    made, whole = schema(package), installation_schema(package)
    Draft202012Validator.check_schema(made)
    Draft202012Validator.check_schema(whole)
    body = installation({"package": "shop-1.2.0", "parameters": values})
    assert Draft202012Validator(whole).is_valid(body) == Draft202012Validator(made).is_valid(values)


@settings(max_examples=50, deadline=None)
@given(package=PACKAGES)
def test_each_choice_is_accepted_in_each_way_in_which_templates_see_it_the_same(package: Package) -> None:
    for name, parameter in package.parameters.items():
        part = Draft202012Validator(schema(package)["properties"][name])
        for choice in parameter.enum or ():
            for way in [choice] if parameter.type in STRUCTURES else [choice, text_of(choice)]:
                assert seen(parameter, way) == seen(parameter, choice)
                assert part.is_valid(way), way


def test_a_choice_that_is_written_as_text_is_accepted_as_the_number_or_flag_that_it_is() -> None:
    package = shop(params=("enum: [slow, fast], default: slow", 'enum: ["1", "true", "2.50"]'))
    validator = Draft202012Validator(schema(package))
    for value, accepted in ((1, True), (True, True), ("2.50", True), (2.5, False), ("fast", False)):
        assert validator.is_valid({"MODE": value}) == (not check_values(package, {"MODE": value})) == accepted, value


def test_a_choice_that_looks_like_deeply_nested_json_is_text() -> None:
    parameter = Parameter(name="A", enum=("[" * 100_000,))
    package = replace(shop(), parameters={"A": parameter})
    assert schema(package)["properties"]["A"]["enum"] == ["[" * 100_000, None][: 1 if parameter.owed else 2]


def installation(spec: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "Installation"}
    return head | {"metadata": {"name": "web"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"package": "shop-1.2.0", "parameters": {"COUNT": "two"}}, "spec.parameters.COUNT"),
        ({"package": "shop-1.2.0", "parameters": {"RATE": "fast"}}, "spec.parameters.RATE"),
        ({"package": "shop-1.2.0", "paused": "yes"}, "spec.paused"),
    ],
)
def test_an_editor_marks_the_very_value_that_is_wrong(spec: dict[str, Any], path: str) -> None:
    (found,) = Draft202012Validator(installation_schema(shop())).iter_errors(installation(spec))
    assert ".".join(map(str, found.absolute_path)) == path
