"""The promise of accounts, for random packages, rights, edits and drift: nothing of a package is done as the operator.

The operator's own requests are recognized by their objects: the installations and packages of users,
its own key and events, whether the namespace goes, and metadata of what installations have made. None of that is chosen
by what a package renders.
"""

import asyncio
from copy import copy
from dataclasses import dataclass
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.operator.installations.execution.service_account import user
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.steps import LABEL_PART_OF
from tests.unit.operator.installations.execution.test_tasks import POD, package
from tests.unit.operator.installations.rights import HOME, Asked, Ruled, Rules
from tests.unit.operator.installations.test_properties import played
from tests.unit.operator.installations.world import PLURALS, World

TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
SECRET = {"name": "V", "valueFrom": {"secretKeyRef": {"name": "one", "key": "a"}}}
READING = {"metadata": TEMPLATE["metadata"], "spec": {"containers": [{"name": "c", "image": "x", "env": [SECRET]}]}}
SPECS: dict[str, dict[str, Any]] = {
    "Deployment": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": READING},
    "StatefulSet": {"serviceName": "one", "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE},
    "Job": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
    "Pod": TEMPLATE["spec"],
    "Service": {"ports": [{"port": 80}]},
    "Installation": {"package": "inner-1"},
}
KINDS = sorted(set(PLURALS) - {"PodDisruptionBudget"})
NAMES = ("one", "two")
ACCOUNTS = ("", "builder")


def manifest(kind: str, name: str, namespace: str, account: str) -> str:
    group, version, _, namespaced = PLURALS[kind]
    head = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}
    spec: dict[str, Any] = {"spec": SPECS[kind]} if kind in SPECS else {}
    if kind == "Installation" and account:
        spec = {"spec": {**spec["spec"], "serviceAccountName": account}}
    where = {"namespace": namespace} if namespace and namespaced else {}
    return to_yaml({**head, "metadata": {"name": name, **where}, **spec})


LAST = manifest("ConfigMap", "last", "", "")
OBJECTS = st.builds(
    manifest,
    st.sampled_from(KINDS),
    st.sampled_from(NAMES),
    st.sampled_from(["", HOME, "x"]),
    st.sampled_from(ACCOUNTS),
)


@dataclass(frozen=True)
class Drawn:
    """A random package: what it applies, deletes, and whether a pod makes files and another package is installed."""

    applied: tuple[str, ...]
    deleted: tuple[str, ...]
    pipe: bool
    nested: bool

    def files(self, version: int) -> dict[str, bytes]:
        texts = {f"a{i}": text for i, text in enumerate(self.applied)}
        texts |= {f"d{i}": text for i, text in enumerate(self.deleted)} | {"pod": POD, "last": LAST}
        tasks: list[Any] = [
            {"name": n, "kind": "Apply", "spec": {"resources": [f"{n}.yaml"]}} for n in texts if n[0] == "a"
        ]
        tasks += [{"name": n, "kind": "Delete", "spec": {"resources": [f"{n}.yaml"]}} for n in texts if n[0] == "d"]
        pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/a", "kind": "Secret", "key": "made"}]}
        tasks += [{"name": "pipe", "kind": "Pipe", "spec": pipe}] * self.pipe
        tasks += [{"name": "nest", "kind": "KudoOperator", "spec": {"package": "inner"}}] * self.nested
        tasks += [{"name": "last", "kind": "Apply", "spec": {"resources": ["last.yaml"]}}]
        steps = [task["name"] for task in tasks]
        return package(tasks, {"deploy": steps, "backup": steps, "cleanup": ["last"]}, f"{version}.0.0", **texts)


PACKAGES = st.builds(
    Drawn,
    st.lists(OBJECTS, max_size=4).map(tuple),
    st.lists(OBJECTS, max_size=2).map(tuple),
    st.booleans(),
    st.booleans(),
)
REFUSED = st.frozensets(
    st.tuples(st.sampled_from(["get", "list", "apply", "delete"]), st.sampled_from(KINDS)), max_size=2
)


def own(asked: Asked) -> bool:
    """Return whether a request is one that the operator makes for itself, whatever packages render."""
    match asked.plural:
        case "swinstallations":
            return asked.verb in {"get", "list", "watch", "patch"}
        case "swpackages" | "swclusterpackages":
            return asked.verb in {"get", "list", "watch"}
        case "events":
            return True
        case "secrets" if asked.namespace == "stateward":
            return asked.verb in {"get", "create"}
        case "namespaces" if asked.verb == "get":
            return asked.name == HOME
        case _:
            return asked.verb in {"list", "watch"} and asked.partial and asked.labels == LABEL_PART_OF


@settings(max_examples=25, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(first=PACKAGES, second=PACKAGES, account=st.sampled_from(ACCOUNTS), adopt=st.booleans(), refused=REFUSED)
def test_whatever_a_package_renders_every_request_for_it_is_made_as_its_account(
    first: Drawn, second: Drawn, account: str, *, adopt: bool, refused: frozenset[tuple[str, str]]
) -> None:
    async def story() -> None:
        world, rules = World(), Rules()
        no = {(verb, PLURALS[kind][2]) for verb, kind in refused}
        rules.denies = lambda asked: bool(asked.user) and (asked.verb, asked.plural) in no
        world.written["/d/a"] = b"x"
        tasks = [{"name": "a", "kind": "Apply", "spec": {"resources": ["a.yaml"]}}]
        inner = package(tasks, {"deploy": ["a"]}, a=manifest("ConfigMap", "inner", "", ""))
        inner["operator.yaml"] = inner["operator.yaml"].replace(b"name: other", b"name: inner")
        world.package("inner-1", inner)
        foreign = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "data": {"a": "eA=="}}
        world.server.create("/secrets", HOME, foreign)
        world.package("made-1", first.files(1))
        world.package("made-2", second.files(2))
        spec = {"serviceAccountName": account, "adopt": adopt}
        world.install("made-1", spec=spec)
        async with world.operator(Ruled(copy(world.api), rules)):
            await asyncio.sleep(30.0)
            world.annotate(ANNOTATION_TRIGGER, "backup/1")
            for stored in list(world.store.everything()):
                if stored.kind in {"/configmaps", "/services"}:
                    world.store.remove(stored)
            await asyncio.sleep(30.0)
            world.install("made-2", spec=spec)
            await asyncio.sleep(30.0)
            world.uninstall()
            await asyncio.sleep(60.0)
        as_itself = [asked for asked in rules.asked if not asked.user]
        assert [asked for asked in as_itself if not own(asked)] == []
        assert {asked.user for asked in rules.nested_installation()} <= {
            user(HOME, name or "default") for name in ACCOUNTS
        }
        assert any(asked.verb == "list" for asked in rules.nested_installation())

    played(story())
