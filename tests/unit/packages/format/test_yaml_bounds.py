"""The limit of an expanded YAML text: aliases multiply its size."""

import time
from dataclasses import replace

import msgspec
import pytest

from stateward.packages.format import yamltext
from stateward.packages.format.parameters import BadValue, check_values, seen
from stateward.packages.format.records import Parameter, ParameterType
from stateward.packages.format.work_budget import LARGEST_OUTPUT
from stateward.packages.rendering.objects import read_objects
from stateward.packages.rendering.templates import TemplateProblem
from tests.unit.packages.samples import shop


def doubled(levels: int, around: str = "[{}]") -> str:
    """Return a text in which each line holds the one before nine times."""
    lines = ["a0: &a0 [x, x, x]"]
    for level in range(1, levels):
        inner = around.format(", ".join([f"*a{level - 1}"] * 9))
        lines.append(f"a{level}: &a{level} {inner}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        doubled(12),
        "a0: &a0 {x: 1, y: 2}\n"
        + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)),
        "--- \n".join([doubled(6)] * 30),
    ],
    ids=["lists", "merged", "documents"],
)
def test_aliases_that_expand_too_much_are_refused_before_their_expansion(text: str) -> None:
    with pytest.raises(yamltext.NotYaml, match="too much"):
        yamltext.documents(text)


def test_what_reads_texts_of_others_refuses_them_by_name() -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    with pytest.raises(TemplateProblem, match="too much"):
        list(read_objects("t.yaml", head + doubled(12)))
    with pytest.raises(yamltext.NotYaml, match="too much"):
        yamltext.written(doubled(12))
    with pytest.raises(BadValue, match="too much"):
        seen(Parameter(name="MAP", type=ParameterType.MAP), doubled(12))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (f"a: [{'a,' * yamltext.MOST_NODES}]", "200000 nodes"),
        ("- a\n" * (1 << 20), "200000 nodes"),
        ("--- \n" * 300_000, "200000 nodes"),
        (f"a: &a x\nb: [{'*a,' * yamltext.MOST_NODES}]", "200000 nodes"),
        ("[" * 100_000, "deeper than 200 levels"),
        ("{a: " * 100_000, "deeper than 200 levels"),
        ("- " * 100_000, "deeper than 200 levels"),
        ("a" * (LARGEST_OUTPUT + 1), f"has {LARGEST_OUTPUT + 1} characters, and at most {LARGEST_OUTPUT}"),
    ],
    ids=["flow", "block", "documents", "aliases", "lists", "objects", "dashes", "characters"],
)
def test_what_is_too_much_is_refused_before_it_is_made_with_the_limit(text: str, limit: str) -> None:
    """Four megabytes of one-letter list items took a minute of processor time, and more than a gigabyte of memory."""
    before = time.process_time()
    with pytest.raises(yamltext.NotYaml, match=limit):
        yamltext.documents(text)
    assert time.process_time() - before < 5


def test_lists_and_objects_as_deep_as_they_may_be_are_read() -> None:
    depth = yamltext.DEEPEST
    found = yamltext.document("[" * depth + "]" * depth)
    for _ in range(depth - 1):
        (found,) = found
    assert found == []
    assert yamltext.document("{a: " * 100 + "1" + "}" * 100)


def test_texts_of_lists_have_a_limit_together_with_those_that_a_package_brings() -> None:
    """They are read in each reconciliation of an installation, on the event loop."""
    parameters = {
        name: Parameter(name=name, type=ParameterType.ARRAY, default=f"[{'a,' * 10_000}]") for name in ("A", "B", "C")
    }
    package = replace(shop(), parameters=parameters)
    assert check_values(package, {}) == []
    (problem,) = check_values(package, {"C": f"[{'a,' * 13_000}]"})
    assert problem.path == "C"
    assert "66006 characters together, and may have at most 65536" in problem.public
    assert check_values(package, {"C": ["a"] * 13_000}) == []


def merged(levels: int) -> str:
    """Return a short text of objects, each with all keys of the one before ten times."""
    lines = [f"- &a0 {{{', '.join(f'k{n}: 0' for n in range(10))}}}"]
    lines += (f"- &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, levels))
    return "\n".join(lines)


def test_texts_of_a_few_hundred_characters_whose_merged_objects_take_seconds_are_refused_at_once() -> None:
    """Each of them took more than a second, and the operator reads all in each reconciliation."""
    parameters = {name: Parameter(name=name, type=ParameterType.ARRAY) for name in map("P{}".format, range(150))}
    before = time.process_time()
    found = check_values(replace(shop(), parameters=parameters), dict.fromkeys(parameters, merged(5)))
    assert len(found) == 150
    assert time.process_time() - before < 1


def test_aliases_of_all_texts_of_lists_have_a_limit_together() -> None:
    parameters = {name: Parameter(name=name, type=ParameterType.ARRAY) for name in map("P{}".format, range(40))}
    package = replace(shop(), parameters=parameters)
    (problem,) = check_values(package, dict.fromkeys(parameters, merged(3)))
    assert "at most 20000 nodes together with their aliases" in problem.public
    assert check_values(package, dict.fromkeys(list(parameters)[:4], merged(3))) == []


def test_the_choices_that_a_package_brings_as_text_count_too() -> None:
    """They are read in each reconciliation as well: twenty long ones took a minute."""
    choices = (f"[{'0,' * 19_000}]",) * 20
    parameter = Parameter(name="LIST", type=ParameterType.ARRAY, enum=choices)
    (problem,) = check_values(replace(shop(), parameters={"LIST": parameter}), {"LIST": "[0]"})
    assert "characters together" in problem.public


def test_nodes_are_counted_with_aliases_written_out() -> None:
    """The allowance of a step counts them so: a thread that all namespaces share read a template for seconds."""
    assert yamltext.nodes("- &a [1, 2]\n- *a\n") == 1 + 1 + 3 + 3
    assert yamltext.nodes("--- &a [1]\n--- [*a]\n") == 1 + 2 + 1 + 2
    with pytest.raises(yamltext.NotYaml, match="more than 200000 nodes"):
        yamltext.nodes(merged(7))


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {c: *a}}", "&a [b, {c: [*a]}]"])
def test_what_holds_itself_is_refused(text: str) -> None:
    with pytest.raises(yamltext.NotYaml, match="holds itself"):
        yamltext.written(text)


def test_usual_aliases_and_merges_are_read_as_ever() -> None:
    text = "base: &b {x: 1, y: [1, 2]}\none: *b\ntwo: {<<: *b, x: 3}\n"
    assert yamltext.document(text)["two"] == {"x": 3, "y": [1, 2]}
    assert yamltext.written(text)["one"] == {"x": "1", "y": ["1", "2"]}


def test_whatever_is_read_can_be_sent() -> None:
    """A number or text without a JSON form would end a plan without a message."""
    large = yamltext.document("a: 123456789012345678901234567890\nb: 18446744073709551615\nc: -9223372036854775808\n")
    assert large == {"a": 123456789012345678901234567890.0, "b": (1 << 64) - 1, "c": -(1 << 63)}
    assert msgspec.json.encode(large)
    for text in ('"\\ud800"', "1" + "0" * 400, '{"\\udfff": 1}', ".inf", "[-.INF]", "a: .NaN", "1e999"):
        with pytest.raises(yamltext.NotYaml):
            yamltext.document(text)
    assert yamltext.document('"\\U0001F600"') == "\U0001f600"
