"""The values of a package's parameters: which are accepted, and how templates see them.

Templates see numbers and flags as text, as this format always has (`eq .Params.ENABLED "true"`), and lists and maps as
such. Users may write each value as itself or as text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Any, cast

import msgspec

from stateward.api.values.problem import Problem, first_of
from stateward.packages.format import yamltext
from stateward.packages.format.records import Package, Parameter, ParameterType

Values = Mapping[str, Any]
"""Values by the names of their parameters."""

MOST_TEXT = 64 << 10
"""Characters of all lists and maps together that are given, or brought by a package, as the text of YAML."""
_ACCEPTED = {
    ParameterType.STRING: "text, a number or true or false",
    ParameterType.INTEGER: "a whole number",
    ParameterType.NUMBER: "a number",
    ParameterType.BOOLEAN: "true or false",
    ParameterType.ARRAY: "a list, or YAML text that is one",
    ParameterType.MAP: "an object, or YAML text that is one",
}
MOST_NODES = 20_000
"""Nodes of a list or a map that is given as text; the text is read at each use."""
MOST_HINTS = 3
"""Unknown names for which a similar one is looked for."""
MOST_COMPARED, LONGEST_COMPARED = 500, 100
"""Names that one is compared with, and characters of such a name."""
WHOLE = "[-+]?[0-9]+"
NUMBER = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
"""How whole numbers, and numbers, are written."""
_WHOLE, _NUMBER = re.compile(WHOLE), re.compile(NUMBER)


class BadValue(ValueError):  # noqa: N818 - says what it is
    """A value does not have the parameter's type; `public` omits the value, for a status or an event."""

    def __init__(self, message: str, public: str = "a value does not have its parameter's type") -> None:
        super().__init__(message)
        self.public = public


def check_values(package: Package, given: Values, before: Values | None = None) -> list[Problem]:
    """Return the problems of the given values; `before` are the values that are fixed, None at first."""
    if found := list(_too_much(package, given)):
        return found  # What is read of such values would keep everybody waiting, each time that they are looked at.
    return [*_unknown(package, given), *_known(package, given), *_changed(package, given, before)]


def resolve(package: Package, given: Values) -> dict[str, Any]:
    """Return `.Params` for templates; raises BadValue for problems that `check_values` would have found."""
    return {name: seen(parameter, given.get(name)) for name, parameter in package.parameters.items()}


def seen(parameter: Parameter, given: Any) -> Any:
    """Return one value as templates see it, the default if none is given; raises BadValue."""
    value = parameter.default if given is None else given
    if value is None:
        return _NOTHING.get(parameter.type, "")
    if parameter.type in (ParameterType.ARRAY, ParameterType.MAP):
        return _structure(parameter.type, value)
    return _scalar(parameter.type, value)


def changed(package: Package, before: Values, after: Values) -> tuple[str, ...]:
    """Return the names of parameters that templates see differently."""
    old, new = resolve(package, before), resolve(package, after)
    return tuple(name for name in new if not same(old[name], new[name]))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are written alike: 1 and true are equal in Python, and differ in every template."""
    return msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(other, order="deterministic")


def in_force(package: Package, given: Values, before: Values | None) -> dict[str, Any]:
    """Return the given values, with the current values of parameters that can no longer change.

    `before` are the values that are fixed, None for one without a value; None at first. The disaster this prevents: the
    next version of a package has another default for its storage class, and an installation without a value changes
    what cannot be changed.
    """
    fixed: dict[str, Any] = {}
    for name, parameter in package.parameters.items():
        if parameter.immutable and given.get(name) is None:
            value = parameter.default
            if before is not None and name in before:
                value = before[name] if value is None else _kept(parameter, before[name])
            fixed |= {} if value is None else {name: value}
    return {**given, **fixed}


def _kept(parameter: Parameter, value: Any) -> Any:
    """Return what a fixed parameter stays; None if it had no value, and only its default can be written now."""
    if value is not None or parameter.enum is not None:
        return value
    return "" if parameter.type is ParameterType.STRING else _NOTHING.get(parameter.type)


def text_of(value: Any) -> str:
    """Return a scalar as templates have always seen it: as Go writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


_NOTHING: Mapping[ParameterType, Any] = {ParameterType.ARRAY: [], ParameterType.MAP: {}}


def _too_much(package: Package, given: Values) -> Iterator[Problem]:
    texts = [(name, value) for name, value in _texts(package, given) if isinstance(value, str)]
    total, better = sum(len(text) for _, text in texts), "write them as lists and objects instead"
    if total > MOST_TEXT:
        longest, _ = max(texts, key=lambda each: len(each[1]))
        accepted = f"at most {MOST_TEXT}; {better}"
        yield Problem(
            longest, None, f"texts of lists and maps have {total} characters together, and may have {accepted}"
        )
        return
    nodes = [(name, _nodes(text)) for name, text in texts if "*" in text]
    if sum(count for _, count in nodes) > MOST_NODES:
        largest, _ = max(nodes, key=lambda each: each[1])
        accepted = f"at most {MOST_NODES} nodes together with their aliases written out; {better}"
        yield Problem(largest, None, f"texts of lists and maps with aliases may have {accepted}")


