"""Random packages: versions with tasks of every kind, random plans, and workloads that use random data."""

from collections.abc import Sequence
from random import Random
from typing import Any

from stateward.operator.restarts.views import ANNOTATION_CONTROL
from stateward.packages.format.reading import read_package
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.review.checks import check_package

__all__ = ["FILE", "INNER", "KINDS", "PARAMETERS", "Family", "inner_package"]

PARAMETERS = ("A", "B", "C", "D")
"""Those that templates use anywhere; `T` makes the object of the task Toggle, and `N` is the size of workloads."""
KINDS = dict.fromkeys(("c0", "c1", "c2", "g0", "b0"), "ConfigMap") | {
    "s0": "Secret",
    "v0": "Service",
    "p0": "PersistentVolumeClaim",
    "u0": "SearchUser",
    "d0": "Deployment",
    "d1": "Deployment",
    "t0": "StatefulSet",
    "j0": "Job",
    "j1": "Job",
}
"""The objects of the packages, by their names."""
ALWAYS, BACKUP = ("c0", "d0"), ("b0", "j1")
CONDITIONAL = ("c1", "c2", "s0", "v0", "d1", "u0")
"""Objects that may depend on a parameter."""
FILE = "/d/f"
"""The file that a task Pipe keeps."""
INNER = "inner"
"""The package that a task KudoOperator installs."""
GROUPS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1", "SearchUser": "stateward.dev/v1alpha1"}
POD = f"""apiVersion: v1
kind: Pod
spec: {{initContainers: [{{name: i, image: x, volumeMounts: [{{name: d, mountPath: {FILE[:2]}}}]}}]}}
"""
INNER_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Name }}-in'}
data: {x: 'x{{ .Params.X }}', v: 'v%d'}
"""
CLAIMED = {"requests": {"storage": "1Gi"}}
HEAD = {"apiVersion": "kudo.dev/v1beta1"}


def inner_package(version: int) -> dict[str, bytes]:
    """Return the files of a version of the package that the others install."""
    tasks = [_task("a", "a")]
    head = HEAD | {
        "name": INNER,
        "operatorVersion": f"0.{version}.0",
        "tasks": tasks,
        "plans": {"deploy": _plan(["a"])},
    }
    parameters = HEAD | {"parameters": [{"name": "X", "default": "0"}]}
    texts = {
        "operator.yaml": to_yaml(head),
        "params.yaml": to_yaml(parameters),
        "templates/a.yaml": INNER_MAP % version,
    }
    return {path: text.encode() for path, text in texts.items()}


def _task(name: str, *resources: str, kind: str = "Apply", **spec: Any) -> dict[str, Any]:
    named = {"resources": [f"{resource}.yaml" for resource in resources]} if resources else {}
    return {"name": name, "kind": kind, "spec": {**spec, **named}}


def _plan(*steps: Sequence[str]) -> dict[str, Any]:
    made = [{"name": f"s{i}", "tasks": list(tasks)} for i, tasks in enumerate(steps)]
    return {"phases": [{"name": "p", "steps": made}]}


def _value(parameter: str) -> str:
    return f"v{{{{ .Params.{parameter} }}}}"


class Family:
    """The versions of one random package."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.version = 0
        self.triggers = {p: random.choice(["", "", "tune", "tone", "update", "deploy"]) for p in PARAMETERS}
        self.immutable = "D" if random.random() < 0.3 else ""
        self.types = dict.fromkeys(PARAMETERS, "string") | {"D": random.choice(["string", "integer"])}

    def next(self) -> tuple[str, dict[str, bytes]]:
        """Return the name and the files of the next version that is valid."""
        while True:
            self.version += 1
            if self.version > 1 and self.random.random() < 0.5:
                self.triggers[self.random.choice(PARAMETERS)] = self.random.choice(["", "tune", "update"])
            files = {path: text.encode() for path, text in Draft(self).files().items()}
            if all(p.severity.value != "error" for p in check_package(read_package(files), unused=False)):
                return f"made-{self.version}", files

    def values(self) -> dict[str, Any]:
        """Return random values of the parameters that may change."""
        random, drawn = self.random, dict[str, Any]()
        for p in PARAMETERS:
            if p != self.immutable and random.random() < 0.5:
                drawn[p] = random.choice([1, 2, "3"] if self.types[p] == "integer" else ["0", "1", "2", 1])
        drawn |= {"T": random.choice([True, False, "true", "false"])} if random.random() < 0.4 else {}
        return drawn | ({"N": random.choice([1, 2, 3, "3"])} if random.random() < 0.4 else {})


