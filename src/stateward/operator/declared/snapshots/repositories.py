"""What the reconciliations of snapshots, schedules and restores have in common: a repository that fails."""

from stateward.engines.connection.base import Target
from stateward.operator.declared.reporting import Outcome, Stage
from stateward.operator.declared.resource import Reconciliation, StopError
from stateward.operator.declared.snapshots.first_restore import origin_of
from stateward.operator.declared.tools import R


class RepositoryReconciliation(Reconciliation[R]):
    """One reconciliation of a resource that needs a repository; nothing is removed with it, unless its kind says so."""

    def leaves_something(self) -> bool:
        """Return False: what was made in the database or the repository stays."""
        return False

    async def clear(self, target: Target) -> Outcome | None:  # noqa: ARG002 - nothing is removed
        """Remove nothing."""
        return None

    def check_begun(self) -> None:
        """Raise StopError while the cluster still has to begin with a snapshot: there is nothing to save."""
        cluster = self.tools.databases.cluster(self.kind, self.where)
        if cluster is not None and (origin := origin_of(cluster)) is not None:
            message = f"{self.where.name} begins with the snapshot {origin.snapshot}, which is not restored yet"
            raise StopError(Outcome(Stage.WORKING, "ClusterBegins", message))

    def repository(self) -> str:
        """Return the name of the repository."""
        return str(self.live.spec.repository)
