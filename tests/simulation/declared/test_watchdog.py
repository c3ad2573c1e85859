"""What the check of declared objects knows of a write whose answer was lost."""

from types import SimpleNamespace
from typing import Any

import pytest

from stateward.engines.connection.base import Call
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.snapshots import ModelSnapshot
from stateward.simulation.properties.declared.snapshots import OF_HAND, SnapshotWatchdog
from stateward.simulation.properties.declared.verification import VerificationWatchdog
from stateward.simulation.properties.declared.watchdog import DeclaredWatchdog
from stateward.simulation.world.declared_objects import OBJECTS, SCHEDULES, SNAPSHOTS, path_of

pytestmark = pytest.mark.simulation

LABEL = "ingestPipeline/clean"
PATH = path_of("opensearch", LABEL)
OURS, OTHER = {"description": "ours"}, {"description": "another client's"}


class Written:
    """A resource whose object the operator has written in the database `one`."""

    def __init__(self, claim: str) -> None:
        status = {"claim": claim, "clusterUUID": "one", "observedGeneration": 1}
        self.resource = Stored(
            OBJECTS,
            {
                "metadata": {"name": "clean", "namespace": "default", "uid": "u", "generation": 1},
                "spec": {"cluster": {"name": "logs"}, "object": LABEL, "body": OURS},
                "status": status,
            },
            1,
            {},
        )
        self.content: dict[str, Any] = {}
        self.cluster: Any = SimpleNamespace(identity="one", objects=SimpleNamespace(content=self.content.get), nodes={})
        self.world: Any = SimpleNamespace(
            store=SimpleNamespace(subscribers=[], get=self.live),
            product=SimpleNamespace(engine="opensearch"),
            context=SimpleNamespace(count=print, trace=print),
            database=self.database,
        )
        self.watchdog = DeclaredWatchdog(self.world, [])
        self.watchdog.read(OBJECTS, Key("default", "clean"))
        self.watchdog.began()
        self.content[PATH] = OURS
        self.watchdog.performed(self.cluster, Call("http://one", "PUT", PATH, body=OURS), 200)

    def database(self, _: object) -> Any:
        """Return the only cluster."""
        return self.cluster

    def live(self, *_: object) -> Stored:
        return self.resource

    def unconfirmed(self) -> bool:
        return self.watchdog.is_unconfirmed(self.resource, self.cluster)

    def becomes_ready(self) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "InDatabase"}
        doc = {**self.resource.doc, "status": {**self.resource.doc["status"], "conditions": [ready]}}
        for told in self.world.store.subscribers:
            told(OBJECTS, SimpleNamespace(old=self.resource, new=Stored(OBJECTS, doc, 2, {})))


async def test_a_change_before_the_answer_came_is_in_doubt_and_an_object_as_written_is_not() -> None:
    written = Written("Creating")
    assert written.watchdog.belongs(written.resource, written.cluster)
    assert not written.unconfirmed()
    written.content[PATH] = OTHER
    assert written.unconfirmed()


@pytest.mark.parametrize("claim", ["Owned", "Merged"])
async def test_what_the_operator_has_recorded_as_its_own_is_not_in_doubt(claim: str) -> None:
    written = Written(claim)
    written.content[PATH] = OTHER
    assert not written.unconfirmed()


async def test_a_lost_record_of_an_object_that_was_ready_is_no_doubt_but_a_mistake() -> None:
    written = Written("Creating")
    written.becomes_ready()
    written.content[PATH] = OTHER
    assert not written.unconfirmed()


@pytest.mark.parametrize(("verification", "settled"), [({"snapshot": "nightly-1"}, False), ({"lastFailure": {}}, True)])
def test_a_schedule_whose_verification_has_not_ended_is_not_settled(verification: Any, settled: bool) -> None:
    schedule = Stored(SCHEDULES, {"metadata": {"name": "nightly"}, "status": {"verification": verification}}, 1, {})

    def stored(kind: str) -> list[Stored]:
        return [schedule] if kind == SCHEDULES else []

    store = SimpleNamespace(subscribers=[], all=stored)
    world: Any = SimpleNamespace(store=store, clusters="clusters")
    found = list(VerificationWatchdog(world, []).unmet())
    assert found == ([] if settled else ["the verification of nightly has not ended"])


@pytest.mark.parametrize("declared", [True, False])
def test_a_finished_snapshot_whose_repository_is_gone_is_not_settled_until_its_status_says_so(
    *, declared: bool
) -> None:
    """The operator looks for a finished snapshot once an hour: the write is due, and no mistake."""
    doc = {
        "metadata": {"name": "by-hand", "uid": "u", "generation": 1},
        "spec": {"repository": "backup"},
        "status": {
            "observedGeneration": 1,
            "sizeBytes": 5,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Taken"}],
        },
    }
    taken = ModelSnapshot("by-hand", "s", 0.0, 1.0, "SUCCESS", {OF_HAND: "u"}, {})

    def stored(kind: str) -> list[Stored]:
        return [Stored(SNAPSHOTS, doc, 1, {})] if kind == SNAPSHOTS else []

    repositories = ["backup"] if declared else []
    objects = SimpleNamespace(repositories=lambda: repositories)
    world: Any = SimpleNamespace(
        store=SimpleNamespace(subscribers=[], all=stored),
        databases=SimpleNamespace(repositories={"backup": {"by-hand": taken}}),
        database=lambda: SimpleNamespace(objects=objects),
    )
    due = "the SearchSnapshot by-hand is Ready, and its repository is not declared any more"
    assert list(SnapshotWatchdog(world, []).unmet()) == ([] if declared else [due])
