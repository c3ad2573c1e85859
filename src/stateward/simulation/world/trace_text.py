"""Words for what happens in a world: times, actions, edits."""

from collections.abc import Iterator
from typing import Any, cast

from stateward.api.values.base import Json

DOES = {
    "Create": "makes the objects of {}",
    "Stage": "writes the next template of {}",
    "DeletePod": "deletes the pod of {}",
    "Release": "lets {} go",
    "Forget": "removes what is left of {}",
    "DeleteVolume": "deletes the volume of {}",
    "GrowVolume": "asks for a larger volume for {}",
    "MarkVolume": "says on the volume of {} whether it was left",
    "RetainVolume": "keeps the volume of {} for when the cluster is deleted",
    "OwnVolume": "has the volume of {} deleted with the cluster",
    "RecordBootstrap": "writes down that {} may form the cluster",
    "GrantBootstrap": "allows {} to form the cluster",
    "LimitAllocation": "limits the allocation",
    "RestoreAllocation": "gives the allocation back",
    "ResumeBalancing": "lets the database balance its copies again",
    "Flush": "flushes",
    "Drain": "sets whom data moves away from",
    "ExcludeVoters": "sets who has no vote",
    "MoveCopies": "moves single copies",
    "SetPhase": "writes the next phase of the restart of {}",
    "StopProcess": "stops the process of {} in its pod",
    "StartProcess": "starts the process of {} in its pod",
    "FinishRestart": "ends the restart of {}",
    "NoteData": "writes down on the pod of {} which data it uses",
    "ClearSchedule": "takes the wish for a restart off the cluster",
    "ClearConsent": "takes the leave to form the cluster anew off the cluster",
    "Form": "makes the database",
    "Tend": "tells the database how much it keeps and who its coordinators are",
    "CollectConfiguration": "collects a Secret of nobody",
}
"""The operator's actions in words; an action that is not listed appears by its name."""


def clock(seconds: float) -> str:
    """Return a time of the world as hours, minutes and seconds."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{seconds % 60:04.1f}"


def action(name: str, member: str, why: str) -> str:
    """Return what the operator does, and why, as a sentence."""
    verb = DOES.get(name, f"does {name}{' for {}' if member else ''}")
    return f"the operator {verb.format(member)} ({why})"


def edited(before: Json, after: Json) -> str:
    """Return what an edit changes: up to three fields, with their old and new values."""
    found = list(_changes("", before, after))
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more


def _changes(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("Json", before), cast("Json", after)
        for name in dict.fromkeys([*old, *new]):
            yield from _changes(f"{path}.{name}".lstrip("."), old.get(name), new.get(name))
        return
    one, other = _by_name(before), _by_name(after)
    if one and other:
        yield from _changes(path, one, other)
    elif before != after:
        yield f"{path} {_value(before)} → {_value(after)}"


def _by_name(value: Any) -> Json:
    """Return the items of a list by their names; nothing for anything else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    named = all(isinstance(item, dict) and "name" in item for item in items)
    return {item["name"]: item for item in items} if named else {}


def _value(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