@lru_cache(maxsize=256)
def _nodes(text: str) -> int:
    try:
        return yamltext.nodes(text, MOST_NODES)
    except yamltext.NotYaml:
        return 0  # It is refused by itself, as soon as that is known.


def _texts(package: Package, given: Values) -> Iterator[tuple[str, Any]]:
    for name, parameter in package.parameters.items():
        if parameter.type in (ParameterType.ARRAY, ParameterType.MAP):
            yield name, parameter.default if given.get(name) is None else given[name]
            yield from ((name, choice) for choice in parameter.enum or ())


def _unknown(package: Package, given: Values) -> Iterator[Problem]:
    unknown = [name for name in given if name not in package.parameters]
    known = _listed(package.parameters) if unknown else ""
    for number, name in enumerate(unknown):
        close = meant(name, package.parameters) if number < MOST_HINTS else ""
        hint = f"did you mean {close}?" if close else f"{package.name} has {known}"
        yield Problem(name, given[name], f"is not a parameter of {package.name} {package.version}; {hint}")


def meant(name: str, names: Iterable[str]) -> str:
    """Return the most similar of some names, within limits; empty if none is similar.

    The disaster this prevents: each comparison takes a tenth of a millisecond, and longer for long names. Thousands of
    names that a tenant chooses are compared on the event loop, and meanwhile nothing else is done, for any cluster.
    """
    if len(name) > LONGEST_COMPARED:
        return ""
    short = (known for known in islice(names, MOST_COMPARED) if len(known) <= LONGEST_COMPARED)
    spelled = {_plain(known): known for known in short}
    found = get_close_matches(_plain(name), spelled, n=1)
    return spelled[found[0]] if found else ""


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")


def _listed(parameters: Mapping[str, Parameter]) -> str:
    return first_of(sorted(parameters), 8) or "no parameters"


def _known(package: Package, given: Values) -> Iterator[Problem]:
    for name, parameter in package.parameters.items():
        value = given.get(name)
        if value is None:
            if parameter.owed:
                yield Problem(name, None, f"is required: {_ACCEPTED[parameter.type]}{_about(parameter)}")
            continue
        yield from check_value(parameter, value)


def check_value(parameter: Parameter, value: Any) -> Iterator[Problem]:
    """Yield what is wrong with one value."""
    try:
        shown = seen(parameter, value)
    except BadValue:
        yield Problem(parameter.name, value, f"must be {_ACCEPTED[parameter.type]}")
        return
    if parameter.enum is not None and shown not in (choices := _choices(parameter)):
        yield Problem(parameter.name, value, f"must be one of {', '.join(map(str, choices))}")


def _choices(parameter: Parameter) -> list[Any]:
    return [seen(parameter, choice) for choice in parameter.enum or ()]


def _about(parameter: Parameter) -> str:
    return f" ({parameter.description.strip()})" if parameter.description else ""


def _changed(package: Package, given: Values, before: Values | None) -> Iterator[Problem]:
    if before is None:
        return
    for name, parameter in package.parameters.items():
        if not parameter.immutable or name not in before or (before[name] is None and parameter.owed):
            continue  # What did not exist or was not immutable has nothing to stay.
        try:
            old, new = seen(parameter, _kept(parameter, before[name])), seen(parameter, given.get(name))
        except BadValue:
            continue
        if not same(old, new):
            known = f"; it is {old!r}"
            yield Problem(name, given.get(name), "cannot be changed once it is installed", detail=known)


def _structure(kind: ParameterType, value: Any) -> Any:
    if isinstance(value, str):
        found = _loaded(value)
        if isinstance(found, str):
            raise BadValue(found)
        value = msgspec.json.decode(found)
    wanted = list if kind is ParameterType.ARRAY else dict
    if not isinstance(value, wanted):
        raise BadValue(f"{value!r} is no {kind}")
    return cast("Any", value)


@lru_cache(maxsize=256)
def _loaded(text: str) -> bytes | str:
    """Return the value of a YAML text as JSON, or why it has none.

    It is remembered, because the same texts are read several times in each round of an installation. The disaster this
    prevents: a tenant has ten installations that wait, each with long texts, and the event loop does nothing but read
    these, for all clusters.
    """
    try:
        return msgspec.json.encode(yamltext.document(text, MOST_NODES))
    except yamltext.NotYaml as error:
        return str(error)


def _scalar(kind: ParameterType, value: Any) -> str:
    if isinstance(value, list | dict):
        raise BadValue(f"{value!r} is no {kind}")
    text = text_of(value)
    if kind is ParameterType.BOOLEAN:
        if text not in {"true", "false"}:
            raise BadValue(text)
    elif kind is not ParameterType.STRING:
        _number(kind, value, text)
    return text


def _number(kind: ParameterType, value: Any, text: str) -> None:
    # Python accepts more than templates and YAML do: `1_000`, ` 5`, digits of other scripts, `nan`.
    if isinstance(value, bool) or not (_WHOLE if kind is ParameterType.INTEGER else _NUMBER).fullmatch(text):
        raise BadValue(text)
