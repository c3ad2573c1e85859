"""The documents that `-o json` and `-o yaml` print, field by field. Tests hold every command to them.

Fields are only added. A field that is removed or changes its meaning is deprecated before, as docs/stability.md says.
"""

from collections.abc import Mapping

from stateward.timeline.phases import Phase

AS_API = "as in the API: see the reference of its kind"
WAIT = {
    "subject": "what waits: a member, a pool or the cluster",
    "reason": "why, in one word for programs",
    "message": "why, in one sentence",
    "sinceTime": "since when; may be empty",
    "ends": "what ends the wait",
    "do": "what you can do; empty if nothing",
}
HEAD = {"kind": "kind of the cluster", "name": "name of the cluster", "namespace": "its namespace"}
PROBLEM = {"path": "the field", "message": "what is wrong, and what is accepted", "severity": "error or warning"}
PERIOD = {"startTime": "RFC 3339, in UTC", "endTime": "RFC 3339, in UTC; null while it lasts"}


DECLARED = {
    "declared[].kind": "kind of a resource that is declared for the database",
    "declared[].name": "its name",
    "declared[].ready": "whether the database has it as declared",
    "declared[].reason": "why, in one word for programs; empty if the operator has not observed it",
    "declared[].message": "the same in one sentence",
    "declaredNotRead": "kinds that could not be read, each with the reason",
}
PREVIEW = {
    "kind": "kind of a resource that is declared for the database",
    "name": "its name",
    "object": "what it is about in the database",
    "does": "create, replace, merge, change, nothing, wait or refuse",
    "reason": "why it waits or is refused, in one word for programs",
    "message": "the same in one sentence",
    "changes[].path": "a place in the object, or an index that is restored",
    "changes[].before": "what is there; null if nothing is",
    "changes[].after": "what is declared; null if nothing is",
}
QUANTILES = {"p50": "median, in seconds", "p95": "95th percentile", "worst": "the longest"}
EXPOSURE = QUANTILES | {
    "runs": "runs in which any shard (FoundationDB: team) is in this state; the whole is null if that is not known",
    "most": "the most shards or teams at once",
}
RUN = {
    "seed": "repeats the run with `--seed`",
    "completed": "whether the change completes",
    "seconds": "how long it takes, or until nothing happens any more",
    "secondsWithoutFault": "the same with the same timings and without the fault",
    "withoutSecondCopySeconds": "how long shards have no second copy; null if shards are not known, as the next three",
    "withoutCopySeconds": "how long shards have no copy",
    "refusedWritesSeconds": "how long shards, or the database, refuse writes",
    "lostShards": "shards without a complete copy at the end",
    "mostDown": "the most members that are down at once",
    "fault.kind": "node, disk or network; `fault` is null in a run without one",
    "fault.place": "what fails",
    "fault.members": "the members on it",
    "fault.at": "seconds from the begin",
    "fault.fraction": "how much of the change has passed then, from 0 to 1",
    "fault.during": "the step in progress",
    "fault.seconds": "how long it lasts; null if it does not end",
    "waitsFor": "what it waits for in the end, if it does not complete",
}


