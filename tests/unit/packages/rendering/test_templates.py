"""Templates: they render what Go renders, reach nothing outside, and end."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stateward.packages.format.work_budget import Fuel, size_of
from stateward.packages.format.yamltext import document, documents
from stateward.packages.rendering.functions import REFUSED, functions
from stateward.packages.rendering.step_budget import Spent, small
from stateward.packages.rendering.templates import TemplateProblem, Variables, parse, render
from tests.unit.packages.recordings.corpus import DATA

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "recordings/rendered.json").read_text())
LENIENT = re.compile(r"\| keys|\| until")
"""Calls whose arguments Go refuses by type (a text's keys, an int64 for an int) and the engine here accepts."""


def variables() -> Variables:
    data: Any = json.loads(json.dumps(DATA))
    return Variables(
        name=data["Name"],
        namespace=data["Namespace"],
        operator_name=data["OperatorName"],
        operator_version="1",
        app_version="2",
        parameters=data["Params"],
        plan=data["PlanName"],
        pipes=data["Pipes"],
    )


def render_text(source: str) -> str:
    return render("t.yaml", source, variables())


def fault(source: str) -> str:
    with pytest.raises(TemplateProblem) as caught:
        render_text(source)
    return str(caught.value)


def test_go_rendered_what_is_recorded() -> None:
    assert len(RECORDED) > 900
    assert sum("failed" not in entry for entry in RECORDED) > 650


@pytest.mark.parametrize("part", range(10))
def test_every_recorded_template_renders_as_go_rendered_it(part: int) -> None:
    for entry in RECORDED[part::10]:
        source = entry["template"]
        if "failed" not in entry:
            made, wanted = render_text(source), entry.get("output", "")
            assert made == wanted or ("toYaml" in source and documents(made) == documents(wanted)), source
        elif not LENIENT.search(source) and ".OperatorVersion" not in source:
            fault(source)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("a\n{{ .Params.MISSING }}", "templates/t.yaml:2: there is no 'MISSING'"),
        ("{{ .Param.COUNT }}", "templates/t.yaml:1: there is no 'Param'"),
        ("a\n\n{{ if }}", "templates/t.yaml:3: missing value for command"),
        ("{{ nosuch 1 }}", "templates/t.yaml:1: function 'nosuch' not defined"),
        ('\n{{ fail "choose a size" }}', "choose a size"),
    ],
)
def test_an_error_names_the_file_and_the_line(source: str, words: str) -> None:
    assert words in fault(source)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_reaches_outside_or_differs_each_time_is_not_there_and_the_reason_is_reported(name: str) -> None:
    assert name not in functions(Fuel())
    assert fault("{{ " + name + ' "x" }}') == f"templates/t.yaml:1: {name} cannot be used: {REFUSED[name]}"


@pytest.mark.parametrize("source", ["{{ .Name.upper }}", "{{ .Params.__class__ }}", "{{ .Name.__class__.__mro__ }}"])
def test_nothing_of_python_can_be_reached(source: str) -> None:
    fault(source)


ENDLESS = {
    "long text": '{{ repeat 100000000 "x" }}',
    "long list": "{{ until 100000000 }}",
    "long steps": "{{ untilStep 0 100000000 1 }}",
    "long sequence": "{{ seq 1 100000000 }}",
    "loops in loops": "{{ range until 1000 }}{{ range until 1000 }}x{{ end }}{{ end }}",
    "lists in lists": "{{ $l := list 1 2 }}" + "{{ $l = list $l $l }}" * 40 + "{{ $l }}",
    "texts of texts": '{{ $l := "x" }}' + "{{ $l = print $l $l }}" * 40 + "{{ len $l }}",
    "wide numbers": '{{ printf "%1000000000d" 1 }}',
    "wide by argument": '{{ printf "%*d" 1000000000 1 }}',
    "an object in itself": '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ $d }}',
    "a template that calls itself": '{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}',
    "templates that each call the next one twice": '{{ template "0" }}{{ define "40" }}{{ end }}'
    + "".join(f'{{{{ define "{i}" }}}}' + f'{{{{ template "{i + 1}" }}}}' * 2 + "{{ end }}" for i in range(40)),
    "a long body in a loop": "{{ range until 90000 }}" + "{{ if $.Name }}{{ end }}" * 1000 + "{{ end }}",
    "long conditions in a loop": "{{ range until 90000 }}{{ if or" + " (not $.Name)" * 1000 + " }}{{ end }}{{ end }}",
    "long replacements": '{{ replace "a" (repeat 10000 "b") (repeat 10000 "a") }}',
    "long matches": '{{ regexReplaceAll "a" (repeat 10000 "a") (repeat 10000 "b") }}',
    "large automata": '{{ regexMatch "((a{100}){100}){100}" "aaa" }}',
    "much of everything": '{{ range until 3000 }}{{ $x := repeat 100000 "x" }}{{ end }}',
    "sought again and again": "{{ $l := until 60000 }}{{ range until 200 }}{{ has -1 $l }}{{ end }}",
    "each compared with each": "{{ until 50000 | uniq | len }}",
    "deep indentation": '{{ indent 100000000 "x" }}',
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_template_that_would_do_too_much_is_stopped(case: str) -> None:
    assert re.search("does too much|budget exceeded|elements", fault(ENDLESS[case]))


@pytest.mark.parametrize(
    "source",
    [
        '{{ $r := repeat 20000 "1 " }}{{ range until 20 }}{{ semverCompare $r "1.0.0" }}{{ end }}',
        "{{ $l := until 50000 }}{{ range until 8 }}{{ $x := sortAlpha $l }}{{ end }}",
    ],
)
def test_slow_functions_pay_more_so_that_small_work_stays_small(source: str) -> None:
    """It took four seconds in the thread that does the small work of all namespaces."""
    with pytest.raises(TemplateProblem, match="does too much"):
        render("x.yaml", source, variables(), small())
    usual = '{{ semverCompare ">=1.2.0, <3.0.0 || ^4.1" "1.5.0" }}{{ range sortAlpha (list "b" "a") }}{{ . }}{{ end }}'
    assert render("x.yaml", usual, variables(), small()) == "trueab"


WIDE = "{{ range until 4000 }}{{ range $.Params.MAP }}{{ break }}{{ end }}{{ end }}"


@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("{{ range until 4000 }}" + "{{ if $.Name }}{{ end }}" * 100 + "{{ end }}", "100000 of its parts"),
        (WIDE, "100000 of its parts"),
        ('{{ $x := repeat 100000 "x" }}{{ range until 1000 }}{{ $y := len $x }}{{ end }}', "too many characters"),
    ],
)
def test_what_no_function_pays_for_is_counted_so_that_small_work_stays_small(source: str, most: str) -> None:
    """It took minutes in the thread that does the small work of all namespaces, or did not end."""
    wide = replace(variables(), parameters={"MAP": {f"k{i}": i for i in range(5000)}})
    with pytest.raises(TemplateProblem, match=most):
        render("x.yaml", source, wide, small())
    usual = replace(wide, parameters={"MAP": {f"k{i}": i for i in range(50)}})
    assert render("x.yaml", WIDE.replace("4000", "400"), usual, small()) == ""


