"""Writes the corpus that Go's own engine renders: templates as packages have them, and many random ones."""

# The templates have their full length; the random ones only add more.
# ruff: noqa: E501, S311

import itertools
import json
import random
import sys
from collections.abc import Callable, Iterator

DATA: dict[str, object] = {
    "Name": "db",
    "Namespace": "prod",
    "OperatorName": "zookeeper",
    "PlanName": "deploy",
    "Params": {
        "COUNT": "3",
        "EMPTY": "",
        "ENABLED": "true",
        "DISABLED": "false",
        "FLOAT": "1.5",
        "NAME": "Some Name",
        "LINES": "one\ntwo\n",
        "SECRET": "p@ss: 'word' #1",
        "LIST": ["b", "a", "c"],
        "NUMBERS": [3, 1, 2],
        "MAP": {"k": "v", "a": {"b": [1, "two"]}, "n": 5},
        "NOTHING": [],
    },
    "Pipes": {"cert": "db-cert"},
}

WRITTEN = r"""
{{ .Name }}-{{ .OperatorName }}-svc
replicas: {{ .Params.COUNT | mul 2 }}
{{- /* a comment */ -}} x {{- " y " -}} z
{{ if eq .Params.ENABLED "true" }}on{{ else }}off{{ end }}
{{ if and (eq .Params.ENABLED "true") (ne .Params.DISABLED "true") }}both{{ end }}
{{ if or (eq .Params.EMPTY "x") (gt (int .Params.COUNT) 2) }}one{{ else if .Params.EMPTY }}two{{ else }}three{{ end }}
{{ range $i, $v := until (int .Params.COUNT) }}{{ $.Name }}-{{ $i }}:{{ $v }},{{ end }}
{{ range $k, $v := .Params.MAP }}{{ $k }}={{ $v }};{{ end }}
{{ range .Params.NOTHING }}x{{ else }}none{{ end }}
{{ range $i, $e := .Params.LIST }}{{ if $i }},{{ end }}{{ $e | quote }}{{ end }}
{{ range .Params.LIST }}{{ if eq . "a" }}{{ continue }}{{ end }}{{ . }}{{ end }}
{{ range .Params.LIST }}{{ if eq . "a" }}{{ break }}{{ end }}{{ . }}{{ end }}
{{ with .Params.MAP.a }}{{ index .b 1 }}{{ end }}{{ with .Params.EMPTY }}no{{ else }}empty{{ end }}
{{ define "part" }}<{{ . }}>{{ end }}{{ template "part" .Name }}{{ template "part" .Params.COUNT }}
{{ block "other" .Name }}[{{ . }}]{{ end }}
{{ $x := 1 }}{{ range .Params.LIST }}{{ $x = add $x 1 }}{{ end }}{{ $x }}
{{ .Params.MISSING }}
{{ .Params.MAP.missing }}
{{ index .Params "COUNT" }}{{ index .Params "MISSING" }}
{{ index .Params.LIST 5 }}
{{ .Params.LINES | indent 4 }}
key: |{{ .Params.LINES | nindent 2 }}
{{ toYaml .Params.MAP }}
{{ .Params.MAP | toJson }}
{{ .Params.MAP | toPrettyJson }}
{{ .Params.LIST | toYaml | nindent 2 }}
{{ .Params.SECRET | b64enc }}{{ .Params.SECRET | sha256sum }}
{{ .Params.SECRET | squote }}{{ .Params.SECRET | quote }}
{{ printf "%s-%d-%05d|%-6s|%6s|%v|%q|%t|%x" .Name 3 42 "ab" "cd" .Params.LIST "q\"" true 255 }}
{{ printf "%5.2f %e %g %v" 3.14159 1234.5 0.1 2.0 }}
{{ print .Name 1 2 "x" "y" 3 }}{{ println "a" 1 }}
{{ .Params.LIST }}{{ .Params.MAP }}{{ .Params.NUMBERS }}{{ true }}{{ 1.0 }}{{ 1e3 }}{{ 0x10 }}
{{ len .Params.LIST }}{{ len .Name }}{{ slice .Name 1 }}{{ not true }}
{{ eq 1 1 }}{{ eq "a" "b" "a" }}{{ lt 1 2 }}{{ le 2 2 }}{{ ge 1 2 }}{{ ne 1 2 }}
{{ eq .Params.COUNT 3 }}
{{ div 7 2 }} {{ mod 7 2 }} {{ add 1 2 3 }} {{ sub 5 3 }} {{ mul 2 3 4 }} {{ max 1 5 3 }} {{ min 4 2 8 }} {{ add1 4 }}
{{ div 1 0 }}
{{ int "abc" }}{{ int "12" }}{{ int64 3.7 }}{{ float64 "1.5" }}{{ atoi "77" }}{{ int "0x10" }}{{ int "010" }}
{{ ceil 1.2 }} {{ floor 1.8 }} {{ round 1.2345 2 }}
{{ default "d" .Params.EMPTY }}{{ .Params.NAME | default "d" }}{{ coalesce "" .Params.EMPTY "c" }}{{ empty .Params.NOTHING }}
{{ ternary "yes" "no" (eq .Params.ENABLED "true") }}
{{ .Params.NAME | upper }}{{ .Params.NAME | lower }}{{ .Params.NAME | title }}{{ .Params.NAME | nospace }}
{{ .Params.NAME | trunc 4 }}{{ .Params.NAME | trunc -4 }}{{ substr 1 3 .Params.NAME }}{{ abbrev 6 "hello world" }}
{{ trim "  x " }}{{ trimSuffix "-a" "b-a" }}{{ trimPrefix "b-" "b-a" }}{{ trimAll "$" "$5$" }}
{{ contains "om" .Params.NAME }}{{ hasPrefix "So" .Params.NAME }}{{ hasSuffix "x" .Params.NAME }}
{{ replace " " "-" .Params.NAME }}{{ repeat 3 "ab" }}{{ cat "a" "b" 1 }}{{ plural "one" "many" 2 }}
{{ snakecase "FirstName" }}{{ camelcase "first_name" }}{{ kebabcase "FirstName" }}{{ swapcase "aB" }}{{ initials "First Name" }}
{{ join "," .Params.LIST }}{{ join "," .Params.NUMBERS }}{{ splitList "," "a,b" }}{{ (split "-" "a-b")._1 }}
{{ sortAlpha .Params.LIST }}{{ reverse .Params.LIST }}{{ uniq (list 1 1 2) }}{{ first .Params.LIST }}{{ last .Params.LIST }}
{{ rest .Params.LIST }}{{ initial .Params.LIST }}{{ append .Params.LIST "d" }}{{ prepend .Params.LIST "z" }}{{ concat .Params.LIST (list 1) }}
{{ has "a" .Params.LIST }}{{ without .Params.LIST "a" }}{{ compact (list "" "a" 0) }}{{ chunk 2 .Params.LIST }}{{ slice .Params.LIST 1 2 }}
{{ $d := dict "a" 1 "b" "x" }}{{ $_ := set $d "c" true }}{{ $_ := unset $d "a" }}{{ $d }}{{ hasKey $d "b" }}{{ get $d "b" }}
{{ keys .Params.MAP | sortAlpha }}{{ pick .Params.MAP "k" }}{{ omit .Params.MAP "a" }}{{ values (dict "x" 1) }}{{ pluck "k" .Params.MAP }}
{{ merge (dict "a" 1) (dict "a" 2 "b" 3) }}{{ mergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3) }}{{ dig "a" "b" "none" .Params.MAP }}
{{ fromJson "{\"a\": [1, 2.5]}" }}{{ (fromJson "{\"a\": 1}").a }}
{{ untilStep 0 10 3 }}{{ seq 3 }}{{ seq 1 2 7 }}{{ until 0 }}
{{ regexMatch "^[a-z]+$" "abc" }}{{ regexFind "[0-9]+" "a12b3" }}{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }}{{ regexSplit "z+" "pizza" -1 }}
{{ regexFindAll "[0-9]" "a1b2c3" 2 }}{{ regexReplaceAllLiteral "a" "banana" "$1" }}{{ regexQuoteMeta "a.b" }}
{{ semver "1.2.3-rc1" }}{{ semverCompare "^1.2.0" "1.4.0" }}{{ semverCompare ">1.16.0-0" "v1.35.1" }}
{{ kindOf .Params.MAP }}{{ kindOf .Params.LIST }}{{ kindOf 1 }}{{ kindOf "x" }}{{ kindIs "string" .Name }}{{ typeOf 1.5 }}
{{ b64dec "YWJj" }}{{ b32enc "abc" }}{{ adler32sum "x" }}{{ sha1sum "x" }}{{ urlParse "http://u:p@h:1/p?q=1" }}
{{ quote 1 2 nil }}{{ quote true 1.5 }}{{ toString 5 }}{{ toStrings (list 1 "a") }}{{ wrap 5 "hello big world" }}
{{ html "<a&b>" }}{{ js "a'b" }}{{ urlquery "a b&c" }}
{{ fail "on purpose" }}
{{ "unterminated }}
{{ nosuchfunction 1 }}
{{ if true }}
{{ .Params.COUNT.x }}
{{ .Name | printf "%s/%s" .Namespace }}
{{ "a" | eq "a" | ternary "x" "y" }}
{{ (index .Params.LIST 0) | upper | repeat 2 | quote }}
{{ $list := list }}{{ range .Params.NUMBERS }}{{ $list = append $list (mul . 2) }}{{ end }}{{ join "+" $list }}
{{ range $i, $e := .Params.NUMBERS }}{{ if gt $e 1 }}{{ $i }}{{ $e }}{{ end }}{{ end }}
{{"{{"}} literal {{"}}"}} {{ `raw \n` }} {{ "tab\t" }} {{ 'a' }}
{{ nil }}
{{ .Pipes.cert }}{{ .Pipes.none }}
{{ $.Params.COUNT }}{{ $ | kindOf }}
{{ range 3 }}{{ . }}{{ end }}
{{ all 1 "" }}{{ any 0 "" 1 }}{{ deepEqual (list 1) (list 1) }}{{ deepCopy .Params.MAP }}
{{ mulf 1.5 2 }} {{ addf 1.5 2 }} {{ divf 3 2 }} {{ subf 3 1.5 }} {{ maxf 1 2.5 }} {{ minf 1 2.5 }}
{{ toDecimal "0777" }}{{ untitle "Abc" }}{{ nindent 2 "a" }}{{ trimall "-" "-a-" }}{{ toRawJson "<a>" }}{{ biggest 1 2 }}{{ tuple 1 2 }}
"""

