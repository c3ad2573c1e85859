"""Which text is which value: what go-yaml 2 makes of it, with which KUDO and kubectl read YAML, and where we differ."""

from typing import Any

import pytest

from stateward.packages.format.parameters import seen
from stateward.packages.format.reading import InvalidPackage, read_package
from stateward.packages.format.records import Parameter, ParameterType
from stateward.packages.format.yamltext import NotYaml, document, to_yaml, written
from stateward.packages.rendering.objects import objects_of
from stateward.packages.rendering.templates import TemplateProblem, Variables
from tests.unit.packages.samples import files

VALUES: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("~", "null", "Null", "NULL", ""), None),
    **dict.fromkeys(("yEs", "tRUE", "nULL", "oN", "nan", "inf", "none", "ja"), str),
    "0": 0,
    "-0": 0,
    "+5": 5,
    "42": 42,
    "1_000": 1000,
    "1__0_": 10,
    "-_1": -1,
    "0755": 493,
    "0o17": 15,
    "0O17": 15,
    "00": 0,
    "0_7": 7,
    "-010": -8,
    "0x1F": 31,
    "0X1f": 31,
    "-0x10": -16,
    "0b101": 5,
    "0B11": 3,
    "-0b11": -3,
    "+0b1": 1,
    **dict.fromkeys(("0x", "0b", "0b12", "0o8", "0xg", "_1", "1_e", "+", ".", "--1", "1.2.3"), str),
    "1.5": 1.5,
    "1.": 1.0,
    ".5": 0.5,
    "-.5": -0.5,
    "+.5": 0.5,
    "1_0.5": 10.5,
    "08": 8.0,
    "0_9": 9.0,
    "1e3": 1000.0,
    "1E3": 1000.0,
    "1e+3": 1000.0,
    "12e03": 12000.0,
    "5e-1": 0.5,
    ".5e1": 5.0,
    "1_0e2": 1000.0,
    **dict.fromkeys((".5_0", ".e3", "1e", "e3", "0x1p4"), str),
    **dict.fromkeys(("1:30", "1051:30:00", "2020-01-01", "2020-01-01T10:00:00Z", "12:30:45.5", "1,000"), str),
    **dict.fromkeys(("=", "yes!", "5.10.1", "v1", "1Gi", "10m"), str),
    "18446744073709551615": (1 << 64) - 1,
    "18446744073709551616": float(1 << 64),
    "!!str 1": "1",
    "!!str yes": "yes",
    "!!float 1": 1.0,
    '!!float "1.5"': 1.5,
    "!!int 0x10": 16,
    '!!bool "on"': True,
    "!!null ~": None,
    "!!binary aGk=": "hi",
    "!!timestamp 2020-1-2": "2020-1-2",
    '"1"': "1",
    "'y'": "y",
    "[y, n, 1e3]": [True, False, 1000.0],
    "!!set {a}": {"a": None},
    "!!omap [a: 1]": [{"a": 1}],
    "!!seq [a]": ["a"],
    "!!map {a: 1}": {"a": 1},
}


