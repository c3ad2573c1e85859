"""Small scenarios that are drawn and shrunk: a topology, edits of it, and the strongest effect on each member.

The permitted effect of an edit is defined here by pool, independently of the driver.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hypothesis import strategies as st

from stateward.api.values.base import Json
from stateward.planning.model.observation import Effect
from tests.simulation.scenario import CLAIMS, PODS, Scenario, hot, managers, pool

Change = Callable[[Json, Json], None]
"""Changes a spec, or one pool of it, in place."""
ENVIRONMENT = {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "COLOR", "value": "red"}]}]}}


@dataclass(frozen=True)
class Kind:
    """A kind of edit: its strongest effect on members of its pool, or (whole) on all members."""

    words: str
    effect: Effect
    change: Change
    whole: bool = False


KINDS = (
    Kind("a setting of {}", Effect.RESTART, lambda _, p: p.setdefault("config", {}).update({"indices.a": 1})),
    Kind(
        "a setting of the cluster",
        Effect.RESTART,
        lambda s, _: s.setdefault("config", {}).update({"indices.b": 2}),
        whole=True,
    ),
    Kind("a variable of {}", Effect.RECREATE, lambda _, p: p.update(podTemplate=ENVIRONMENT)),
    Kind("the version", Effect.RECREATE, lambda s, _: s.update(version="2.18.0"), whole=True),
    Kind("a larger volume for {}", Effect.NONE, lambda _, p: p["storage"].update(size="7Gi")),
    Kind("a smaller volume for {}", Effect.REPLACE, lambda _, p: p["storage"].update(size="512Mi")),
    Kind("another storage class for {}", Effect.REPLACE, lambda _, p: p["storage"].update(storageClass="fast")),
    Kind(
        "the same storage class for {}, by name", Effect.NONE, lambda _, p: p["storage"].update(storageClass="standard")
    ),
    Kind("one member more in {}", Effect.NONE, lambda _, p: p.update(replicas=p["replicas"] + 1)),
    Kind("another budget", Effect.NONE, lambda s, _: s.setdefault("update", {}).update(maxUnavailable=2)),
    Kind("volumes that go with their members", Effect.NONE, lambda s, _: s.update(volumes={"whenScaled": "Delete"})),
    Kind("a pool more", Effect.NONE, lambda s, _: s["pools"].append(pool("extra", 1, ["ingest"]))),
)


@dataclass(frozen=True)
class DrawnScenario:
    """One scenario: the cluster, the concurrent edits, and the step after which the operator is killed."""

    managers: int
    hot: int
    gateway: bool
    agents: bool
    edits: tuple[tuple[Kind, str], ...]
    dies_after: int

    def __repr__(self) -> str:
        """Return one clause."""
        pools = f"{self.managers} managers, {self.hot} hot" + (", 1 gateway" if self.gateway else "")
        said = ", ".join(kind.words.format(where) for kind, where in self.edits)
        dies = f"; the operator dies after step {self.dies_after}" if self.dies_after else ""
        return f"a cluster of {pools}, {'with' if self.agents else 'without'} agents, is given {said}{dies}"

    def pools(self) -> list[Json]:
        """Return the pools to begin with."""
        return [managers(self.managers), hot(self.hot), *([pool("gateway", 1, [])] if self.gateway else [])]

    def after(self) -> Json:
        """Return the edited spec."""
        spec: Json = {"pools": self.pools()}
        for kind, where in self.edits:
            kind.change(spec, next(p for p in spec["pools"] if p["name"] == where))
        return spec

    def most(self, name: str) -> Effect:
        """Return the most that may happen to members of a pool."""
        hit = (kind.effect for kind, where in self.edits if kind.whole or where == name)
        most = max(hit, default=Effect.NONE)
        return Effect.RECREATE if most is Effect.RESTART and not self.agents else most


@st.composite
def drawn_scenarios(draw: st.DrawFn) -> DrawnScenario:
    """Draw a scenario; the simplest is one edit of a small cluster without agents."""
    gateway = draw(st.booleans())
    pools = ["hot", "managers", *(["gateway"] if gateway else [])]
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True))
    return DrawnScenario(
        managers=draw(st.sampled_from([1, 3])),
        hot=draw(st.integers(2, 3)),
        gateway=gateway,
        agents=draw(st.booleans()),
        edits=tuple((kind, draw(st.sampled_from(pools))) for kind in kinds),
        dies_after=draw(st.integers(0, 40)),
    )


@dataclass(frozen=True)
class Picture:
    """By member: its pool, and the identities of its volume, pod and process."""

    pools: dict[str, str]
    claims: dict[str, str]
    pods: dict[str, str]
    processes: dict[str, int]


def picture(scenario: Scenario) -> Picture:
    """Return the current state of a scenario."""
    nodes = scenario.nodes()
    return Picture(
        pools={node.name: node.name.split("-")[1] for node in nodes},
        claims={name.removeprefix("data-"): uid for name, uid in scenario.uids(CLAIMS).items()},
        pods={name.removesuffix("-0"): uid for name, uid in scenario.uids(PODS).items()},
        processes={node.name: id(node) for node in nodes},
    )


def happened(before: Picture, after: Picture) -> Iterable[tuple[str, Effect]]:
    """Yield what has happened to each member that was there before."""
    for name in sorted(before.pools):
        changed = [
            (Effect.REPLACE, before.claims.get(name) != after.claims.get(name) or name not in after.pods),
            (Effect.RECREATE, before.pods[name] != after.pods.get(name)),
            (Effect.RESTART, before.processes[name] != after.processes.get(name)),
        ]
        yield name, next((effect for effect, yes in changed if yes), Effect.NONE)
