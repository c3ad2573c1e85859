# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""How each guard of declared objects is removed: one function of the product is replaced by one that does not guard."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import Claim, Drift
from stateward.api.kinds.snapshots.restore import ExistingIndices
from stateward.engines.search.declared import decision, identity, writes
from stateward.engines.search.declared.decision import Decision, Do
from stateward.engines.search.declared.identity import declared
from stateward.engines.search.snapshots import verification
from stateward.engines.search.snapshots.decision import DesiredSnapshot
from stateward.operator.declared import database, resource
from stateward.operator.declared.reconcile import ObjectReconciliation
from stateward.operator.declared.reporting import left_over
from stateward.operator.declared.snapshots import restore, schedule, snapshot

Removal = Callable[[pytest.MonkeyPatch], None]


def mixed_versions(patch: pytest.MonkeyPatch) -> None:
    original = decision.doubt
    patch.setattr(decision, "doubt", lambda versions: None if versions else original(versions))


def unknown_versions(patch: pytest.MonkeyPatch) -> None:
    original = decision.doubt
    patch.setattr(decision, "doubt", lambda versions: original(versions) if versions else None)


def existing(patch: pytest.MonkeyPatch) -> None:
    original = decision._foreign

    def foreign(desired: Any, body: Any) -> str | None:
        return None if desired.memory.claim == Claim.ADOPTING else original(desired, body)

    patch.setattr(decision, "_foreign", foreign)
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
    patch.setattr(database, "remove", lambda desired, *seen: original(replace(desired, retain=False), *seen))
    patch.setattr(ObjectReconciliation, "leaves_something", lambda self: bool(self.live.status.claim))


def removed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ObjectReconciliation, "leaves_something", lambda _: False)


def written_by_it(patch: pytest.MonkeyPatch) -> None:
    original = decision.remove

    def remove(desired: Any, *seen: Any) -> Decision:
        return original(replace(desired, memory=replace(desired.memory, claim=Claim.OWNED)), *seen)

    async def clear(self: ObjectReconciliation, target: Any) -> Any:
        desired = self._desired(declared(self.live.spec), self.live.spec.body)
        left = await self.cleared(target, desired)
        if left.do is Do.CLAIM:
            desired = replace(desired, memory=replace(desired.memory, applied="", stored=left.stored))
            left = await self.cleared(target, desired)
        return left_over(left)

    patch.setattr(database, "remove", remove)
    patch.setattr(ObjectReconciliation, "clear", clear)
    patch.setattr(
        ObjectReconciliation, "leaves_something", lambda self: self.live.spec.deletion_policy is Retention.DELETE
    )


def hidden(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(resource, "without_values", lambda text, _: text)


def corrected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decision, "_agrees", lambda desired, *_: desired.memory.applied == desired.digest)


def compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decision, "_agrees", lambda *_: False)


def retained_snapshot(patch: pytest.MonkeyPatch) -> None:
    original = snapshot.remove

    def remove(desired: DesiredSnapshot, *rest: Any, **more: Any) -> Decision:
        spec = structs.replace(desired.spec, deletion_policy=Retention.DELETE)
        return original(replace(desired, spec=spec), *rest, **more)

    patch.setattr(snapshot, "remove", remove)
    patch.setattr(snapshot.SnapshotReconciliation, "leaves_something", lambda self: bool(self.live.status.claim))


def kept_snapshots(patch: pytest.MonkeyPatch) -> None:
    original = schedule.expired

    def expired(desired: Any, found: Any) -> list[str]:
        kept = structs.replace(desired.spec.retention, max_count=1)
        return original(replace(desired, spec=structs.replace(desired.spec, retention=kept)), found)

    patch.setattr(schedule, "expired", expired)


def refused_indices(patch: pytest.MonkeyPatch) -> None:
    original = restore.planned
    patch.setattr(
        restore, "planned", lambda spec, *rest: original(structs.replace(spec, existing=ExistingIndices.REPLACE), *rest)
    )


def restored_once(patch: pytest.MonkeyPatch) -> None:
    original = restore.RestoreReconciliation.check

    def check(self: restore.RestoreReconciliation) -> None:
        if self.live.status.phase == restore.RestorePhase.DONE:
            self.keep(restore.SearchRestoreStatus(conditions=self.live.status.conditions))
        original(self)

    patch.setattr(restore.RestoreReconciliation, "check", check)


def own_settings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(identity, "_no_setting", lambda *_: None)


def existing_settings(patch: pytest.MonkeyPatch) -> None:
    original = decision._foreign

    def foreign(desired: Any, body: Any) -> str | None:
        return None if desired.settings else original(desired, body)

    patch.setattr(decision, "_foreign", foreign)
    existing(patch)


def dropped_settings(patch: pytest.MonkeyPatch) -> None:
    original = writes.write

    def write(desired: Any, observed: Any) -> writes.Request:
        if desired.settings:
            desired = replace(desired, memory=replace(desired.memory, settings=desired.settings))
        return original(desired, observed)

    patch.setattr(decision, "write", write)


def removed_settings(patch: pytest.MonkeyPatch) -> None:
    original = ObjectReconciliation.leaves_something
    patch.setattr(
        ObjectReconciliation,
        "leaves_something",
        lambda self: self.live.spec.object != "clusterSettings" and original(self),
    )


def damaged(patch: pytest.MonkeyPatch) -> None:
    original = verification._result

    def result(wanted: Any, seen: verification.Seen, *rest: Any) -> Any:
        restored = seen.restored
        if restored is not None and restored.indices:
            restored = structs.replace(restored, phase=restore.RestorePhase.DONE)
        return original(wanted, replace(seen, restored=restored), *rest)

    patch.setattr(verification, "_result", result)


def writable(patch: pytest.MonkeyPatch) -> None:
    original = verification.throwaway.repository

    def repository(*rest: Any) -> Any:
        made = original(*rest)
        made["spec"]["body"]["settings"]["readonly"] = False
        return made

    patch.setattr(verification.throwaway, "repository", repository)


def in_the_source(patch: pytest.MonkeyPatch) -> None:
    original = verification.throwaway.restore

    def made(schedule: Any, *rest: Any) -> Any:
        found = original(schedule, *rest)
        found["spec"]["cluster"]["name"] = schedule.spec.cluster.name
        return found

    patch.setattr(verification.throwaway, "restore", made)


def removed_cluster(patch: pytest.MonkeyPatch) -> None:
    original = verification._with_cluster

    def step(wanted: Any, *rest: Any) -> Any:
        found = original(wanted, *rest)
        return replace(found, do=verification.Do.WAIT) if found.do is verification.Do.DELETE else found

    patch.setattr(verification, "_with_cluster", step)
