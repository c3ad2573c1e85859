"""All clusters of an operator share the places for automatic replacements."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.kube.objects.metadata import ObjectMeta
from stateward.operator.clusters.replacement_limit import ReplacementLimit, newly_listed
from stateward.planning.model.observation import Removal


@dataclass
class Cluster:
    uid: str
    removals: list[RemovalStatus] = field(default_factory=list[RemovalStatus])
    namespace: str = "one"

    @property
    def metadata(self) -> ObjectMeta:
        return ObjectMeta(name=self.uid, uid=self.uid, namespace=self.namespace)

    @property
    def status(self) -> ClusterStatus:
        return ClusterStatus(pending_removals=self.removals)


class Store:
    def __init__(self, *clusters: Cluster) -> None:
        self.clusters = clusters

    def all(self) -> Iterable[Cluster]:
        return self.clusters


def entry(name: str, phase: str = "Draining", by: str = "Automatic") -> RemovalStatus:
    return RemovalStatus(name=name, origin=by, phase=phase)


def limit(most: int, *clusters: Cluster) -> ReplacementLimit:
    made = ReplacementLimit(most)
    for cluster in clusters:
        made.count(Store(cluster))  # Each as if of a kind of its own.
    return made


def test_replacements_of_all_clusters_of_all_kinds_count() -> None:
    places = limit(3, Cluster("a", [entry("a-0"), entry("a-1", "Leaving")]), Cluster("b"))
    assert places.slots("b") == 1
    assert places.slots("a") == 1


def test_one_namespace_leaves_a_place_to_the_others() -> None:
    """Five replacements of one tenant that never ended kept the lost members of all others from being replaced."""
    first, second, other = Cluster("a", [entry("a-0"), entry("a-1")]), Cluster("b"), Cluster("c", namespace="two")
    places = limit(3, first, second, other)
    assert (places.slots("a"), places.slots("b"), places.slots("c")) == (0, 0, 1)
    places.claim("c", frozenset({"c-0"}))
    assert (places.slots("b"), places.slots("c")) == (0, 1)
    assert limit(3, first, second).slots("b") == 1, "there is no other namespace"
    assert limit(1, Cluster("a"), other).slots("a") == 1, "a single place is for all"


def test_what_takes_up_no_room_or_was_requested_does_not_count() -> None:
    quiet = [entry("a-0", phase) for phase in ("NoRoom", "Terminating", "VolumeKept")]
    asked = [entry("a-1", by="User"), entry("a-2", by="Spec")]
    assert limit(1, Cluster("a", [*quiet, *asked]), Cluster("b")).slots("b") == 1


def test_two_clusters_never_take_the_last_place_both() -> None:
    first, second = Cluster("a"), Cluster("b")
    places = limit(1, first, second)
    places.claim("a", frozenset({"a-0"}))
    assert places.slots("b") == 0
    assert places.slots("a") == 1, "its own claim is renewed with every plan"
    first.removals.append(entry("a-0", "Waiting"))
    assert places.slots("b") == 0
    places.release("a")
    assert places.slots("b") == 0


def test_a_decision_that_was_not_written_down_gives_its_place_back() -> None:
    places = limit(1, Cluster("a"), Cluster("b"))
    places.claim("a", frozenset({"a-0"}))
    places.claim("a", frozenset())
    assert places.slots("b") == 1


def test_more_in_flight_than_there_are_places_leaves_none_and_no_debt() -> None:
    assert limit(1, Cluster("a", [entry("a-0"), entry("a-1")]), Cluster("b")).slots("b") == 0


def test_only_what_a_plan_adds_by_itself_is_new() -> None:
    old, chosen, asked = (Removal("r", 0.0, automatic=automatic) for automatic in (True, True, False))
    assert newly_listed({"a": old}, {"a": old, "b": chosen, "c": asked}) == {"b"}
