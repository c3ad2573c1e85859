"""Mutations that change no behaviour, each with the reason in a sentence; the key is the `key` of the change."""

EQUIVALENT: dict[str, str] = {
    "src/stateward/planning/steps/upkeep/repair.py:serving: facts.database is not None and member.name in"
    " facts.database.voters -> member.name in facts.database.voters": (
        "`facts.joined` was true three lines above, and without a database no member has joined."
    ),
    "src/stateward/operator/installations/context.py:read: known is not None and key not in"
    " self.installations.unreadable -> key not in self.installations.unreadable": (
        "the next line asks again whether it is known."
    ),
    "src/stateward/planning/report/status.py:member_status: same and earlier -> same": (
        "`same` is the time of the earlier state, so without an earlier state there is none."
    ),
    "src/stateward/planning/steps/membership/replacement.py:required_seconds: found.cause is not Cause.NODE_TAINTED or"
    " member.pod is None -> found.cause is not Cause.NODE_TAINTED": (
        "the cause is a taint of the node on which the member's pod runs, so it has a pod."
    ),
    "src/stateward/operator/exporters/report.py:report: after.available and (before is None or not before.available) ->"
    " before is None or not before.available": (
        "an exporter that is not available has a reason, which was told one condition above."
    ),
    "src/stateward/operator/detection/cronjob.py:schedule: (hours := (minutes // 60)) < 24 -> (hours :="
    " (minutes // 60)) <= 24": (
        "a step of 24 hours from an hour of the day is that hour alone, as in the line for a whole day."
    ),
    "src/stateward/operator/installations/reconcile.py:_cause: run is not None and is_running(run) and ((run.plan,"
    " run.cause) == (decision.chosen.plan, Cause.REQUEST)) -> is_running(run) and (run.plan, run.cause) =="
    " (decision.chosen.plan, Cause.REQUEST)": "without a run none is running.",
    "src/stateward/operator/installations/reconcile.py:go: isinstance(found.decision, Begin) and found.package is not"
    " None -> isinstance(found.decision, Begin)": "what was decided without a package never begins a plan.",
    "src/stateward/operator/installations/reconcile.py:go: isinstance(found.decision, Rest) and found.decision.problem"
    " is None and (found.wanted is not None) -> isinstance(found.decision, Rest) and found.decision.problem is None": (
        "what is decided without a package is a problem."
    ),
    "src/stateward/operator/runtime/traces.py:_span: found.get_span_context() or INVALID_SPAN_CONTEXT ->"
    " found.get_span_context()": "a span that was started has a context, and only such spans are exported.",
    "src/stateward/operator/installations/finish.py:_settle: live is None or (before :="
    " read_record(live)) is None or 'deletionTimestamp' in live['metadata'] -> (before := read_record(live)) is None or"
    " 'deletionTimestamp' in live['metadata']": (
        "an object that does not exist has no record, and reading none says so."
    ),
    "src/stateward/planning/steps/upkeep/repair.py:configuration_is_lost: pod.agent or pod.ready or member.config is"
    " None or (not staged(facts, member)) -> pod.agent or pod.ready or (not staged(facts, member))": (
        "a member whose configuration is not known is not staged."
    ),
    "src/stateward/operator/declared/resource.py:_seniority: meta.creation_timestamp or '' ->"
    " meta.creation_timestamp": ("the API server gives each object the time of its creation."),
}
