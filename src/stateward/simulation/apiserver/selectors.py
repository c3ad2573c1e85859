"""Label and field selectors of lists and watches."""

import re
from functools import cache
from typing import NamedTuple

from stateward.simulation.apiserver.documents import Doc, items
from stateward.simulation.apiserver.documents import part as part_of
from stateward.simulation.apiserver.store import Stored

_SET = re.compile(r"^(?P<key>[^\s!=]+)\s+(?P<verb>in|notin)\s*\((?P<values>[^)]*)\)$")
_SPLIT = re.compile(r",(?![^(]*\))")


class Requirement(NamedTuple):
    """One condition on a label: it is (`wanted`), or is not, one of the values; no values: it is there."""

    key: str
    values: frozenset[str] | None
    wanted: bool

    def holds(self, labels: dict[str, str]) -> bool:
        """Return whether labels meet the condition."""
        if self.values is None:
            return (self.key in labels) is self.wanted
        return (labels.get(self.key) in self.values) is self.wanted


@cache
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Return the conditions of a label selector."""
    return tuple(_requirement(part.strip()) for part in _SPLIT.split(text) if part.strip())


def _requirement(part: str) -> Requirement:
    found = _SET.match(part)
    if found is not None:
        values = frozenset(value.strip() for value in found["values"].split(","))
        return Requirement(found["key"], values, wanted=found["verb"] == "in")
    if part.startswith("!"):
        return Requirement(part[1:].strip(), None, wanted=False)
    if "=" not in part:
        return Requirement(part, None, wanted=True)
    key, _, value = part.replace("==", "=").partition("=")
    wanted = not key.endswith("!")
    return Requirement(key.rstrip("!").strip(), frozenset({value.strip()}), wanted)


def matches(stored: Stored, namespace: str, labels: str, fields: str) -> bool:
    """Return whether an object is in a selection."""
    if namespace and stored.meta.get("namespace", "") != namespace:
        return False
    if labels and not all(requirement.holds(stored.labels) for requirement in parse_labels(labels)):
        return False
    return not fields or all(_field(stored.doc, part) for part in fields.split(","))


def _field(doc: Doc, part: str) -> bool:
    path, _, value = part.replace("==", "=").partition("=")
    wanted = not path.endswith("!")
    *parents, name = path.rstrip("!").split(".")
    return (str(part_of(doc, *parents).get(name, "")) == value) is wanted


def selector_matches(selector: Doc, labels: dict[str, str]) -> bool:
    """Return whether labels meet a selector as objects write it: `matchLabels` and `matchExpressions`."""
    for key, value in part_of(selector, "matchLabels").items():
        if labels.get(key) != value:
            return False
    return all(_expression(expression, labels) for expression in items(selector, "matchExpressions"))


def _expression(expression: Doc, labels: dict[str, str]) -> bool:
    key, values = expression["key"], items(expression, "values")
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
