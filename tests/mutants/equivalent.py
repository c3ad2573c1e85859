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
}
