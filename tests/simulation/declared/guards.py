# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""How each guard of declared objects is removed: one function of the product is replaced by one that does not guard."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from stateward.api.kinds.search_object import Claim, Drift
from stateward.engines.search.declared import decision
from stateward.engines.search.declared.decision import Decision, Do
from stateward.operator.declared import database, reconcile, resource
from stateward.operator.declared.reconcile import ObjectReconciliation

Removal = Callable[[pytest.MonkeyPatch], None]


def mixed_versions(patch: pytest.MonkeyPatch) -> None:
    original = decision.doubt
    patch.setattr(decision, "doubt", lambda versions: None if versions else original(versions))


def unknown_versions(patch: pytest.MonkeyPatch) -> None:
    original = decision.doubt
    patch.setattr(decision, "doubt", lambda versions: original(versions) if versions else None)


def existing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decision, "_unclaimed", lambda *_: Decision(Do.CLAIM, claim=Claim.ADOPTING))


def reported(patch: pytest.MonkeyPatch) -> None:
    original = decision._claimed
    patch.setattr(decision, "_claimed", lambda desired, *rest: original(replace(desired, drift=Drift.CORRECT), *rest))


def paused(patch: pytest.MonkeyPatch) -> None:
    original = ObjectReconciliation.settle

    async def settle(self: ObjectReconciliation, target: Any) -> Any:
        self.live = structs.replace(self.live, spec=structs.replace(self.live.spec, paused=False))
        return await original(self, target)

    patch.setattr(ObjectReconciliation, "settle", settle)


def one_resource(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(resource.Reconciliation, "_rivals", lambda _: iter(()))


def retained(patch: pytest.MonkeyPatch) -> None:
    original = decision.remove
    patch.setattr(database, "remove", lambda desired, observed: original(replace(desired, retain=False), observed))
    patch.setattr(ObjectReconciliation, "leaves_something", lambda self: bool(self.live.status.claim))


def removed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ObjectReconciliation, "leaves_something", lambda _: False)


def hidden(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(resource, "without_values", lambda text, _: text)


def corrected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decision, "_agrees", lambda desired, *_: desired.memory.applied == desired.digest)


def compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decision, "_agrees", lambda *_: False)


def told(patch: pytest.MonkeyPatch) -> None:
    """Report each wait as success."""
    original = reconcile.ObjectReconciliation.settle

    async def settle(self: ObjectReconciliation, target: Any) -> Any:
        try:
            return await original(self, target)
        except resource.StopError:
            return resource.Outcome(resource.Stage.READY, resource.APPLIED)

    patch.setattr(ObjectReconciliation, "settle", settle)