class Draft:
    """One version while it is drawn."""

    def __init__(self, family: Family) -> None:
        self.family, self.random = family, family.random
        self.names = [n for n in KINDS if n not in BACKUP and (n in ALWAYS or self.chance(0.7))]
        self.uses: dict[str, set[str]] = {}
        self.texts = {n: self.template(n) for n in (*self.names, *BACKUP)}
        self.tasks = {n: _task(n, n) for n in (*self.names, *BACKUP)}
        if "g0" in self.tasks:
            self.tasks["g0"] = _task("g0", "g0", kind="Toggle", parameter="T")
        self.tasks |= {"del": _task("del", *BACKUP, kind="Delete"), "stop": _task("stop", "d0", kind="Delete")}
        self.rarer_tasks()
        self.plans = self.random_plans()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def drawn(self, probability: float) -> list[str]:
        return [p for p in PARAMETERS if self.chance(probability)]

    def numbered(self) -> int:
        """Return a number that differs between some versions."""
        return self.family.version if self.chance(0.3) else 0

    def rarer_tasks(self) -> None:
        """Add a pipe, an installation of another package, and a step that deletes what an earlier version had."""
        if self.chance(0.3):
            pipe = [{"file": FILE, "kind": self.random.choice(["ConfigMap", "Secret"]), "key": "made"}]
            self.tasks["pp"] = _task("pp", kind="Pipe", pod="pod.yaml", pipe=pipe)
            self.texts["pod"] = POD
            self.names.append("pp")
        if self.chance(0.3):
            self.tasks["op"] = _task("op", kind="KudoOperator", package=INNER, parameterFile="inner.yaml")
            self.texts["inner"] = "X: '{{ .Params.A }}'\n"
            self.uses["op"] = {"A"}
            self.names.append("op")
        gone = [n for n in KINDS if n not in (*self.names, *BACKUP, "p0")]
        if self.family.version > 1 and gone and self.chance(0.3):
            self.texts |= {n: self.template(n) for n in gone}
            self.tasks["old"] = _task("old", *gone, kind="Delete")

    def random_plans(self) -> dict[str, Any]:
        everything = [*self.names, *(["old"] if "old" in self.tasks else [])]
        plans = {"deploy": self.random_plan(everything)}
        plans |= {name: self.random_plan(everything) for name in ("update", "upgrade") if self.chance(0.5)}
        if self.chance(0.7):
            own = [n for n in self.names if n in KINDS]
            plans["cleanup"] = _plan(self.random.sample(own, 1) if self.chance(0.3) else ["j1"])
        backup = self.random.choice([["j1"], ["b0", "j1"], ["stop", "j1", "d0"], ["del"]])
        plans["backup"] = _plan(*([task] for task in backup))
        for name in ("tune", "tone"):
            mine = {p for p in PARAMETERS if self.family.triggers[p] == name}
            if mine:
                plans[name] = self.random_plan([n for n in self.names if mine & self.uses.get(n, set())] or ["c0"])
        return plans

    def random_plan(self, tasks: list[str]) -> dict[str, Any]:
        """Return a plan of these tasks in random order, phases and steps."""
        random, phases = self.random, list[Any]()
        for chunk in self.chunks(random.sample(tasks, len(tasks))):
            steps = [{"name": f"s{i}", "tasks": step} for i, step in enumerate(self.chunks(chunk))]
            strategy = random.choice(["serial", "parallel"])
            phases.append({"name": f"p{len(phases)}", "strategy": strategy, "steps": steps})
        return {"strategy": random.choice(["serial", "serial", "parallel"]), "phases": phases}

    def chunks(self, tasks: list[str]) -> list[list[str]]:
        made: list[list[str]] = []
        while tasks:
            n = self.random.randint(1, len(tasks))
            made, tasks = [*made, tasks[:n]], tasks[n:]
        return made

    def files(self) -> dict[str, str]:
        used = {
            t for plan in self.plans.values() for phase in plan["phases"] for s in phase["steps"] for t in s["tasks"]
        }
        tasks = [task for name, task in self.tasks.items() if name in used]
        head = {"name": "made", "operatorVersion": f"1.{self.family.version}.0", "tasks": tasks, "plans": self.plans}
        files = {
            "operator.yaml": to_yaml(HEAD | head),
            "params.yaml": to_yaml(HEAD | {"parameters": self.parameters()}),
        }
        return files | {f"templates/{name}.yaml": text for name, text in self.texts.items()}

    def parameters(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for p in PARAMETERS:
            kind, trigger = self.family.types[p], self.family.triggers[p]
            default = self.random.choice(["0", "0", "1"]) if self.family.version > 1 else "0"
            made.append({"name": p, "type": kind, "default": 1 if kind == "integer" else default})
            made[-1] |= {"trigger": trigger} if trigger in self.plans else {}
            made[-1] |= {"immutable": True} if p == self.family.immutable else {}
        toggle = {"name": "T", "type": "boolean", "default": self.random.choice([True, False])}
        return [*made, toggle, {"name": "N", "type": "integer", "default": 2}]

    def template(self, name: str) -> str:
        """Return the text of an object that uses random parameters, and remember which."""
        kind, used = KINDS[name], self.drawn(0.4)
        head: dict[str, Any] = {"name": name} | ({"namespace": "{{ .Namespace }}"} if self.chance(0.3) else {})
        self.uses[name] = set() if kind == "PersistentVolumeClaim" else set(used)
        if self.chance(0.3):
            label = self.random.choice(PARAMETERS)
            head["labels"] = {"of": _value(label)}
            self.uses[name].add(label)
        if kind in {"Deployment", "StatefulSet"} and self.chance(0.5):
            head["annotations"] = {ANNOTATION_CONTROL: "true"}
        body = {"apiVersion": GROUPS.get(kind, "v1"), "kind": kind, "metadata": head}
        text = to_yaml(body | self.content(name, kind, used)).replace("COUNT", "{{ .Params.N }}")
        return self.on_condition(name, self.optional_key(name, text))

    def optional_key(self, name: str, text: str) -> str:
        """Make the key `z` of the data depend on a parameter."""
        condition, line = self.random.choice(PARAMETERS), "  z: once\n"
        if line not in text or self.chance(0.5):
            return text
        self.uses[name].add(condition)
        return text.replace(line, f'{{{{ if ne .Params.{condition} "1" }}}}{line}{{{{ end }}}}')

    def on_condition(self, name: str, text: str) -> str:
        """Make the whole object depend on a parameter."""
        if name not in CONDITIONAL or self.chance(0.8):
            return text
        condition = self.random.choice(PARAMETERS)
        self.uses[name].add(condition)
        return f'{{{{ if ne .Params.{condition} "2" }}}}\n{text}{{{{ end }}}}\n'

    def content(self, name: str, kind: str, used: list[str]) -> dict[str, Any]:
        values = {p.lower(): _value(p) for p in used}
        plain: dict[str, dict[str, Any]] = {
            "ConfigMap": {"data": {**values, "k": str(self.numbered()), "z": "once"}},
            "Secret": {"stringData": {**values, "k": "0", "z": "once"}},
            "Service": {"spec": {"ports": [{"port": 80 + self.numbered()}], "selector": values}},
            "SearchUser": {"spec": {"cluster": {"name": "x"}, "description": f"d{''.join(values.values())}"}},
            "PersistentVolumeClaim": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": CLAIMED}},
        }
        if kind in plain:
            return plain[kind]
        container = {"name": "c", "image": f"x:{self.numbered()}", "args": list(values.values())}
        if kind == "Job":
            return {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}
        template = {"metadata": {"labels": {"app": name}}, "spec": self.pod(container)}
        spec = {"replicas": "COUNT", "selector": {"matchLabels": {"app": name}}, "template": template}
        return {"spec": spec | ({"serviceName": name} if kind == "StatefulSet" else {})}

    def pod(self, container: dict[str, Any]) -> dict[str, Any]:
        """Return a pod that uses random ConfigMaps and Secrets, each in a random way."""
        volumes: list[dict[str, Any]] = []
        for i, source in enumerate(
            n for n in self.names if KINDS.get(n) in {"ConfigMap", "Secret"} and self.chance(0.4)
        ):
            way, is_map = self.random.choice(["key", "all", "volume"]), KINDS[source] == "ConfigMap"
            named = {"name": source, "optional": True}
            if way == "key":
                key = {"configMapKeyRef" if is_map else "secretKeyRef": {**named, "key": self.random.choice("abcdkz")}}
                container.setdefault("env", []).append({"name": f"V{i}", "valueFrom": key})
            elif way == "all":
                every = {"configMapRef" if is_map else "secretRef": named, "prefix": f"P{i}_"}
                container.setdefault("envFrom", []).append(every)
            else:
                volume = {"configMap": {"name": source}} if is_map else {"secret": {"secretName": source}}
                volumes.append({"name": f"v{i}", **volume})
                container.setdefault("volumeMounts", []).append({"name": f"v{i}", "mountPath": f"/v{i}"})
        return {"containers": [container], **({"volumes": volumes} if volumes else {})}
