"""What is found in a template without rendering it: names that cannot exist, in every branch, and no others."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import gotpl
import pytest
from gotpl.parse.semantic import BUILTIN_FUNCTIONS

from stateward.api.values.problem import Severity
from stateward.packages.format.work_budget import TANK, Fuel
from stateward.packages.rendering import inspection
from stateward.packages.rendering.functions import functions
from stateward.packages.rendering.inspection import inspect
from stateward.packages.rendering.shapes import ANYTHING, Names, Plain, Shape, root_of
from stateward.packages.rendering.templates import TemplateProblem, Variables, parse, render
from stateward.packages.review.checks import check_package
from tests.unit.packages.recordings.corpus import DATA
from tests.unit.packages.samples import OPERATOR, PARAMS, shop

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "recordings/rendered.json").read_text())
ROOT = root_of(shop())


def found(source: str) -> list[str]:
    return [f"{finding.line}: {finding.message}" for finding in inspect(source, ROOT) if not finding.doubtful]


NO_NEW = "1: there is no parameter 'NEW'; there are COUNT, EXTRA, FILE, HOSTS, MODE, RATE, SETTINGS, STORAGE"
NO_DOT = "1: there is no 'Params' in the parameter COUNT, which is text"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ .Params.NEW }}", NO_NEW),
        ("{{ .Params.COUNTS }}", "1: there is no parameter 'COUNTS'; did you mean COUNT?"),
        ("{{ .Parms.COUNT }}", "1: there is no value 'Parms'; did you mean Params?"),
        ("{{ .Pipes.key }}", "1: there is no pipe 'key'; there are none"),
        ("{{ .Params.COUNT.x }}", "1: there is no 'x' in the parameter COUNT, which is text"),
        ("{{ .Params.HOSTS.x }}", "1: there is no 'x' in the parameter HOSTS, which is a list"),
        ("{{ .Name.x }}", "1: there is no 'x' in .Name, which is text"),
        ("{{ if false }}{{ .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ if false }}{{ else }}{{ .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ if true }}{{ else if .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ if true }}{{ else if true }}{{ else }}{{ $.Params.NEW }}{{ end }}", NO_NEW),
        ("{{ range .Params.HOSTS }}{{ $.Params.NEW }}{{ end }}", NO_NEW),
        ("{{ range .Params.HOSTS }}{{ else }}{{ .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ range .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ range $k, $v := .Params.SETTINGS }}{{ $v.x }}{{ $.Params.NEW }}{{ end }}", NO_NEW),
        ("{{ with .Params }}{{ .NEW }}{{ end }}", NO_NEW),
        ("{{ with .Params.COUNT }}{{ .Params.MODE }}{{ end }}", NO_DOT),
        ("{{ with false }}{{ else with .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ with false }}{{ else }}{{ .Params.NEW }}{{ end }}", NO_NEW),
        ("{{ with $x := .Params }}{{ $x.NEW }}{{ end }}", NO_NEW),
        ("{{ $x := .Params }}{{ if false }}{{ $x.NEW }}{{ end }}", NO_NEW),
        ("{{ $x := . }}{{ range .Params.HOSTS }}{{ $x.Params.NEW }}{{ end }}", NO_NEW),
        ("{{ .Params.MODE | default .Params.NEW | quote }}", NO_NEW),
        ("{{ if and .Params.COUNT (eq .Params.NEW `x`) }}{{ end }}", NO_NEW),
        ("{{ or .Params.COUNT .Params.NEW }}", NO_NEW),
        ("{{ (.Params).NEW }}", NO_NEW),
        ('{{ (index . "Params").NEW }}', NO_NEW),
        ('{{ define "a" }}{{ .Params.NEW }}{{ end }}{{ if false }}{{ template "a" . }}{{ end }}', NO_NEW),
        ('{{ define "a" }}{{ $.NEW }}{{ end }}{{ template "a" .Params }}', NO_NEW),
        ('{{ define "a" }}{{ .root.Params.NEW }}{{ end }}{{ template "a" (dict "root" $ "x" 1) }}', NO_NEW),
        (
            '{{ define "a" }}{{ .y }}{{ end }}{{ template "a" (dict "root" $ "x" 1) }}',
            "1: there is no key 'y'; there are",
        ),
        ('{{ define "a" }}{{ .Name }}{{ end }}{{ template "a" }}', "1: there is no value to take 'Name' of: the"),
        ('{{ block "a" .Params }}{{ .NEW }}{{ end }}', NO_NEW),
        ('{{ if false }}{{ template "b" . }}{{ end }}', "1: there is no template 'b'; this file defines none"),
        ('{{ define "a" }}{{ template "b" . }}{{ end }}', "1: there is no template 'b'; this file defines a"),
        ("a\n{{- /* .Params.OLD */ -}}\n\n{{ if false }}\n{{ .Params.NEW }}\n{{ end }}", "5" + NO_NEW[1:]),
        ("äöü\n{{ .Params.NEW }}", "2" + NO_NEW[1:]),
    ],
)
def test_a_name_that_cannot_exist_is_found_in_every_branch_with_its_line(source: str, says: str) -> None:
    (said,) = found(source)
    assert said.startswith(says)


@pytest.mark.parametrize(
    "source",
    [
        "{{ .Name }}{{ .Params.SETTINGS.any.thing }}{{ .Params.COUNT }}",
        "{{ with .Params.SETTINGS }}{{ .any }}{{ $.Name }}{{ end }}",
        "{{ range .Params.HOSTS }}{{ .any }}{{ . }}{{ end }}",
        "{{ range $i, $host := .Params.HOSTS }}{{ $host.any }}{{ $i }}{{ end }}",
        "{{ range $name, $value := .Params }}{{ $name }}{{ $value }}{{ end }}",
        '{{ $x := .Params.SETTINGS }}{{ $x.any }}{{ index $x "other" }}',
        '{{ $x := .Params.COUNT }}{{ if true }}{{ $x = dict "a" 1 }}{{ end }}{{ $x.a }}',
        '{{ $x := .Params.COUNT }}{{ range until 2 }}{{ if $x }}{{ $x.a }}{{ end }}{{ $x = dict "a" 1 }}{{ end }}',
        '{{ $p := set .Params "NEW" 1 }}{{ .Params.NEW }}',
        '{{ $p := .Params }}{{ $_ := set $p "NEW" 1 }}{{ .Params.NEW }}',
        '{{ range until 2 }}{{ if $.Name }}{{ $.Params.NEW }}{{ end }}{{ $_ := set $.Params "NEW" 1 }}{{ end }}',
        '{{ $all := merge (dict "NEW" 1) .Params }}{{ $all.NEW }}',
        '{{ if hasKey .Params "NEW" }}{{ .Params.NEW }}{{ end }}',
        '{{ with dict "a" (dict "b" .Params.COUNT) }}{{ .a.b }}{{ end }}',
        '{{ define "unused" }}{{ .whatever }}{{ $.more }}{{ end }}',
        '{{ define "a" }}{{ . }}{{ with . }}x{{ end }}{{ end }}{{ template "a" }}',
        '{{ define "a" }}{{ if . }}{{ template "a" (dict "n" .) }}{{ end }}{{ end }}{{ template "a" "x" }}',
        '{{ define "a" }}{{ .x }}{{ end }}{{ template "a" .Params.SETTINGS }}{{ template "a" dict "x" 1 }}',
        "{{ (fromJson .Params.COUNT).any }}{{ (splitList `,` .Params.COUNT | first).any }}",
        "{{ if true }}{{ $x := .Params }}{{ $x.COUNT }}{{ end }}{{ $x := 1 }}{{ $x }}",
        "{{/* .Params.NEW */}}{{ `{{ .Params.NEW }}` }}",
        '{{ dict "Params" . | toYaml }}{{ (index .Params.HOSTS 0).any }}',
    ],
)
def test_what_may_exist_is_no_finding(source: str) -> None:
    parse("t.yaml", source)
    assert found(source) == []


VALUE = "is a value: it takes no argument, and nothing can be piped into it"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ if false }}{{ upper }}{{ end }}", "wrong number of args for upper: want 1 got 0"),
        ("{{ if false }}{{ upper .Name .Name }}{{ end }}", "wrong number of args for upper: want 1 got 2"),
        ("{{ range .Params.HOSTS }}{{ trunc 3 }}{{ end }}", "wrong number of args for trunc: want 2 got 1"),
        ("{{ with .Params.HOSTS }}{{ $.Name | trunc }}{{ end }}", "wrong number of args for trunc: want 2 got 1"),
        ('{{ .Name | replace "a" }}', "wrong number of args for replace: want 3 got 2"),
        ('{{ .Name | replace "a" "b" "c" }}', "wrong number of args for replace: want 3 got 4"),
        ("{{ .Name | quote | trunc 3 4 }}", "wrong number of args for trunc: want 2 got 3"),
        ('{{ "x" | trunc 3 4 }}', "wrong number of args for trunc: want 2 got 3"),
        ("{{ if and .Name (trunc 3) }}{{ end }}", "wrong number of args for trunc: want 2 got 1"),
        ("{{ or .Name (eq .Name) }}", "wrong number of args for eq: want at least 2 got 1"),
        ("{{ print upper }}", "wrong number of args for upper: want 1 got 0"),
        ("{{ $x := trunc 3 }}{{ $x }}", "wrong number of args for trunc: want 2 got 1"),
        ("{{ range until }}{{ end }}", "wrong number of args for until: want 1 got 0"),
        ('{{ define "a" }}{{ hello 1 }}{{ end }}', "wrong number of args for hello: want 0 got 1"),
        ('{{ template "a" upper }}{{ define "a" }}{{ end }}', "wrong number of args for upper: want 1 got 0"),
        ("{{ dig .Params.SETTINGS }}", "wrong number of args for dig: want at least 3 got 1"),
        ("{{ if false }}{{ and }}{{ end }}", "function 'and' requires an argument"),
        ("{{ if false }}{{ or }}{{ end }}", "function 'or' requires an argument"),
        ("{{ if false }}{{ call .Name }}{{ end }}", "function 'call' not defined"),
        ("{{ index .Params.SETTINGS `a` | replace `b` }}", "wrong number of args for replace: want 3 got 2"),
        ('{{ if false }}{{ .Name "x" }}{{ end }}', f".Name {VALUE}"),
        ('{{ define "a" }}{{ .whatever 1 }}{{ end }}', f".whatever {VALUE}"),
        ('{{ $x := 1 }}{{ if false }}{{ $x "y" }}{{ end }}', f"$x {VALUE}"),
        ('{{ if false }}{{ ("a") "b" }}{{ end }}', f'("a") {VALUE}'),
        ('{{ if false }}{{ "a" "b" }}{{ end }}', f'"a" {VALUE}'),
        ("{{ if false }}{{ .Name | .Namespace }}{{ end }}", f".Namespace {VALUE}"),
        ('{{ with (dict "a" 1) "b" }}{{ end }}', f'(dict "a" 1) {VALUE}'),
        ("{{ quote (.Params.COUNT 1) }}", f".Params.COUNT {VALUE}"),
    ],
)
def test_what_takes_no_such_arguments_is_found_in_every_branch_with_its_line(source: str, says: str) -> None:
    assert found("\n" + source) == [f"2: {says}"]


@pytest.mark.parametrize(
    "source",
    [
        '{{ .Name | trunc 3 | upper | quote }}{{ print }}{{ list }}{{ list 1 2 3 | join "," }}{{ default list .Name }}',
        '{{ and .Name }}{{ .Name | and }}{{ or .Name .Namespace "x" }}{{ .Name | or "" }}{{ and (eq .Name "a" "b") }}',
        "{{ round 1.5 2 }}{{ round 1.5 2 0.5 }}{{ add }}{{ add 1 2 3 }}{{ .Name | default }}{{ eq 1 1 1 1 }}",
        '{{ dict }}{{ dict "a" }}{{ printf "%s" }}{{ .Name | printf "%s" }}{{ index .Params.SETTINGS }}{{ (.Name) }}',
        # What is piped may be no value, and then does not count: this renders with one argument.
        '{{ index .Params.SETTINGS "a" | upper "x" }}',
        '{{ $x := index .Params.SETTINGS "a" }}{{ $x | upper "x" }}{{ $x | .Name }}',
        '{{ default (index .Params.SETTINGS "a") "" | upper "x" }}',
    ],
)
def test_variadic_functions_pipes_and_values_that_may_be_missing_are_no_finding(source: str) -> None:
    assert found(source) == []
    render("t.yaml", source, Variables("web", "prod", "shop", "1", "", {"SETTINGS": {}}))


@pytest.mark.parametrize("piped", ["", "1 | "])
def test_the_number_of_arguments_is_judged_as_the_engine_judges_it(piped: str) -> None:
    fuel = Fuel()
    fuel.fill(TANK)
    known = functions(fuel)
    policy = gotpl.SandboxPolicy.strict(allow_functions=known)
    differs: list[str] = []
    for name, count in product(sorted({*known, *BUILTIN_FUNCTIONS}), range(5)):
        source = f"{{{{ {piped}{' '.join((name, *['1'] * count))} }}}}"
        try:
            gotpl.Template(source, functions=known, sandbox=policy).render({})
            said = ""
        except gotpl.TemplateExecutionError as error:
            said = error.message
        refused = re.search("wrong number of args|requires an argument|at least|is not defined", said) is not None
        if bool(found(source)) is not refused:
            differs.append(f"{source}: {said}")
    assert differs == []


@pytest.mark.parametrize(
    "source", ['{{ index .Params "NEW" }}', '{{ get .Params "NEW" }}', '{{ index . "Params" "NEW" }}']
)
def test_a_name_that_a_function_asks_for_in_vain_is_a_doubt_because_it_renders(source: str) -> None:
    (finding,) = inspect(source, ROOT)
    assert finding.doubtful
    assert f"1: {finding.message}" == NO_NEW
    render("t.yaml", source, Variables("web", "prod", "shop", "1", "", {}))


def test_nothing_is_found_in_what_the_formats_own_engine_has_rendered() -> None:
    def shape(value: object) -> Shape:
        return ANYTHING if isinstance(value, dict) else Plain("text")

    parameters: Any = DATA["Params"]
    inner = Names("parameter", tuple((name, shape(value)) for name, value in parameters.items()))
    root = Names("value", tuple((name, inner if name == "Params" else shape(value)) for name, value in DATA.items()))
    looked = 0
    for case in RECORDED:
        try:
            parse("t.yaml", case["template"])
        except TemplateProblem:
            continue
        if not case.get("failed"):
            looked += 1
            assert [finding for finding in inspect(case["template"], root) if not finding.doubtful] == [], case
    assert looked > 500


@pytest.mark.parametrize("call", ["{{ nope }}", "{{ $nope }}", "{{ env `HOME` }}", "{{ upper }}", "{{ .Name `x` }}"])
@pytest.mark.parametrize(
    "around",
    [
        "{{ if false }}%s{{ end }}",
        "{{ if true }}{{ else }}%s{{ end }}",
        "{{ range .Params.HOSTS }}%s{{ end }}",
        "{{ with .Params.HOSTS }}%s{{ end }}",
        '{{ define "x" }}%s{{ end }}',
        '{{ block "x" . }}%s{{ end }}',
    ],
)
def test_an_unknown_function_or_variable_and_a_wrong_call_are_found_in_every_branch(around: str, call: str) -> None:
    package = shop({"templates/extra.yaml": "\n" + around % call})
    (said,) = [str(problem) for problem in check_package(package) if problem.severity is Severity.ERROR]
    assert said.startswith("templates/extra.yaml:2: ")


def test_verify_names_file_and_line_of_what_the_defaults_do_not_reach() -> None:
    package = shop(extra=("spec:", "{{ if eq .Params.MODE `fast` }}\n{{ .Params.SPEED }}\n{{ end }}spec:"))
    (problem,) = check_package(package)
    assert (problem.severity, problem.path) == (Severity.ERROR, "templates/extra.yaml:5")
    assert problem.message.startswith("there is no parameter 'SPEED'")


def test_what_no_task_uses_and_what_renders_all_the_same_are_warnings() -> None:
    unused = check_package(shop({"templates/more.yaml": "{{ .Params.NEW }}"}))
    assert {(problem.path, problem.severity) for problem in unused} == {
        ("templates/more.yaml:1", Severity.WARNING),
        ("templates/more.yaml", Severity.WARNING),
    }
    (doubt,) = check_package(shop(extra=("spec:", '# {{ index .Params "NEW" }}\nspec:')))
    assert (doubt.path, doubt.severity) == ("templates/extra.yaml:4", Severity.WARNING)


def test_the_names_of_pipes_are_known() -> None:
    piped = "- name: piped\n  kind: Pipe\n  spec: {pod: job.yaml, pipe: [{kind: Secret, key: cert, file: a}]}\nplans:"
    operator = OPERATOR.replace("plans:", piped, 1)
    root = root_of(shop({"operator.yaml": operator, "params.yaml": PARAMS}))
    assert inspect("{{ .Pipes.cert }}", root) == []
    (finding,) = inspect("{{ .Pipes.certs }}", root)
    assert finding.message == "there is no pipe 'certs'; did you mean cert?"


def test_the_work_is_limited_and_what_was_found_until_then_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "MOST_WORK", 100)
    assert len(found("{{ .Params.NEW }}\n" * 1000)) < 110
    inner = '{{ define "t%d" }}{{ template "t%d" (dict "a" . "b" .) }}{{ template "t%d" . }}{{ end }}'
    calls = "".join(inner % (n, n + 1, n + 1) for n in range(200))
    assert found(calls + '{{ define "t200" }}{{ end }}{{ template "t0" . }}{{ .Params.NEW }}') in ([], [NO_NEW])
