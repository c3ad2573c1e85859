"""Holds an upgrade back until the database has a snapshot that is young enough.

    version edited ──snapshot of at most `max_age`──▶ the first template is written ──▶ begun: nothing holds it any more

An upgrade that has begun is never held back: to stop half-way would be worse, and the way back is closed.
"""

from msgspec.structs import replace

from stateward.planning.facts.upgrade_order import newer, newest_joined_version, upgrading
from stateward.planning.model.observation import Database, Observation, Saved, SnapshotGate, Unknown
from stateward.planning.model.times import rfc3339


def with_upgrade_held(obs: Observation, now: float) -> tuple[Observation, str]:
    """Return the observation without an upgrade that may not begin yet, and why; nothing is held if that is empty."""
    gate = obs.desired.snapshot_gate
    if gate is None or not upgrading(obs) or begun(obs):
        return obs, ""
    saved = obs.saved
    if isinstance(saved, Saved) and saved.name and now - saved.time <= gate.max_age:
        return obs, ""
    pools = tuple(replace(pool, inputs=pool.held_inputs) for pool in obs.desired.pools)
    desired = replace(obs.desired, version=obs.deployed_version, pools=pools)
    return replace(obs, desired=desired), f"{obs.desired.version}: {_reason(gate, saved)}"


def begun(obs: Observation) -> bool:
    """Return whether anything of a cluster has a later version than the deployed one, or may have had."""
    made = [o.version for m in obs.members for o in (m.pod, m.workload) if o is not None]
    joined = [newest_joined_version(obs, m) for m in obs.members]
    nodes = [n.version for n in obs.database.nodes.values()] if isinstance(obs.database, Database) else []
    return any(newer(version, obs.deployed_version) for version in (*made, *joined, *nodes))


def _reason(gate: SnapshotGate, saved: Saved | Unknown | None) -> str:
    needs = f"an upgrade needs a snapshot in {gate.repository} that is not older than {_span(gate.max_age)}"
    if not isinstance(saved, Saved):
        return f"{needs}, and what is there is not known" + (f" ({saved.why})" if saved is not None else "")
    found = f"the newest one, {saved.name}, is of {rfc3339(saved.time)}" if saved.name else "there is none"
    return f"{needs}; {found}" + (f"; {saved.why}" if saved.why else "")


def _span(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}h" if not rest else f"{int(seconds) // 60}m" if not rest % 60 else f"{int(seconds)}s"