_TEXTS = [".Name", ".Params.NAME", ".Params.EMPTY", ".Params.COUNT", ".Params.LINES", '"x-Y z"', '"a,b,,c"', "`q'\"`"]
_NUMBERS = ["0", "1", "-3", "7", "(int .Params.COUNT)", "(len .Params.LIST)", "2.5"]
_LISTS = [".Params.LIST", ".Params.NUMBERS", ".Params.NOTHING", '(list 1 "b" true)', '(splitList "," "z,a")']
_MAPS = [".Params.MAP", '(dict "k" "w" "z" 1)', "(dict)"]

_OF_TEXT = ["upper", "lower", "title", "trim", "quote", "squote", "trunc 3", "trunc -2", 'default "d"', 'replace "a" "bb"',
            "repeat 2", "nospace", "indent 2", "nindent 1", "b64enc", "sha256sum", 'trimSuffix "b"', 'contains "a"', "len",
            'hasPrefix "x"', 'splitList ","', "snakecase", "kebabcase", "camelcase", "toJson", "empty", "substr 0 2",
            'printf "%s|%10s" "p"', 'printf "%q"', "swapcase", "initials", 'regexReplaceAll "[a-z]+" "r"', "html", "int"]  # fmt: skip
_OF_NUMBER = ["add 2", "mul 3", "sub 1", "max 4", "min 4", "div 9", "mod 5", 'printf "%v"', 'printf "%3d"', "toString",
              "int", "float64", "ceil", "floor", "until", "quote", "add1", "eq 7", "lt 2", "not", "toJson"]  # fmt: skip
