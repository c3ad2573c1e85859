"""`plan` of declared resources: what each would change in its database. The operator reads it for the viewer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.schema.custom_resources import SEARCH_OBJECT, SEARCH_RESTORE, SEARCH_USER, Kind
from stateward.api.values.base import Json
from stateward.api.values.problem import errors
from stateward.cli.preview.database_view import ask_preview
from stateward.cli.preview.documents import checked
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.engines.search.declared.preview import FieldChange, ObjectPreview
from stateward.engines.search.rules import DECLARED_RULES

NOTHING = "nothing"
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (SEARCH_OBJECT, SEARCH_USER, SEARCH_RESTORE)}
"""The kinds that the operator previews, by name."""


@dataclass(frozen=True)
class Shown:
    """A resource and what it would change."""

    kind: Kind
    name: str
    preview: ObjectPreview

    @property
    def changes(self) -> bool:
        """Whether it would change anything, or cannot be told."""
        return self.preview.does != NOTHING


def declared_in(found: Sequence[tuple[str, Any]], name: str | None) -> list[Json]:
    """Return the declared resources among documents: with that name, or for the cluster of that name, or all.

    Raise Failure for an invalid one.
    """
    mine = [(place, cast("Json", item)) for place, item in found if _kind(item) in KINDS]
    for place, item in mine:
        if wrong := errors(list(checked(place, item).problems)):
            raise Failure("\n".join(f"{place}: {problem}" for problem in wrong))
    return [item for _, item in mine if name in (None, item["metadata"].get("name"), item["spec"]["cluster"]["name"])]


def others_in(found: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the documents that are no declared resources."""
    return [(place, item) for place, item in found if _kind(item) not in DECLARED_RULES]


def without_preview(found: Sequence[tuple[str, Any]]) -> list[str]:
    """Return the kinds of declared resources among documents that have no preview."""
    return sorted({_kind(item) for _, item in found} & (DECLARED_RULES.keys() - KINDS.keys()))


def _kind(item: Any) -> str:
    return str(cast("Json", item).get("kind", "")) if isinstance(item, dict) else ""


async def previews(session: Session, found: list[Json], new: Cluster | None = None) -> list[Shown]:
    """Return what each resource would change; `new` is a cluster that the same file creates."""
    return [
        _later(item, new) if new is not None and _is_for(item, new) else await _previewed(session, item)
        for item in found
    ]


def _is_for(item: Json, cluster: Cluster) -> bool:
    return (item["spec"]["cluster"]["kind"], item["spec"]["cluster"]["name"]) == (cluster.kind, cluster.metadata.name)


def _later(item: Json, cluster: Cluster) -> Shown:
    """Return what is known before there is a database."""
    message = f"once {cluster.metadata.name} is formed"
    return Shown(KINDS[item["kind"]], _name(item), ObjectPreview(subject(item), "create", message=message))


async def _previewed(session: Session, item: Json) -> Shown:
    kind = KINDS[item["kind"]]
    return Shown(kind, _name(item), await ask_preview(session, kind.plural, subject(item), item))


def _name(item: Json) -> str:
    return str(item["metadata"].get("name", ""))


def subject(item: Json) -> str:
    """Return what a resource is about in the database."""
    spec = item["spec"]
    match item["kind"]:
        case SEARCH_USER.name:
            return f"user/{spec.get('username') or item['metadata'].get('name', '')}"
        case SEARCH_RESTORE.name:
            return f"{spec.get('repository')}/{spec.get('snapshot')}"
        case _:
            return str(spec.get("object") or spec.get("path") or "")


def document(found: list[Shown]) -> list[Json]:
    """Return the previews for programs."""
    return [{"kind": each.kind.name, "name": each.name, **msgspec.to_builtins(each.preview)} for each in found]


def lines(found: list[Shown]) -> Iterator[str]:
    """Yield the previews for people."""
    for each in found:
        shown = each.preview
        why = f" ({': '.join(filter(None, (shown.reason, shown.message)))})" if shown.message else ""
        yield f"{each.name}: {shown.object}: {shown.does}{why}"
        yield from (f"  {line}" for change in shown.changes for line in _lines(change))


def _lines(change: FieldChange) -> Iterator[str]:
    if change.before is not None:
        yield f"- {change.path}: {_text(change.before)}"
    if change.after is not None:
        yield f"+ {change.path}: {_text(change.after)}"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
