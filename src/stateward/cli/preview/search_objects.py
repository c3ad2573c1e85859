"""`plan` of declared objects: what each would change in its database. The operator reads it for the viewer."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from stateward.api.schema.custom_resources import SEARCH_OBJECT
from stateward.api.values.base import Json
from stateward.api.values.problem import errors
from stateward.cli.preview.database_view import ask_preview
from stateward.cli.shared.documents import checked
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.engines.search.declared.preview import FieldChange, ObjectPreview

NOTHING = "nothing"


def search_objects_in(found: Sequence[tuple[str, Any]], name: str | None) -> list[Json]:
    """Return the declared objects among documents, with that name if there is one; raise Failure for an invalid one."""
    mine = [(place, cast("Json", item)) for place, item in found if isinstance(item, dict)]
    mine = [(place, item) for place, item in mine if item.get("kind") == SEARCH_OBJECT.name]
    for place, item in mine:
        if wrong := errors(list(checked(place, item).problems)):
            raise Failure("\n".join(f"{place}: {problem}" for problem in wrong))
    return [item for _, item in mine if name in (None, item["metadata"].get("name"))]


async def previews(session: Session, found: list[Json]) -> list[tuple[str, ObjectPreview]]:
    """Return what each object would change, by the name of its resource."""
    return [(str(item["metadata"].get("name", "")), await ask_preview(session, item)) for item in found]


def document(found: list[tuple[str, ObjectPreview]]) -> list[Json]:
    """Return the previews for programs."""
    return [{"name": name, **msgspec.to_builtins(shown)} for name, shown in found]


def lines(found: list[tuple[str, ObjectPreview]]) -> Iterator[str]:
    """Yield the previews for people."""
    for name, shown in found:
        why = f" ({': '.join(filter(None, (shown.reason, shown.message)))})" if shown.message else ""
        yield f"{name}: {shown.object}: {shown.does}{why}"
        yield from (f"  {line}" for change in shown.changes for line in _lines(change))


def _lines(change: FieldChange) -> Iterator[str]:
    if change.before is not None:
        yield f"- {change.path}: {_text(change.before)}"
    if change.after is not None:
        yield f"+ {change.path}: {_text(change.after)}"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
