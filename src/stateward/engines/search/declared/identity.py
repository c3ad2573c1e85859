"""Which object of the database a resource means, and what is wrong with what it says."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import Existing, SearchObjectSpec
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.api.values.settings import LONGEST_NAME, TOO_LONG, flatten, reason_owned
from stateward.engines.search.database.marks import MARKS, RUN_TIME_SETTINGS
from stateward.engines.search.declared.kinds import KINDS, ObjectKind, Write
from stateward.engines.search.declared.paths import PATHS, kind_at_path
from stateward.engines.search.declared.pointers import NoPlaceError, placed

EXPORTER = "stateward-metrics"
"""Name of the role of the exporter of metrics; its users have the names with `-1` and `-2` by turns."""
EXPORTER_USERS = (f"{EXPORTER}-1", f"{EXPORTER}-2")
OWN_NAMES = frozenset({"stateward-operator", "stateward-probe", "stateward_probe", EXPORTER, *EXPORTER_USERS})
"""Names of users, roles and mappings by which the operator, the probes of pods and the exporter have their rights."""
_SETTING = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.]*")
"""The name of one setting: the database would take `cluster.*` for all settings that begin so."""
_OWN = "Stateward sets and restores it around restarts and removals"


@dataclass(frozen=True)
class Declared:
    """The object that a resource means: its kind, its path, and the values in the path."""

    kind: ObjectKind
    label: str
    """How it is called: `indexTemplate/logs`."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The object's own name; the last part of the path where it has no kind."""
        return self.names.get("name", self.label.rsplit("/", 1)[-1])

    def filled(self, text: str) -> str:
        """Return a path or pointer of the table with the object's names."""
        for key, value in self.names.items():
            text = text.replace(f"{{{key}}}", value)
        return text


class UnclearError(ValueError):
    """A resource that names no object; `problem` says at which field."""

    def __init__(self, problem: Problem) -> None:
        """Keep the problem."""
        super().__init__(str(problem))
        self.problem = problem


def declared(spec: SearchObjectSpec) -> Declared:
    """Return the object that a spec means; raises UnclearError."""
    if (spec.object is None) is (spec.path is None):
        raise UnclearError(Problem("spec.object", spec.object, "give either object or path, and not both"))
    return _by_kind(spec, spec.object) if spec.object is not None else _by_path(spec, spec.path or "")


def _by_kind(spec: SearchObjectSpec, said: str) -> Declared:
    first, *rest = said.split("/")
    kinds = KINDS[spec.cluster.kind]
    kind = kinds.get(first)
    if kind is None:
        known = ", ".join(sorted(kinds))
        message = f"{spec.cluster.kind} has no such kind; known are {known}; for others use spec.path"
        raise UnclearError(Problem("spec.object", said, message))
    if len(rest) != kind.parts:
        form = {0: first, 1: f"{first}/<name>", 2: f"{first}/<index>/<name>"}[kind.parts]
        raise UnclearError(Problem("spec.object", said, f"must be {form}"))
    fields = ("index", "name")[2 - kind.parts :]
    names = {field: value for field, value in zip(fields, rest, strict=True)}  # noqa: C416 - of text, not of literals
    return Declared(kind, said, names)


def _by_path(spec: SearchObjectSpec, path: str) -> Declared:
    for kind in KINDS[spec.cluster.kind].values():
        root, _, _ = kind.path.partition("{name}")
        if kind.parts == 1 and path.startswith(root) and path != root:
            message = f"use spec.object: {kind.name}/{path.removeprefix(root)}"
            raise UnclearError(Problem("spec.path", path, message))
    kind = kind_at_path(spec.cluster.kind, path)
    if kind is None:
        message = f"must be one of these, followed by a name: {', '.join(PATHS[spec.cluster.kind])}"
        raise UnclearError(Problem("spec.path", path, message))
    return Declared(kind, path)


def identities(spec: SearchObjectSpec) -> frozenset[str]:
    """Return what the resource claims in the database: an object, or each of several settings.

    Raises UnclearError, or NoPlaceError for a value that has no place in the body.
    """
    what = declared(spec)
    if what.kind.write is Write.SETTINGS:
        return frozenset(f"{what.label}/{key}" for key in settings_of(whole_body(spec)))
    return frozenset({what.label})


def settings_of(body: Json) -> dict[str, object]:
    """Return the cluster settings of a body by dotted key; they may be under `persistent`, as in the reference."""
    persistent = body.get("persistent")
    inner = cast("Json", persistent) if isinstance(persistent, dict) and len(body) == 1 else body
    return dict(flatten(inner))


def problems(spec: SearchObjectSpec) -> Iterator[Problem]:
    """Yield what is wrong with a spec, besides its shape."""
    try:
        what = declared(spec)
    except UnclearError as error:
        yield error.problem
        return
    if what.kind.name in ("role", "roleMapping") and what.name in OWN_NAMES:
        yield Problem("spec.object", what.label, "cannot be declared: the operator and the probes need it")
    if spec.existing is Existing.MERGE and spec.deletion_policy is not Retention.RETAIN:
        yield Problem("spec.existing", "Merge", "needs deletionPolicy Retain: the object belongs to others, too")
    if what.kind.permanent and spec.deletion_policy is not Retention.RETAIN:
        text = "must be Retain: the database always has this object, so it cannot be deleted"
        yield Problem("spec.deletionPolicy", spec.deletion_policy.value, text)
    if spec.apply_to_existing and what.kind.name != "ismPolicy":
        yield Problem("spec.applyToExisting", True, "is for ismPolicy only")
    misplaced = list(_values(spec))
    yield from misplaced
    if misplaced:
        return
    # What a Secret brings in is judged like what is written out: only its text is not known here.
    body = whole_body(spec)
    if what.kind.write is Write.SETTINGS:
        yield from _settings(body)
    for key in body.keys() - what.kind.accepts if what.kind.accepts else ():
        yield Problem(f"spec.body[{key}]", None, f"must be one of {', '.join(sorted(what.kind.accepts))}")


def whole_body(spec: SearchObjectSpec) -> Json:
    """Return the body with an empty text for each value of a Secret; raises NoPlaceError."""
    body = spec.body
    for value in spec.values or ():
        body = placed(body, value.path, "")
    return body


def _settings(body: Json) -> Iterator[Problem]:
    settings = settings_of(body)
    if not settings:
        yield Problem("spec.body", None, "must have at least one setting, for example search.max_buckets: 20000")
    for key, value in settings.items():
        if (reason := _no_setting(key, value)) is not None:
            yield Problem(f"spec.body[{key[:LONGEST_NAME]}]", None, reason)


def _no_setting(key: str, value: object) -> str | None:
    """Return why a setting cannot be declared; None if it can."""
    if key.startswith(("transient", "persistent")):
        return "cannot be declared: transient settings end with a restart; give persistent ones alone, or without a key"
    if len(key) > LONGEST_NAME:
        return TOO_LONG
    if not _SETTING.fullmatch(key):
        return "must be the name of one setting"
    if value == {}:
        return "must have a value"
    own = _OWN if key in RUN_TIME_SETTINGS or key.startswith(MARKS) else reason_owned(key)
    return None if own is None else f"cannot be set: {own}"


def _values(spec: SearchObjectSpec) -> Iterator[Problem]:
    body, seen = spec.body, set[str]()
    for i, value in enumerate(spec.values or ()):
        if value.path in seen:
            yield Problem(f"spec.values[{i}].path", value.path, "is given twice")
        seen.add(value.path)
        try:
            body = placed(body, value.path, "")
        except NoPlaceError as error:
            yield Problem(f"spec.values[{i}].path", None, str(error))
