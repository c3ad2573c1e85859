"""The text of trace events: times, actions, edits."""

from collections.abc import Iterator
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.problem import first_of

DOES = {
    "Create": "creates the objects of {}",
    "Stage": "writes the next template of {}",
    "DeletePod": "deletes the pod of {}",
    "Release": "scales {} to zero",
    "DeleteMember": "removes what is left of {}",
    "DeleteVolume": "deletes the volume of {}",
    "GrowVolume": "requests a larger volume for {}",
    "MarkVolume": "marks whether a member has left the volume of {}",
    "ForgetState": "takes the mark of a manager off the volume of {}",
    "MarkState": "marks that the volume of {} belongs to a cluster that was formed",
    "RetainVolume": "retains the volume of {} after the cluster is deleted",
    "OwnVolume": "has the volume of {} deleted with the cluster",
    "RecordBootstrap": "records that {} may bootstrap the cluster",
    "GrantBootstrap": "allows {} to bootstrap the cluster",
    "LimitAllocation": "limits the allocation",
    "RestoreAllocation": "restores the allocation",
    "ResumeBalancing": "resumes rebalancing",
    "Flush": "flushes",
    "Drain": "sets the members to drain",
    "ExcludeVoters": "sets the voting exclusions",
    "MoveCopies": "moves single copies",
    "SetPhase": "writes the next phase of the restart of {}",
    "StopProcess": "stops the process of {} in its pod",
    "StartProcess": "starts the process of {} in its pod",
    "FinishRestart": "ends the restart of {}",
    "RecordData": "records on the pod of {} which data it uses",
    "ClearSchedule": "removes the restart request from the cluster",
    "ClearConsent": "removes the consent to bootstrap again from the cluster",
    "RestoreSnapshot": "creates the SearchRestore with which the cluster begins",
    "CreateDatabase": "creates the database",
    "ConfigureDatabase": "sets the redundancy and the coordinators of the database",
    "DeleteConfiguration": "deletes a Secret that belongs to no member",
}
"""Verbs for the operator's actions; an unlisted action appears by its name."""


def clock(seconds: float) -> str:
    """Return a virtual time as hours, minutes and seconds."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{seconds % 60:04.1f}"


def action(name: str, member: str, why: str) -> str:
    """Return an action of the operator and its reason, as a sentence."""
    verb = DOES.get(name, f"does {name}{' for {}' if member else ''}")
    return f"the operator {verb.format(member)} ({why})"


def edited(before: Json, after: Json) -> str:
    """Return what an edit changes: up to three fields, with their old and new values."""
    return first_of(list(_changes("", before, after)), 3)


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
