"""Reads users' files: one or more YAML (or JSON) documents, some of which are clusters."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import Package
from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.api.parse import InvalidDocumentError, convert_cluster
from stateward.api.schema.custom_resources import CLUSTER_KINDS
from stateward.api.schema.structure import check_structure
from stateward.api.validation import validate, validate_access
from stateward.api.values.base import GROUP, Record
from stateward.api.values.problem import Problem
from stateward.cli.shared.failures import Failure
from stateward.engines.search.rules import DECLARED_RULES
from stateward.packages.format.trees import at, text
from stateward.packages.format.yamltext import NotYaml, documents

NAMES = tuple(kind.name for kind in CLUSTER_KINDS)
"""The kinds of clusters in documents."""

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
"""The files of a directory that are read."""

_OTHERS: dict[str, type[Record]] = {
    "Installation": Installation,
    "Package": Package,
    "ClusterPackage": Package,
    "PoolScale": PoolScale,
    **{kind: rules.record for kind, rules in DECLARED_RULES.items()},
}
"""Kinds that are no clusters. The content of a package, and the database, define what more is accepted."""


class Unreadable(Failure):
    """A file without documents: it is no YAML."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document about a cluster: its place, the cluster if it is one, and all problems."""

    place: str
    name: str
    cluster: Cluster | None
    problems: tuple[Problem, ...]
    kind: str = ""
    namespace: str = ""

    @property
    def may_be_cluster(self) -> bool:
        """Whether it is a cluster, or would be one without its problems."""
        return self.kind not in _OTHERS


def read_documents(path: str, given: Iterable[tuple[str, Any]] | None = None) -> list[Document]:
    """Return Stateward's documents in a file or directory (`-`: standard input); others, such as Services, are skipped.

    `given` are already read documents. Raise Failure if the file cannot be read, is not YAML, or has no such document.
    """
    found = [checked(place, item) for place, item in (parts(path) if given is None else given) if is_ours(item)]
    if not found:
        raise Failure(f"{path}: there is no {' or '.join(NAMES)} (apiVersion {GROUP}/v1alpha1) in it")
    return found


def parts(path: str) -> Iterator[tuple[str, Any]]:
    """Yield each document with its place, and the items of lists one by one; raise Unreadable."""
    for file in files_of(path):
        yield from _parts_of_file(file)


def files_of(path: str) -> list[str]:
    """Return a file itself, and of a directory the files that are read (.yaml, .yml, .json), as for `kubectl`."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    inside = sorted(each for each in Path(path).iterdir() if each.suffix in SUFFIXES)
    return [file for each in inside for file in files_of(str(each))]


def _parts_of_file(path: str) -> Iterator[tuple[str, Any]]:
    try:
        loaded = documents(text_of(path))
    except NotYaml as error:
        raise Unreadable(f"{path}{f':{error.line}' if error.line else ''}: not YAML: {error}") from error
    for number, item in enumerate(loaded, 1):
        place = path if len(loaded) == 1 else f"{path} (document {number})"
        if isinstance(item, dict) and cast("dict[str, Any]", item).get("kind") == "List":
            listed: Any = at(item, "items") or []
            if not isinstance(listed, list):
                raise Unreadable(f"{place}: items: {listed}: must be a list")
            yield from ((place, inner) for inner in cast("list[Any]", listed))
        elif item is not None:
            yield place, item


def text_of(path: str) -> str:
    """Return the text of a file or of standard input."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: not text in UTF-8") from error


def is_ours(item: Any) -> bool:
    """Return whether a document is of one of Stateward's kinds, or may be: one without a kind is not skipped."""
    if not isinstance(item, dict):
        return True
    fields = cast("dict[str, Any]", item)
    group = str(fields.get("apiVersion") or GROUP).partition("/")[0]
    return group == GROUP or fields.get("kind") in NAMES


def checked(place: str, item: Any) -> Document:
    """Return a document with all its problems."""
    cluster, problems = _judged(item)
    kind, namespace = text(at(item, "kind")), text(at(item, "metadata", "namespace"))
    return Document(place, name_of(item), cluster, tuple(problems), kind, namespace)


def check_namespace(place: str, name: str, found: str, asked: str) -> None:
    """Raise Failure if an object is in another namespace than the one that is asked for; empty: not said."""
    if found and asked and found != asked:
        text = (
            f"{name} is in namespace {found}, and --namespace says {asked}; leave the option out, or correct the file"
        )
        raise Failure(f"{place}: {text}")


def _judged(item: Any) -> tuple[Cluster | None, Iterable[Problem]]:
    if (record := _other_record(item)) is not None:
        return None, _problems_of(item, record)
    if (unknown := _unknown_kind(item)) is not None:
        return None, (unknown,)
    try:
        cluster = convert_cluster(item)
    except InvalidDocumentError as error:
        return None, error.problems
    return cluster, (*validate(cluster), *validate_access(cluster))


def _other_record(item: Any) -> type[Record] | None:
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    return _OTHERS.get(str(fields.get("kind")))


def _problems_of(item: Any, record: type[Record]) -> list[Problem]:
    found = check_structure(item, record)
    rules = DECLARED_RULES.get(record.__name__)
    return found if found or rules is None else list(rules.problems(msgspec.convert(item, record)))


def _unknown_kind(item: Any) -> Problem | None:
    """Return the problem of an unknown kind: no further check of such a document is possible."""
    kind = cast("dict[str, Any]", item).get("kind") if isinstance(item, dict) else None
    known = (*NAMES, *_OTHERS)
    if not isinstance(kind, str) or kind in known:
        return None
    meant = get_close_matches(kind, known, n=1)
    hint = f"did you mean {meant[0]}?" if meant else f"known are {', '.join(known)}"
    return Problem("kind", kind, f"is no kind of Stateward's; {hint}")


def name_of(item: Any) -> str:
    """Return the name of a document's object, regardless of other problems."""
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    meta = fields.get("metadata")
    return str(cast("dict[str, Any]", meta).get("name", "")) if isinstance(meta, dict) else ""
