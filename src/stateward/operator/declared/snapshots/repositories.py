"""What the reconciliations of snapshots, schedules and restores have in common: a repository that fails."""

from stateward.engines.connection.base import EngineError, RefusedError, Target
from stateward.operator.declared.reporting import Outcome, Stage
from stateward.operator.declared.resource import REFUSED_SECONDS, R, Reconciliation

FAILED = 500
"""Status with which a database answers when it cannot read or write a repository, or may not."""


class RepositoryReconciliation(Reconciliation[R]):
    """One reconciliation of a resource that needs a repository; nothing is removed with it, unless its kind says so."""

    def leaves_something(self) -> bool:
        """Return False: what was made in the database or the repository stays."""
        return False

    async def clear(self, target: Target) -> Outcome | None:  # noqa: ARG002 - nothing is removed
        """Remove nothing."""
        return None

    def failed(self, error: EngineError, secrets: tuple[str, ...] = ()) -> Outcome:
        """Return the outcome of a request that failed: a database that answers is not one that cannot be reached."""
        if isinstance(error, RefusedError) and error.status == FAILED:
            message = f"the database cannot use the repository {self.live.spec.repository}: {error}"
            return Outcome(Stage.STALLED, "RepositoryFails", message, REFUSED_SECONDS)
        return super().failed(error, secrets)