@pytest.mark.parametrize("text", VALUES)
def test_a_text_is_the_value_that_go_makes_of_it(text: str) -> None:
    value = text if VALUES[text] is str else VALUES[text]
    found = document(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", [text for text in VALUES if VALUES[text] is not str and not text.startswith("!")])
def test_a_text_that_looks_like_a_value_is_written_so_that_it_stays_text(text: str) -> None:
    assert document(to_yaml({"a": text})) == {"a": text}


def test_keys_stay_as_they_are_written() -> None:
    """Go makes `true` of the key `on`, and 8 of the key 010."""
    assert document("on: 1\ny: 2\n010: 3\n1.50: 4\n~: 5\n") == {"on": 1, "y": 2, "010": 3, "1.50": 4, "~": 5}


def test_values_in_lists_are_seen_as_the_format_has_them_but_whole_numbers_stay_whole() -> None:
    parameter = Parameter(name="LIST", type=ParameterType.ARRAY)
    variables = Variables("web", "prod", "shop", "1", "", {"LIST": seen(parameter, "[y, n, 1e3, 1.5, 1000000]")})
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    (made,) = objects_of("t.yaml", head + 'data: {list: "{{ range .Params.LIST }}{{ . }} {{ end }}"}', variables)
    assert made.body["data"] == {"list": "true false 1000 1.5 1000000 "}


WRONG = {
    **{f"!!{kind}": kind for kind in ("float", "bool", "int", "timestamp")},
    **{f"!!{kind} ''": kind for kind in ("float", "bool", "int", "timestamp")},
    **{f"!!{kind} x": kind for kind in ("float", "bool", "int", "timestamp", "null", "binary")},
    "!!float 1:30": "float",
    "!!int 1.5": "int",
    "!!bool 1": "bool",
    "!!timestamp 2020-13-01": "timestamp",
    "!!binary /w==": "binary",
    "!!map []": "an object",
    "!!seq {}": "a list",
    "!!float [1]": "a single value",
    "!other x": "the tag '!other'",
    "!!python/none": "python/none",
}


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("read", [document, written])
def test_a_tag_that_does_not_fit_is_an_error_with_its_line(text: str, read: Any) -> None:
    with pytest.raises(NotYaml) as error:
        read(f"first: 1\na: {text}\n")
    assert error.value.line == 2
    assert WRONG[text] in error.value.message


@pytest.mark.parametrize("tag", ["float", "bool", "int", "timestamp"])
def test_an_empty_tagged_value_is_a_problem_of_the_file_and_of_what_a_template_renders(tag: str) -> None:
    for name in ("operator.yaml", "params.yaml"):
        with pytest.raises(InvalidPackage, match=rf"{name}:1: is not YAML: '' is no !!{tag}; it must be "):
            read_package(files({name: f"name: !!{tag}\n"}))
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    with pytest.raises(TemplateProblem, match=rf"t\.yaml: does not render to YAML: '' is no !!{tag}"):
        objects_of("t.yaml", f"{head}data: !!{tag}\n", Variables("web", "prod", "shop", "1", "", {}))


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "a"),
        ('x:\n  - {"1": a, 1: b}\n', 2, "1"),
        ("base: &b {x: 1}\ntwo:\n  <<: *b\n  y: 1\n  y: 2\n", 5, "y"),
    ],
)
@pytest.mark.parametrize("read", [document, written])
def test_two_equal_keys_are_refused_because_one_of_them_would_be_lost(
    text: str, line: int, key: str, read: Any
) -> None:
    with pytest.raises(NotYaml, match=f"has the key '{key}' twice, first in line") as error:
        read(text)
    assert error.value.line == line
    assert key not in error.value.public.partition("twice")[0].partition("the key")[2]


def test_aliases_may_not_nest_deeper_than_what_is_written_out() -> None:
    """Such a value was read, and ended later in an error of whatever used it."""
    chain = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 400))
    for read in (document, written):
        with pytest.raises(NotYaml, match="nested deeper than 200 levels with its aliases") as error:
            read(chain)
        assert error.value.line > 1


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_what_is_nested_too_deeply_is_named_with_its_line(opening: str) -> None:
    with pytest.raises(NotYaml, match="nested deeper than 200 levels") as error:
        document("a: 1\nb: " + opening * 300)
    assert error.value.line == 2


def test_a_value_as_deep_as_may_be_can_be_rendered() -> None:
    parameter = Parameter(name="DEEP", type=ParameterType.MAP)
    deep = seen(parameter, "{a: " * 198 + "1" + "}" * 198)
    variables = Variables("web", "prod", "shop", "1", "", {"DEEP": deep})
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    (made,) = objects_of("t.yaml", head + "data: {{ toJson .Params.DEEP }}", variables)
    assert made.body["data"] == deep
    (made,) = objects_of("t.yaml", head + "data:{{ toYaml .Params.DEEP | nindent 2 }}", variables)
    assert document(to_yaml(made.body)) == made.body


def test_a_template_that_nests_too_deeply_gets_a_readable_error() -> None:
    deep = '{{ mustFromJson (print (repeat 5000 "[") (repeat 5000 "]")) }}'
    with pytest.raises(TemplateProblem, match=r"t\.yaml:1: does too much: a value is nested too deeply"):
        objects_of("t.yaml", deep, Variables("web", "prod", "shop", "1", "", {}))