_OF_LIST = ['join "-"', "len", "first", "last", "rest", "initial", "reverse", "uniq", "compact", 'has "a"', "toJson", "sortAlpha",
            'printf "%v"', "toStrings", "empty", 'without "a"']  # fmt: skip
_OF_MAP = ["len", "toJson", 'printf "%v"', "keys | sortAlpha", 'dig "k" "none"', "empty", "kindOf"]


def main() -> None:
    """Print the corpus."""
    written = [line for line in WRITTEN.splitlines() if line]
    json.dump({"data": DATA, "templates": written + list(itertools.islice(_made(random.Random(8)), 900))}, sys.stdout)


def _made(rng: random.Random) -> Iterator[str]:
    seen = set[str]()
    while True:
        made = _statement(rng, 3)
        if made not in seen:
            seen.add(made)
            yield made


def _statement(rng: random.Random, depth: int) -> str:
    kinds: list[Callable[[], str]] = [
        lambda: "{{ " + _pipeline(rng) + " }}",
        lambda: rng.choice(["plain", "- {{ .Name }}", "\n  ", "{{- .Name -}} ", "{{/* c */}}"]),
    ]
    if depth:
        inner = lambda: _statement(rng, depth - 1)  # noqa: E731
        kinds += [
            lambda: "{{ if " + _condition(rng) + " }}" + inner() + "{{ else }}" + inner() + "{{ end }}",
            lambda: (
                "{{- range $i, $e := " + rng.choice(_LISTS + _MAPS) + " }}{{ $i }}{{ $e }}" + inner() + "{{ end -}}"
            ),
            lambda: "{{ with " + _pipeline(rng) + " }}[{{ . }}]{{ else }}none{{ end }}",
            lambda: "{{ $v := " + _pipeline(rng) + " }}{{ $v }}" + inner(),
            lambda: inner() + inner(),
        ]
    return rng.choice(kinds)().replace("{{ with .Name", "{{ with $.Name")


def _pipeline(rng: random.Random) -> str:
    values, functions = rng.choice(
        [(_TEXTS, _OF_TEXT), (_TEXTS, _OF_TEXT), (_NUMBERS, _OF_NUMBER), (_LISTS, _OF_LIST), (_MAPS, _OF_MAP)]
    )
    return " | ".join([rng.choice(values), *rng.sample(functions, rng.randint(0, 2))])


def _condition(rng: random.Random) -> str:
    simple = [f"eq {rng.choice(_TEXTS)} {rng.choice(_TEXTS)}", rng.choice(_LISTS + _TEXTS + _NUMBERS)]
    simple += [f"gt (int {rng.choice(_TEXTS)}) 1", f"not ({_pipeline(rng)})"]
    return rng.choice([*simple, f"and ({simple[0]}) ({simple[2]})", f"or ({simple[1]}) ({simple[3]})"])


if __name__ == "__main__":
    main()
