"""Which changes of a status are written at once, and which may wait some seconds for the next ones."""

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.model.intent import Absence


def is_urgent(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Return whether a changed status must be written at once.

    This is what a later round relies on (records of members, removals, the bootstrap, planned absence), what tools wait
    for (the generation, the version, the values of the conditions), and the begin of a change, which is measured from
    then on. Sentences, counts and times can wait: during a rollout they change several times a second.
    """
    return relied_on(before) != relied_on(after)


def moves_on(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Return whether a member changes its state: people want to see this soon, but no plan relies on it."""
    return states_of(before) != states_of(after)


def states_of(status: ClusterStatus) -> list[tuple[str, str]]:
    """Return the name and the state of each member."""
    return [(m.name, m.state) for m in status.member_states]


def relied_on(status: ClusterStatus) -> tuple[object, ...]:
    """Return the parts of a status that must never be out of date."""
    return (
        status.observed_generation,
        status.version,
        status.cluster_uuid,
        status.connection_secret_name,
        status.security,
        status.bootstrap,
        status.data_digests,
        status.data_change,
        status.pending_removals,
        status.last_removal_time,
        status.forecast and status.forecast.start_time,
        [(m.name, m.pool, m.version, m.address) for m in status.member_states],
        # Of a member that has never joined, plans use neither the volume nor the pod nor the zone.
        [(m.name, m.volume, m.pod, m.zone) for m in status.member_states if m.version],
        {m.name for m in status.member_states if m.absence == Absence.PLANNED},
        [(p.name, p.scaling.replicas) for p in status.pools if p.scaling is not None],
        [(c.type, c.status) for c in status.conditions],
    )