def within(path: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Return fields below a path."""
    return {f"{path}.{name}": meaning for name, meaning in fields.items()}


CHANGES = {
    "plan": "the plan that runs; empty if none",
    "because": "why it runs",
    "changes[].identity.kind": "kind of an object that changes",
    "changes[].identity.name": "its name",
    "changes[].identity.group": "its API group",
    "changes[].fate": "added, changed or removed",
    "changes[].fields": "the fields that change",
    "restarts[].identity.kind": "kind of a workload whose pods restart",
    "restarts[].identity.name": "its name",
    "restarts[].identity.group": "its API group",
    "restarts[].template": "the fields of its template that change",
    "restarts[].keys": "the data that it uses and that change",
    "tasks": "steps that are no objects",
    "notKnown": "objects that could not be rendered",
}

SHAPES: dict[str, dict[str, str]] = {
    "status": HEAD
    | {
        "generation": "generation of the resource",
        "wantedVersion": "the version in the spec",
        "status": AS_API,
        **DECLARED,
    },
    "list": {"[]": f"each cluster, {AS_API}"},
    "explain": HEAD
    | {
        "observed": "whether an operator has observed the cluster",
        "current": "whether it has observed the latest change of the spec",
        "activity": "what is in progress",
        "lastProgressTime": "when something last moved forward",
        "stalled": "what needs manual intervention, as an entry of `waiting`; null if nothing does",
        **within("waiting[]", WAIT),
        **{name: f"without a MEMBER: {meaning}" for name, meaning in DECLARED.items()},
        "member": "with a MEMBER: its entry of `status.memberStates` in the API, and the fields below",
        "member.meaning": "the meaning of its state",
        "member.inputs": "the inputs of its pod that differ",
        "member.trouble": "what keeps its pod from running",
        "member.note": "what could not be read",
        "member.whatHappens": "what happens next if it is missing",
    },
    "plan": {
        "cluster": "name of the cluster",
        "namespace": "its namespace",
        "deployed": "the version that is deployed",
        "wanted": "the version in the spec",
        "members[].name": "name of a member",
        "members[].pool": "its pool",
        "members[].effect": "none, reload, create, restart, recreate, replace or remove",
        "members[].mode": "rolling, and how many at once",
        "members[].because": "the inputs that differ, or the reason",
        "members[].held": "why it would not happen now",
        "members[].seconds": "duration; null if unknown or nothing happens",
        "steps[].does": "what happens",
        "steps[].members": "to which members",
        "steps[].why": "why",
        "steps[].at": "seconds from now",
        "steps[].seconds": "duration; null if unknown",
        "steps[].everyone": "whether all members of the cluster are down together",
        "volumes[].member": "a member whose volume is expanded",
        "volumes[].before": "bytes before",
        "volumes[].after": "bytes after",
        "refused": "what is refused: subject, reason, message",
        "waits": "what would still wait at the end: subject, reason, message",
        "seconds": "total duration; null if the change would not complete",
        **within("problems[]", PROBLEM),
        "notes": "what could not be read",
        "goesThrough": "whether the whole change would complete",
        "restsOn": "the sources of the durations",
        "notKnown": "what the durations do not include",
        **within("declared[]", PREVIEW),
    },
    "plan (of declared resources)": within("[]", PREVIEW),
    "plan (of an Installation)": {
        "name": "name of the installation",
        "namespace": "its namespace",
        "package": "name of the package",
        "version": "its version",
        **CHANGES,
        "then": "the plan that follows, with the same fields; null if none does",
        "refused": "why it is refused; empty if it is not",
        "wouldWait": "what it would wait for",
        "notes": "what could not be read",
        "goesThrough": "whether the whole change would complete",
    },
    "rehearse": {
        "cluster": "name of the cluster",
        "namespace": "its namespace",
        "deployed": "the version that is deployed",
        "wanted": "the version in the spec",
        "faults": "what fails: none, node, disk, network or all",
        "runs": "number of runs; 0 if no member would change: then `worst` is null, and nothing was measured",
        "completed": "number of runs that complete",
        "plannedSeconds": "duration without a fault, with the usual timings",
        **within(
            "seconds",
            {**QUANTILES, "p10": "of the runs that complete; `seconds` is null if none does", "p90": "90th percentile"},
        ),
        **within("withoutSecondCopy", EXPOSURE),
        **within("withoutCopy", EXPOSURE),
        **within("refusedWrites", EXPOSURE),
        "mostDown": "the most members that are down at once, over all runs",
        "runsWithLostShards": "runs at whose end a shard has no complete copy; null if shards are not known",
        "waits[].runs": "number of runs that do not complete for this reason",
        "waits[].message": "what one of them waits for",
        **within("hurtsMost[]", RUN),
        **within("worst", RUN),
        "notes": "what could not be read",
        "restsOn": "the sources of the durations",
    },
    "rehearse --seed": RUN,
    "timeline": HEAD
    | {
        "startTime": "begin of the period; before it nothing is known",
        "endTime": "end of the period",
        "members[].name": "a member with a phase",
        "members[].pool": "its pool",
        "spans[].subject": "a member, or the cluster",
        "spans[].phase": ", ".join(phase.value for phase in Phase),
        **within("spans[]", PERIOD),
        "spans[].reason": "why",
        "bands[].name": "health, or writes",
        "bands[].values[].value": "green, yellow, red, unknown; accepted, refused, unknown",
        **within("bands[].values[]", PERIOD),
        "events[].time": "RFC 3339, in UTC",
        "events[].subject": "a member, or the cluster",
        "events[].message": "what happened",
    },
    "events": {
        "[].lastSeenTime": "RFC 3339, in UTC",
        "[].firstSeenTime": "RFC 3339, in UTC",
        "[].type": "Normal or Warning",
        "[].reason": "in one word for programs",
        "[].kind": "kind of the object",
        "[].object": "name of the object",
        "[].message": "what happened",
        "[].count": "how often",
        "[].source": "which component reports it",
        "[].name": "name of the event",
        "[].namespace": "namespace of the event and of its cluster",
        "[].cluster": "the cluster that it is about",
    },
    "validate": {
        "[].file": "the file, and the document in it",
        "[].kind": "kind of the cluster; empty for others, and for one that cannot be read",
        "[].name": "name of the object",
        **within("[].problems[]", PROBLEM),
    },
    "installation list": {"[]": f"each installation, {AS_API}"},
    "installation status": {
        "name": "name of the installation",
        "namespace": "its namespace",
        "generation": "generation of the resource",
        "package": "the package in the spec",
        "status": AS_API,
    },
    "installation plan": {"": f"`status.run` of the installation, {AS_API}; null if no plan has run"},
    "installation history": {"[]": f"each entry of `status.history` of the installation, {AS_API}"},
    "package verify": {
        "path": "the package, as it was given",
        "name": "its name; empty if it cannot be read",
        "version": "its version",
        "digest": "the digest of its content",
        **within("problems[]", PROBLEM),
    },
    "package diff": {name: meaning for name, meaning in CHANGES.items() if name.startswith(("changes", "restarts"))},
}
"""By command, the meaning of each field by its path."""
