"""The promise of restart control, for random packages, edits and crashes, with the shipped controller.

Pods restart if, and only if, data that they use or their own template has changed; once for an edit, however many of
the things that they use it changes, and however often the operator dies. Where a package changes the template in one
step and the data in a later one, that is twice: what has started with the old data has to start again.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.kube.timing.virtual_time import VirtualTimeLoop
from stateward.packages.format.yamltext import to_yaml
from tests.unit.operator.installations.world import HOME, World

MAPS = ("one", "two")
KEYS = ("a", "b")
WAYS = ("variable", "all variables", "volume", "item", "unused volume")


@dataclass(frozen=True)
class Usage:
    """How a workload uses a ConfigMap."""

    source: str
    key: str
    way: str

    @property
    def counts(self) -> frozenset[tuple[str, str]]:
        """The keys whose change restarts pods."""
        if self.way == "unused volume":
            return frozenset()
        whole = self.way in {"all variables", "volume"}
        return frozenset((self.source, key) for key in (KEYS if whole else (self.key,)))


@dataclass(frozen=True)
class Made:
    """A random package: what each workload uses, and whether its ConfigMaps come in a step before, with or after."""

    uses: Mapping[str, tuple[Usage, ...]]
    order: str
    version: int = 1

    def files(self) -> dict[str, bytes]:
        texts = {"operator.yaml": self._operator(), "params.yaml": _params()}
        texts |= {f"templates/{name}.yaml": _config(name) for name in MAPS}
        texts |= {f"templates/{name}.yaml": _workload(name, uses) for name, uses in self.uses.items()}
        return {path: text.encode() for path, text in texts.items()}

    def _operator(self) -> str:
        data = {"name": "data", "kind": "Apply", "spec": {"resources": [f"{name}.yaml" for name in MAPS]}}
        work = {"name": "work", "kind": "Apply", "spec": {"resources": [f"{name}.yaml" for name in self.uses]}}
        steps = {"with": [["work", "data"]], "before": [["data"], ["work"]], "after": [["work"], ["data"]]}[self.order]
        made = [{"name": f"s{i}", "tasks": tasks} for i, tasks in enumerate(steps)]
        plan = {"strategy": "serial", "phases": [{"name": "main", "strategy": "serial", "steps": made}]}
        head = {"apiVersion": "kudo.dev/v1beta1", "name": "made", "operatorVersion": f"1.{self.version}.0"}
        return to_yaml(head | {"tasks": [data, work], "plans": {"deploy": plan}})


def _params() -> str:
    names = [f"{source}_{key}" for source in MAPS for key in KEYS]
    parameters = [{"name": name, "default": "0"} for name in (*names, "args", "label")]
    return to_yaml({"apiVersion": "kudo.dev/v1beta1", "parameters": [*parameters, {"name": "count", "default": "1"}]})


def _config(name: str) -> str:
    data = "".join(f'  {key}: "{{{{ .Params.{name}_{key} }}}}"\n' for key in KEYS)
    labels = '{of: "{{ .Params.label }}"}'
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {labels}}}\ndata:\n{data}"


def _workload(name: str, uses: tuple[Usage, ...]) -> str:
    container: dict[str, Any] = {"name": "c", "image": "none:1", "args": ["ARGS"], "env": [], "envFrom": []}
    container["volumeMounts"], volumes = [], list[Any]()
    for i, use in enumerate(uses):
        if use.way == "variable":
            source = {"configMapKeyRef": {"name": use.source, "key": use.key}}
            container["env"].append({"name": f"V{i}", "valueFrom": source})
        elif use.way == "all variables":
            container["envFrom"].append({"configMapRef": {"name": use.source}, "prefix": f"P{i}_"})
        else:
            items = {"items": [{"key": use.key, "path": "file"}]} if use.way == "item" else {}
            volumes.append({"name": f"v{i}", "configMap": {"name": use.source, **items}})
            if use.way != "unused volume":
                container["volumeMounts"].append({"name": f"v{i}", "mountPath": f"/v{i}"})
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"of": "LABEL"}},
        "spec": {
            "replicas": "COUNT",
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container], "volumes": volumes},
            },
        },
    }
    text = to_yaml(body).replace("COUNT", "{{ .Params.count }}").replace("'{{ .Params.count }}'", "{{ .Params.count }}")
    return text.replace("ARGS", "x{{ .Params.args }}").replace("LABEL", "l{{ .Params.label }}")


USAGES = st.builds(Usage, st.sampled_from(MAPS), st.sampled_from(KEYS), st.sampled_from(WAYS))
PACKAGES = st.builds(
    Made,
    uses=st.fixed_dictionaries({name: st.lists(USAGES, max_size=3).map(tuple) for name in ("web", "worker")}),
    order=st.sampled_from(["before", "with", "after"]),
)
VALUE = st.sampled_from(["0", "1", "2"])
VALUES = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("one_a", "one_b", "two_a", "two_b", "args", "label"), VALUE)
    | {"count": st.sampled_from(["1", "3"])},
)
DEATHS = st.lists(st.integers(1, 12), max_size=3)


@dataclass(frozen=True)
class Edit:
    """New values, perhaps with a new version, while the operator dies after so many writes."""

    values: Mapping[str, str]
    newer: bool
    deaths: tuple[int, ...]


EDITS = st.lists(st.builds(Edit, VALUES, st.booleans(), DEATHS.map(tuple)), min_size=1, max_size=3)


def seen(values: Mapping[str, str], uses: tuple[Usage, ...]) -> tuple[Any, Any]:
    """Return what pods have of values: their template, and the data that they use."""
    counts = frozenset[tuple[str, str]]().union(*(use.counts for use in uses))
    return values.get("args", "0"), {pair: values.get("_".join(pair), "0") for pair in counts}


def played(story: Coroutine[Any, Any, None]) -> None:
    """Run a scenario in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story)


async def settled(world: World, deaths: tuple[int, ...]) -> None:
    """Have operators at work, one after the other where one dies, until the installation is as it should be."""
    for writes in deaths:
        way, left = world.way(), [writes]

        def wrote(_verb: str, kind: str, left: list[int] = left, way: Any = way) -> None:
            left[0] -= kind != "events.k8s.io/events"
            way.dead = left[0] <= 0

        way.write_done = wrote
        async with world.operator(world.client(way)):
            for _ in range(100):
                if way.dead or world.ready():
                    break
                await asyncio.sleep(0.3)
    async with world.operator():
        await world.until(world.ready)
        await asyncio.sleep(30.0)


@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(made=PACKAGES, first=VALUES, edits=EDITS)
def test_pods_restart_if_and_only_if_what_they_use_or_their_template_has_changed(
    made: Made, first: Mapping[str, str], edits: list[Edit]
) -> None:
    async def story() -> None:
        world, package, values = World(), made, first
        world.package("made-1", package.files())
        world.install("made-1", **values)
        await settled(world, ())
        assert world.rollouts == {}
        for edit in edits:
            before, values = values, edit.values
            if edit.newer:
                package = replace(package, version=package.version + 1)
                world.package(f"made-{package.version}", package.files())
            world.install(f"made-{package.version}", **values)
            world.rollouts.clear()
            await settled(world, edit.deaths)
            for name, uses in made.uses.items():
                changed = [old != new for old, new in zip(seen(before, uses), seen(values, uses), strict=True)]
                wanted = sum(changed) if made.order == "after" else int(any(changed))
                assert world.rollouts.get(name, 0) == wanted, (name, uses, before, values)
            assert world.there("ConfigMap", "one")["data"]["a"] == values.get("one_a", "0")

    assert HOME
    played(story())
