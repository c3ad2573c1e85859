"""Holds an upgrade back that may not begin yet.

    version edited ──database answers──▶ ──snapshot of at most `max_age`──▶ the first template is written ──▶ begun

An upgrade that has begun is never held back: to stop half-way would be worse, and the way back is closed. It ends
before one to a version that does not talk to its own.
"""

from msgspec.structs import replace

from stateward.planning.facts.protocol import protocol_of
from stateward.planning.facts.upgrade_order import newer, newest_joined_version, parse, upgrading
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import Database, Observation, Saved, SnapshotGate, Unknown
from stateward.planning.model.times import rfc3339


def with_upgrade_held(obs: Observation, now: float) -> tuple[Observation, Wait | None]:
    """Return the observation without an upgrade that may not begin yet, and what it waits for; None if it may."""
    held = (other_upgrade(obs) or unknown_data(obs) or no_snapshot(obs, now)) if upgrading(obs) else None
    if held is None:
        return obs, None
    pools = tuple(replace(pool, inputs=pool.held_inputs, crossings={}) for pool in obs.desired.pools)
    return replace(obs, desired=replace(obs.desired, version=obs.deployed_version, pools=pools)), held


def other_upgrade(obs: Observation) -> Wait | None:
    """Return the wait of a version while some members have joined with one that talks neither to it nor to the rest.

    The disaster this prevents: all processes change from 7.1 to 7.3 while a machine is down, the user asks for 7.4
    before it is back, and the change from the deployed version, 7.1, begins again: with its programs, on data of 7.3.
    """
    known = {protocol_of(version) for version in (obs.deployed_version, obs.desired.version)}
    joined = [newest_joined_version(obs, m) for m in obs.members] if any(p.crossings for p in obs.desired.pools) else []
    others = [version for version in joined if version and protocol_of(version) not in known]
    if not others:
        return None
    newest = max(others, key=parse)
    text = (
        f"{obs.desired.version}: members have joined with {newest}, whose processes do not talk to it, and others have"
        f" not yet; set spec.version to {newest} until all have"
    )
    return Wait("spec.version", "UpgradeRefused", text, stalled=True)


def unknown_data(obs: Observation) -> Wait | None:
    """Return the wait of a later major version while it is unknown whether it can read the data.

    The disaster this prevents: a version that cannot read the data is refused, then the database is silent, and the
    next pod that is repaired or created has that version. Versions that do not talk to each other change together, and
    the database is silent meanwhile.
    """
    major = parse(obs.desired.version)[:1]
    known = isinstance(obs.database, Database) or any(pool.crossings for pool in obs.desired.pools)
    if known or major <= parse(obs.deployed_version)[:1] or any(parse(found)[:1] >= major for found in versions(obs)):
        return None
    text = f"{obs.desired.version}: whether it can read the data is not known while the database does not answer"
    return Wait("spec.version", "DataAgeUnknown", text)


def no_snapshot(obs: Observation, now: float) -> Wait | None:
    """Return the wait of an upgrade for a snapshot that is young enough."""
    gate, saved = obs.desired.snapshot_gate, obs.saved
    if gate is None or begun(obs):
        return None
    if isinstance(saved, Saved) and saved.name and now - saved.time <= gate.max_age:
        return None
    return Wait("spec.version", "SnapshotRequired", f"{obs.desired.version}: {_reason(gate, saved)}")


def begun(obs: Observation) -> bool:
    """Return whether anything of a cluster has a later version than the deployed one, or may have had."""
    return any(newer(version, obs.deployed_version) for version in versions(obs))


def versions(obs: Observation) -> list[str]:
    """Return the versions of all pods, templates and nodes, and those with which members have ever joined.

    A kept volume that no member uses tells nothing. The disaster this prevents: volumes of an earlier cluster with a
    later version are left, an upgrade counts as begun, and waits for no snapshot.
    """
    made = [o.version for m in obs.members for o in (m.pod, m.workload) if o is not None]
    used = (m for m in obs.members if m.present or m.name in obs.records)
    joined = [newest_joined_version(obs, m) for m in used]
    nodes = [n.version for n in obs.database.nodes.values()] if isinstance(obs.database, Database) else []
    return [*made, *joined, *nodes]


def _reason(gate: SnapshotGate, saved: Saved | Unknown | None) -> str:
    needs = f"an upgrade needs a snapshot in {gate.repository} that is not older than {_span(gate.max_age)}"
    if not isinstance(saved, Saved):
        return f"{needs}, and what is there is not known" + (f" ({saved.why})" if saved is not None else "")
    found = f"the newest one, {saved.name}, is of {rfc3339(saved.time)}" if saved.name else "there is none"
    return f"{needs}; {found}" + (f"; {saved.why}" if saved.why else "")


def _span(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}h" if not rest else f"{int(seconds) // 60}m" if not rest % 60 else f"{int(seconds)}s"
