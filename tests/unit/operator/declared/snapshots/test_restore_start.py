"""The answer to the start of a restore may be lost or wrong: what the database shows decides."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.snapshots.restore import RestorePhase, SearchRestore
from stateward.engines.connection.base import RefusedError
from stateward.operator.declared.snapshots import restore
from stateward.operator.declared.snapshots.restore import RestoreWork, Step

LIVE = msgspec.convert(
    {
        "metadata": {"name": "back", "namespace": "prod"},
        "spec": {
            "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
            "repository": "files",
            "snapshot": "nightly",
        },
        "status": {"phase": "Starting", "snapshot": "nightly", "snapshotUUID": "u"},
    },
    SearchRestore,
)


@pytest.mark.parametrize(
    ("shown", "found", "sends", "phase"),
    [
        (0, True, 1, RestorePhase.REFUSED),
        (1, True, 0, RestorePhase.RESTORING),
        (2, True, 1, RestorePhase.RESTORING),
        (0, False, 0, RestorePhase.REFUSED),
    ],
)
async def test_a_restore_that_the_database_refused_and_began_is_followed(
    monkeypatch: pytest.MonkeyPatch, shown: int, found: bool, sends: int, phase: RestorePhase
) -> None:
    asked: list[str] = []

    class Work(RestoreWork):
        async def _begun(self, session: Any, found: Any) -> Step | None:
            asked.append(found.uuid)
            begun = 0 < shown <= len(asked)
            return Step(msgspec.structs.replace(self.live.status, phase=RestorePhase.RESTORING)) if begun else None

        async def _refused(self, session: Any, reason: str) -> Step:
            return Step(msgspec.structs.replace(self.live.status, phase=RestorePhase.REFUSED))

    sent: list[object] = []

    async def one_snapshot(*_: Any) -> Any:
        if not found:
            raise RefusedError("no such repository", 404)
        return SimpleNamespace(uuid="u")

    async def send(_: Any, request: object) -> None:
        sent.append(request)
        raise RefusedError("an index of the name exists", 500)

    monkeypatch.setattr(restore, "one_snapshot", one_snapshot)
    monkeypatch.setattr(restore, "send", send)
    nothing: Any = None
    step = await Work(LIVE, "uuid-1", "").start(nothing)
    assert (step.status.phase, len(sent)) == (phase, sends)
