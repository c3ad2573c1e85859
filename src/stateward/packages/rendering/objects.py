"""The objects of rendered templates: read from YAML, and converted to API versions that Kubernetes serves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from stateward.api.values.base import Json
from stateward.packages.format import yamltext
from stateward.packages.format.trees import obj, text
from stateward.packages.rendering.conversions import convert
from stateward.packages.rendering.step_budget import Allowance
from stateward.packages.rendering.templates import TemplateProblem, Variables, render

LONGEST_LINE = 120
"""Characters of a wrong line that are shown."""


class Identity(NamedTuple):
    """The identity of an object: group and kind, namespace (empty for the cluster's) and name; not the version."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One object, its template, and its conversion (empty: none)."""

    template: str
    body: Json
    converted: str = ""

    @property
    def identity(self) -> Identity:
        """The identity of the object."""
        return identity_of(self.body)


def identity_of(body: Json) -> Identity:
    """Return the identity of an object."""
    meta = obj(body.get("metadata"))
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    return Identity(group, str(body.get("kind", "")), text(meta.get("namespace")), text(meta.get("name")))


def objects_of(name: str, source: str, variables: Variables, allowance: Allowance | None = None) -> list[Rendered]:
    """Return the objects of a template, in its order; raises TemplateProblem, Spent."""
    return list(read_objects(name, render(name, source, variables, allowance), allowance))


def read_objects(name: str, rendered: str, allowance: Allowance | None = None) -> Iterator[Rendered]:
    """Yield the objects of a rendered text; lists are taken apart, empty documents passed over."""
    try:
        if allowance is not None:
            allowance.take("nodes", yamltext.nodes(rendered, min(yamltext.MOST_NODES, allowance.nodes + 1)))
        loaded = yamltext.documents(rendered)
    except yamltext.NotYaml as error:
        raise TemplateProblem(name, 0, *_where(rendered, error)) from error
    for number, found in enumerate(loaded, 1):
        if found is not None:
            yield from _object(name, number, found)


def _where(rendered: str, error: yamltext.NotYaml) -> tuple[str, str]:
    """Return the wrong line of the *rendered* text, with its content: the user does not have that text.

    The second sentence omits the line, and everything else of the text.
    """
    lines = rendered.splitlines()
    if not 0 < error.line <= len(lines):
        return f"does not render to YAML: {error.message}", f"does not render to YAML: {error.public}"
    line = f"in line {error.line} of the result"
    whole = f"does not render to YAML: {error.message}, {line}: {_short(lines[error.line - 1].strip())!r}"
    return whole, f"does not render to YAML: {error.public}, {line}"


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def _object(name: str, number: int, found: Any) -> Iterator[Rendered]:
    if not isinstance(found, dict):
        wrong = f"document {number} of the result is not an object"
        raise TemplateProblem(name, 0, f"{wrong}: {str(found)[:60]!r}", wrong)
    body = cast("Json", found)
    if not body:
        return
    if str(body.get("kind", "")).endswith("List") and isinstance(body.get("items"), list):
        for item in body["items"]:
            yield from _object(name, number, item)
        return
    for field in ("apiVersion", "kind"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise TemplateProblem(name, 0, f"document {number} of the result has no {field}")
    meta = body.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        raise TemplateProblem(name, 0, f"document {number} of the result: metadata is not an object")
    converted, note = convert(body)
    yield Rendered(name, converted, note)
