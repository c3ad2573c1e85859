"""What is refused before a plan is made: by the driver, by validation, or because data cannot be downgraded or read."""

from stateward.planning.facts.upgrade_order import members_ahead, newer, newest_joined_version, parse, upgrading
from stateward.planning.model.observation import Observation, Refusal, Unknown


def refusal_waits(obs: Observation) -> tuple[Refusal, ...]:
    """Return the waits for everything that is refused: by the driver, by validation, or as a downgrade.

    An invalid spec does not count as a request for its version.
    """
    blocked = unreadable(obs)
    if blocked is not None:
        return (*obs.desired.refusals, blocked)
    passed = members_ahead(obs)
    if not passed or not obs.desired.pools:
        return obs.desired.refusals
    names = ", ".join(m.name for m in passed)
    version = max((newest_joined_version(obs, m) for m in passed), key=parse)
    text = (
        f"{names} {'has' if len(passed) == 1 else 'have'} already joined with {version}, and data"
        " cannot be downgraded to"
        f" {obs.desired.version}; set spec.version to {version} or later"
    )
    return (*obs.desired.refusals, Refusal("spec.version", "CannotGoBack", text, everything=False))


def unreadable(obs: Observation) -> Refusal | None:
    """Return the refusal of a version that cannot read the data, as the database reports its age.

    The disaster this prevents: the first member with the new version does not join, and what it has written into its
    volume keeps it from coming back with the old version. Once a member has joined with such a version, nothing is
    refused: to stop half-way would be worse.
    """
    if isinstance(obs.database, Unknown) or obs.database.barrier is None or not upgrading(obs):
        return None
    barrier, nodes = obs.database.barrier, obs.database.nodes.values()
    if newer(barrier.version, obs.desired.version) or not all(newer(barrier.version, n.version) for n in nodes):
        return None
    return Refusal("spec.version", "DataTooOld", f"{obs.desired.version}: {barrier.why}")
