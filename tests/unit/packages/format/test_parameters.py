"""Values of parameters: what is accepted, what templates see, and what is said about what is not."""

import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.packages.format import yamltext
from stateward.packages.format.parameters import BadValue, changed, check_values, in_force, resolve, seen, text_of
from stateward.packages.format.records import Parameter, ParameterType
from stateward.packages.format.schema import schema
from stateward.packages.plans.choice import State
from tests.support.fuzz import fuzzed
from tests.unit.packages.samples import PARAMS, shop


def wrong(values: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
    return [str(problem) for problem in check_values(shop(), values, before)]


def test_defaults_are_accepted_and_seen_as_templates_have_always_seen_them() -> None:
    assert wrong({}) == []
    assert resolve(shop(), {}) == {
        "COUNT": "2",
        "EXTRA": "false",
        "MODE": "slow",
        "STORAGE": "1Gi",
        "SETTINGS": {"color": "red"},
        "HOSTS": [],
        "RATE": "0.5",
        "FILE": "backup.sql",
    }


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"COUNT": "many"}, "COUNT: 'many': must be a whole number"),
        ({"COUNT": True}, "COUNT: True: must be a whole number"),
        ({"COUNT": "1_000"}, "COUNT: '1_000': must be a whole number"),
        ({"COUNT": " 5\n"}, "COUNT: ' 5\\n': must be a whole number"),
        ({"COUNT": "٣"}, "COUNT: '٣': must be a whole number"),
        ({"RATE": "nan"}, "RATE: 'nan': must be a number"),
        ({"RATE": "1_0.5"}, "RATE: '1_0.5': must be a number"),
        ({"EXTRA": "yes"}, "EXTRA: 'yes': must be true or false"),
        ({"MODE": "medium"}, "MODE: 'medium': must be one of slow, fast"),
        ({"SETTINGS": [1]}, "SETTINGS: [1]: must be an object, or YAML text that is one"),
        ({"SETTINGS": "{a"}, "SETTINGS: '{a': must be an object, or YAML text that is one"),
        ({"HOSTS": {"a": 1}}, "HOSTS: {'a': 1}: must be a list, or YAML text that is one"),
        ({"STORAGE": {}}, "STORAGE: {}: must be text, a number or true or false"),
        ({"RATE": "fast"}, "RATE: 'fast': must be a number"),
        ({"COUNTS": 1}, "COUNTS: 1: is not a parameter of shop 1.2.0; did you mean COUNT?"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_accepted(values: dict[str, Any], words: str) -> None:
    assert wrong(values) == [words]


def test_all_wrong_values_are_named_at_once() -> None:
    assert len(wrong({"COUNT": "x", "MODE": "x", "NEW": 1})) == 3


def test_a_required_parameter_without_a_default_must_be_given() -> None:
    package = shop(params=("default: 1Gi, immutable: true", "description: Its size."))
    assert [str(p) for p in check_values(package, {})] == [
        "STORAGE: is required: text, a number or true or false (Its size.)"
    ]
    assert check_values(package, {"STORAGE": "2Gi"}) == []


@pytest.mark.parametrize(("kind", "nothing"), [("array", []), ("map", {})])
def test_a_list_or_map_that_a_package_says_nothing_of_is_empty_and_need_not_be_given(kind: str, nothing: Any) -> None:
    package = shop({"params.yaml": f"parameters: [{{name: NODE_TOLERATIONS, type: {kind}}}]\n"})
    assert check_values(package, {}) == []
    assert "NODE_TOLERATIONS" not in schema(package)["required"]
    assert seen(package.parameters["NODE_TOLERATIONS"], None) == nothing
    owed = shop({"params.yaml": f"parameters: [{{name: NODE_TOLERATIONS, type: {kind}, required: true}}]\n"})
    assert [problem.path for problem in check_values(owed, {})] == ["NODE_TOLERATIONS"]
    assert schema(owed)["required"] == ["NODE_TOLERATIONS"]


def test_an_immutable_parameter_keeps_the_value_that_templates_see() -> None:
    assert wrong({"STORAGE": "2Gi"}) == []
    said = "STORAGE: '2Gi': cannot be changed once it is installed; it is '1Gi'"
    assert wrong({"STORAGE": "2Gi"}, {"STORAGE": "1Gi"}) == [said]
    assert wrong({"STORAGE": "1Gi"}, {"STORAGE": "1Gi"}) == []
    assert wrong({}, {"STORAGE": "2Gi"}) != []


def test_an_immutable_parameter_keeps_its_value_when_a_later_version_has_another_default() -> None:
    later = shop(params=("default: 1Gi, immutable: true", "default: 9Gi, immutable: true"))
    first = in_force(shop(), {"COUNT": 3}, None)
    assert first == {"COUNT": 3, "STORAGE": "1Gi"}
    assert in_force(later, {"COUNT": 3}, first) == first
    assert in_force(later, {"STORAGE": None}, first) == {"STORAGE": "1Gi"}
    assert in_force(later, {"STORAGE": "2Gi"}, first) == {"STORAGE": "2Gi"}
    assert [str(p) for p in check_values(later, {"STORAGE": "2Gi"}, first)]
    assert check_values(later, in_force(later, {}, first), first) == []


CLASS = "- {name: CLASS, immutable: true%s}\n"


@pytest.mark.parametrize("more", ["", ", required: false", ", default: slow"])
def test_a_version_may_add_an_immutable_parameter_and_its_first_value_is_taken(more: str) -> None:
    later = shop({"params.yaml": PARAMS + CLASS % more})
    before = {"STORAGE": "1Gi"}
    assert check_values(later, in_force(later, {"CLASS": "fast"}, before), before) == []
    said = [str(problem) for problem in check_values(later, in_force(later, {}, before), before)]
    assert said == ([] if more else ["CLASS: is required: text, a number or true or false"])


def test_an_immutable_parameter_without_a_value_stays_so_also_if_a_later_version_has_a_default() -> None:
    first, later = (shop({"params.yaml": PARAMS + CLASS % more}) for more in (", required: false", ", default: slow"))
    before = {"STORAGE": "1Gi", "CLASS": None}
    assert "CLASS" not in in_force(first, {}, before)
    assert in_force(later, {}, before)["CLASS"] == ""
    assert check_values(later, in_force(later, {}, before), before) == []
    (said,) = check_values(later, {"STORAGE": "1Gi", "CLASS": "slow"}, before)
    assert str(said) == "CLASS: 'slow': cannot be changed once it is installed; it is ''"


def test_an_immutable_parameter_without_a_value_takes_one_that_a_later_version_requires() -> None:
    later = shop({"params.yaml": PARAMS + CLASS % ", required: true"})
    before = {"STORAGE": "1Gi", "CLASS": None}
    assert check_values(later, in_force(later, {"CLASS": "slow"}, before), before) == []


@pytest.mark.parametrize(
    ("kind", "default"), [("integer", "3"), ("boolean", "true"), ("array", "[a]"), ("map", "{a: b}")]
)
def test_a_default_for_an_immutable_parameter_without_a_value_blocks_no_upgrade(kind: str, default: str) -> None:
    later = shop({"params.yaml": PARAMS + CLASS % f", type: {kind}, default: {default}"})
    before = {"STORAGE": "1Gi", "CLASS": None}
    assert check_values(later, in_force(later, {}, before), before) == []


@pytest.mark.parametrize(("before", "after"), [({"x": 1}, {"x": True}), ({"x": False}, {"x": 0}), ([1], [True])])
def test_a_flag_and_a_number_are_two_things_also_within_a_value(before: Any, after: Any) -> None:
    name = "HOSTS" if isinstance(before, list) else "SETTINGS"
    assert changed(shop(), {name: before}, {name: after}) == (name,)
    assert State("1", {name: before}) != State("1", {name: after})
    assert State("1", {name: before}) == State("1", {name: before})


def test_the_same_value_in_another_spelling_is_no_change() -> None:
    assert changed(shop(), {"COUNT": 2, "SETTINGS": "color: red"}, {"COUNT": "2"}) == ()
    assert changed(shop(), {}, {"COUNT": 3, "MODE": "fast"}) == ("COUNT", "MODE")


@pytest.mark.parametrize(("text", "right"), [("[one, two] # read", True), ("[one, {two # read", False)])
def test_a_text_is_read_once_and_each_template_has_a_copy_of_its_own(
    *, text: str, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Disaster prevented: installations that wait keep the event loop busy with the same texts, round after round."""
    read, document = list[str](), yamltext.document

    def counted(text: str, *most: int) -> Any:
        read.append(text)
        return document(text, *most)

    monkeypatch.setattr(yamltext, "document", counted)
    for _ in range(3):
        assert (wrong({"HOSTS": text}) == []) is right
        if right:
            hosts = resolve(shop(), {"HOSTS": text})["HOSTS"]
            assert hosts == ["one", "two"]
            hosts.clear()
    assert read.count(text) == 1


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (5, "5"), (5.0, "5"), (1.5, "1.5"), (1e22, "1e+22")])
def test_scalars_are_text_as_go_writes_it(value: object, text: str) -> None:
    assert text_of(value) == text


_ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@fuzzed(100)
@given(kind=st.sampled_from(ParameterType), value=_ANYTHING)
def test_any_value_is_either_seen_as_its_type_or_refused(kind: ParameterType, value: Any) -> None:
    wanted = {ParameterType.ARRAY: list, ParameterType.MAP: dict}.get(kind, str)
    try:
        assert isinstance(seen(Parameter(name="A", type=kind), value), wanted)
    except BadValue:
        assert value is not None


def test_thousands_of_unknown_names_beside_thousands_of_parameters_are_judged_at_once() -> None:
    """Each pair took a tenth of a millisecond, on the event loop, in each reconciliation."""
    parameters = {name: Parameter(name=name, required=False) for name in map("PARAMETER_{}".format, range(5_000))}
    before = time.process_time()
    found = check_values(
        replace(shop(), parameters=parameters), dict.fromkeys(map("PARAMETERS_{}".format, range(2_000)), 1)
    )
    assert len(found) == 2_000
    assert "did you mean" in found[0].message
    assert time.process_time() - before < 2
