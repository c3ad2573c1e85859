"""The preview of a change of an installation, as text and as a document for programs."""

from collections.abc import Iterator
from typing import Any

import msgspec

from stateward.cli.packages.installation_plan import InstallationPreview
from stateward.cli.packages.package_diff import shown
from stateward.packages.plans.choice import Chosen
from stateward.packages.review.difference import Change
from stateward.packages.review.foresight import Foresight


def lines(found: InstallationPreview) -> Iterator[str]:
    """Yield a preview in lines."""
    name, package = found.wanted.metadata.name, found.package
    before = f"{found.before.version} → " if found.before and found.before.version != package.version else ""
    yield f"{name}  Installation in namespace {found.namespace}, {package.name} {before}{package.version}"
    yield ""
    if found.refused:
        yield f"refused: {found.refused}"
    elif found.chosen is None:
        yield "nothing changes: the installation matches its spec"
    else:
        yield f"plan {found.chosen.plan}: {found.chosen.why}"
    if found.foresight is not None:
        yield from _foreseen(found.foresight)
    if found.following is not None:
        yield f"then plan {found.following.chosen.plan}: {found.following.chosen.why}"
        yield from _foreseen(found.following.foresight)
    yield from (f"would wait: {text}" for text in found.held)
    yield from (f"note: {text}" for text in found.notes)
    yield ""
    yield "nothing was changed yet"


def _foreseen(found: Foresight) -> Iterator[str]:
    yield from shown(found.difference)
    yield from (f"task {text}" for text in found.others)
    yield from (f"its objects are not known: {identity}" for identity in found.unclear)


def changes_of(found: InstallationPreview) -> list[Change]:
    """Return the objects that would change, in the order of the plans."""
    seen = (found.foresight, found.following.foresight if found.following else None)
    return [change for each in seen if each is not None for change in each.difference.changes]


def document(found: InstallationPreview) -> dict[str, Any]:
    """Return a preview for programs."""
    following = found.following
    made: dict[str, Any] = {
        "name": found.wanted.metadata.name,
        "namespace": found.namespace,
        "package": found.package.name,
        "version": found.package.version,
        **_part(found.chosen, found.foresight),
        "then": _part(following.chosen, following.foresight) if following else None,
        "refused": found.refused,
        "wouldWait": found.held,
        "notes": found.notes,
        "goesThrough": found.goes_through,
    }
    return msgspec.to_builtins(made)


def _part(chosen: Chosen | None, foresight: Foresight | None) -> dict[str, Any]:
    """Return one plan of a preview, for programs."""
    difference = foresight.difference if foresight is not None else None
    return {
        "plan": chosen.plan if chosen else "",
        "because": chosen.why if chosen else "",
        "changes": difference.changes if difference else (),
        "restarts": difference.restarts if difference else (),
        "tasks": foresight.others if foresight else (),
        "notKnown": [str(identity) for identity in foresight.unclear] if foresight else [],
    }