def test_values_with_very_many_elements_are_no_small_work() -> None:
    """They are copied for each template."""
    many = replace(variables(), parameters={"LIST": [*range(20_000)]})
    allowance = small()
    with pytest.raises(Spent):
        [render("x.yaml", "x", many, allowance) for _ in range(5)]


def test_the_same_template_always_renders_the_same() -> None:
    source = "{{ range $k, $v := .Params.MAP }}{{ $k }}{{ end }}{{ keys .Params.MAP | sortAlpha }}{{ toYaml .Params }}"
    assert len({render_text(source) for _ in range(20)}) == 1


@pytest.mark.parametrize(
    "change", ['set .Params.MAP "a" .Name', "merge .Params.MAP (dict .Name 1)", 'unset .Params.MAP "k"']
)
def test_what_a_template_does_to_its_values_is_its_own_affair(change: str) -> None:
    values: dict[str, Any] = {"MAP": {"k": "v"}}
    variables = Variables("web", "prod", "shop", "1", "2", values)
    first = render("t.yaml", f"{{{{ $x := {change} }}}}{{{{ toYaml .Params }}}}", variables)
    assert first == render("t.yaml", f"{{{{ $x := {change} }}}}{{{{ toYaml .Params }}}}", variables)
    assert values == {"MAP": {"k": "v"}}


@pytest.mark.parametrize(
    "call", ['date "2006-01-02" "x"', 'htmlDate "2020-01-01"', 'durationRound (toDate "2006" "2020")']
)
def test_what_would_be_reckoned_from_the_present_moment_is_refused(call: str) -> None:
    assert "must always render the same" in fault(f"{{{{ {call} }}}}")
    assert render_text('{{ toDate "2006-01-02 MST" "2020-01-01 UTC" | date "2006" }}') == "2020"


def test_syntax_is_checked_without_values() -> None:
    parse("t.yaml", "{{ .Params.ANYTHING }}")
    with pytest.raises(TemplateProblem, match=r"t\.yaml:1"):
        parse("t.yaml", "{{ end }}")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ 1" + "0" * 5000 + " }}", "Exceeds the limit"),
        ("{{ if .A }}" + "{{ else if .A }}" * 5000 + "{{ end }}", "too many parts within each other"),
    ],
)
def test_what_the_parser_cannot_bear_is_an_error_of_the_template(source: str, words: str) -> None:
    with pytest.raises(TemplateProblem, match=words):
        parse("t.yaml", source)


def test_a_size_counts_characters_and_elements_and_stops_when_it_is_too_large() -> None:
    assert size_of(["ab", {"k": "v"}]) == 1 + 3 + 1 + 2 + 2
    endless: list[Any] = []
    endless.append(endless)
    assert size_of(endless) > 1_000_000


def test_yaml_is_read_as_kubernetes_reads_it() -> None:
    text = 'a: 2020-01-01\nb: 1051:30:00\nc: 1e3\nd: 0755\ne: yes\nf: "yes"\ng: ~\n5: x\nh: n\ni: 0x1F\nj: <<\n'
    assert document(text) == {
        "a": "2020-01-01",
        "b": "1051:30:00",
        "c": 1000.0,
        "d": 493,
        "e": True,
        "f": "yes",
        "g": None,
        "5": "x",
        "h": False,
        "i": 31,
        "j": "<<",
    }
