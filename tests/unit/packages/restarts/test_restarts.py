"""Pods restart if, and only if, data that they use or their own template has changed."""

import base64
import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stateward.packages.restarts.dependencies import Dependency, dependencies
from stateward.packages.restarts.digests import ANNOTATION_SKIP, MOST_KEYS, Key, RootKey, data_of, digests_of
from stateward.packages.restarts.restarts import (
    ANNOTATION_BECAUSE,
    ANNOTATION_DIGEST,
    ANNOTATION_RECORD,
    Verdict,
    annotated,
    judge,
)

KEY = Key(b"k" * 32)
Body = dict[str, Any]


def deployment(**spec: Any) -> Body:
    pod = {"containers": [{"name": "c", "image": "i", **spec}]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1, "template": {"spec": pod}}}


WHOLE = deployment(envFrom=[{"configMapRef": {"name": "a"}}])
ONE = deployment(env=[{"valueFrom": {"configMapKeyRef": {"name": "a", "key": "x"}}}])


def config(**data: str) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def skip(body: Body, value: str) -> Body:
    return {**body, "metadata": {**body["metadata"], "annotations": {ANNOTATION_SKIP: value}}}


class Cluster:
    """A workload and the objects that may be there, under restart control."""

    def __init__(self, workload: Body, *objects: Body, key: Key = KEY) -> None:
        self.workload = copy.deepcopy(workload)
        self.objects = {(body["kind"], body["metadata"]["name"]): body for body in objects}
        self.key = key
        self.control()

    def control(self, *, new: bool = False) -> Verdict:
        used = dependencies(self.workload)
        found = digests_of(used, self.objects, self.key)
        verdict = judge(None if new else self.workload, used, found, self.key)
        self.workload = annotated(self.workload, verdict)
        return verdict

    def put(self, body: Body) -> tuple[str, ...]:
        self.objects[body["kind"], body["metadata"]["name"]] = body
        return self.control().because

    def remove(self) -> tuple[str, ...]:
        self.objects.clear()
        return self.control().because

    @property
    def template(self) -> Any:
        return copy.deepcopy(self.workload["spec"]["template"])


def test_changed_data_restarts_and_the_key_is_named() -> None:
    cluster = Cluster(WHOLE, config(x="1", y="1"))
    before = cluster.template
    assert cluster.put(config(x="2", y="1")) == ("ConfigMap/a:x",)
    assert cluster.template != before
    assert cluster.workload["metadata"]["annotations"][ANNOTATION_BECAUSE] == "ConfigMap/a:x"
    again = cluster.template
    assert cluster.control().because == ()
    assert cluster.template == again


def test_a_key_that_is_gained_or_lost_is_a_change_of_the_whole() -> None:
    cluster = Cluster(WHOLE, config(x="1"))
    assert cluster.put(config(x="1", y="1")) == ("ConfigMap/a:y",)
    assert cluster.put(config(y="1")) == ("ConfigMap/a:x",)
    assert cluster.put(config()) == ("ConfigMap/a:y",)


def test_a_key_that_is_not_used_restarts_nothing() -> None:
    cluster = Cluster(ONE, config(x="1"))
    assert cluster.put(config(x="1", y="2")) == ()
    assert cluster.put(config(x="2", y="2")) == ("ConfigMap/a:x",)


def test_pods_that_started_with_other_data_than_the_last_restart_was_for_restart_for_that_data() -> None:
    """The digest in the template was made of the data that comes back, but pods have seen other data since."""
    cluster = Cluster(ONE, config(x="1"), config(x="1") | {"metadata": {"name": "b"}})
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)
    for name in ("b", "a"):  # Each edit of the template starts the pods again, without a new digest.
        cluster.workload["spec"]["template"]["spec"]["containers"][0]["env"][0]["valueFrom"]["configMapKeyRef"] |= {
            "name": name
        }
        assert cluster.put(config(x="3")) == ()
    before = cluster.template
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)
    assert cluster.template != before
    again = cluster.template
    assert cluster.control().because == ()
    assert cluster.template == again


@pytest.mark.parametrize("skipped", ["true", "x"])
def test_pods_restart_for_data_that_was_out_of_account_when_they_started(skipped: str) -> None:
    cluster = Cluster(WHOLE, config(x="1"))
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)
    assert cluster.put(skip(config(x="3"), skipped)) == ()
    assert cluster.put(config(x="3")) == ()
    before = cluster.template
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)
    assert cluster.template != before


@pytest.mark.parametrize("workload", [WHOLE, ONE])
def test_what_appears_disappears_or_comes_back_as_it_was_restarts_nothing(workload: Body) -> None:
    cluster = Cluster(workload)
    before = cluster.template
    assert cluster.put(config(x="1")) == ()
    assert cluster.remove() == ()
    assert cluster.put(config(x="1")) == ()
    assert cluster.template == before
    cluster.remove()
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)


def test_a_key_that_comes_back_with_other_data_restarts() -> None:
    cluster = Cluster(ONE, config(x="1"))
    assert cluster.put(config()) == ()
    assert cluster.put(config(x="1")) == ()
    cluster.put(config())
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)


def test_labels_and_the_way_of_writing_are_no_data() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}
    plain = {**secret, "stringData": {"k": "v"}}
    stored = {**secret, "data": {"k": base64.b64encode(b"v").decode()}, "type": "Opaque"}
    assert data_of(plain) == data_of(stored) == {"k": b"v"}
    cluster = Cluster(deployment(envFrom=[{"secretRef": {"name": "b"}}]), plain)
    assert cluster.put({**stored, "metadata": {"name": "b", "labels": {"a": "b"}}}) == ()


def test_data_that_is_no_text_counts_like_any_other() -> None:
    def picture(content: bytes) -> Body:
        return {**config(x="1"), "binaryData": {"logo": base64.b64encode(content).decode()}}

    cluster = Cluster(WHOLE, picture(b"\x00\xff"))
    assert cluster.put(picture(b"\x00\xff")) == ()
    assert cluster.put(picture(b"\x00\xfe")) == ("ConfigMap/a:logo",)


def test_an_object_takes_itself_out_and_comes_back_without_a_restart() -> None:
    cluster = Cluster(WHOLE, config(x="1"))
    assert cluster.put(skip(config(x="2"), "true")) == ()
    assert cluster.put(skip(config(x="3", y="1"), "true")) == ()
    assert cluster.put(config(x="3", y="1")) == ()
    assert cluster.put(config(x="4", y="1")) == ("ConfigMap/a:x",)


def test_keys_that_are_taken_out_do_not_count_and_others_do() -> None:
    cluster = Cluster(WHOLE, skip(config(x="1", y="1"), "y, z"))
    assert cluster.put(skip(config(x="1", y="2", z="new"), "y, z")) == ()
    assert cluster.put(skip(config(x="1"), "y, z")) == ()
    assert cluster.put(skip(config(x="2"), "y, z")) == ("ConfigMap/a:x",)
    assert cluster.put(config(x="2")) == ()
    assert cluster.put(config(x="2", y="3")) == ("ConfigMap/a:y",)


def test_a_workload_that_comes_under_control_does_not_restart() -> None:
    cluster = Cluster(WHOLE, config(x="1"))
    assert cluster.template == WHOLE["spec"]["template"]
    assert ANNOTATION_RECORD in cluster.workload["metadata"]["annotations"]


def test_a_new_workload_begins_with_its_digest() -> None:
    used = dependencies(WHOLE)
    verdict = judge(None, used, digests_of(used, {("ConfigMap", "a"): config(x="1")}, KEY), KEY)
    assert verdict.digest
    assert not verdict.restarts


def test_another_key_or_a_record_that_cannot_be_read_restarts_nothing_and_is_recreated() -> None:
    cluster = Cluster(WHOLE, config(x="1"))
    cluster.key = Key(b"other")
    assert cluster.control().because == ()
    for broken in ("{", "[]", '{"format": "0"}', "[" * 100_000):
        cluster.workload["metadata"]["annotations"][ANNOTATION_RECORD] = broken
        assert cluster.control().because == ()
    assert cluster.put(config(x="2")) == ("ConfigMap/a:x",)


def test_no_data_is_written_anywhere() -> None:
    cluster = Cluster(WHOLE, config(x="a-very-secret-word"))
    cluster.put(config(x="another-secret-word"))
    assert "secret-word" not in str(cluster.workload)
    plain = digests_of({Dependency("ConfigMap", "a")}, cluster.objects, Key(b"1"))
    assert plain != digests_of({Dependency("ConfigMap", "a")}, cluster.objects, Key(b"2"))


def test_an_object_with_very_many_keys_fits_into_the_record() -> None:
    many = {f"key-{i}": "x" * 100 for i in range(MOST_KEYS * 20)}
    cluster = Cluster(WHOLE, config(**many))
    assert len(cluster.workload["metadata"]["annotations"][ANNOTATION_RECORD]) < 500
    assert cluster.put(config(**{**many, "key-7": "y"})) == ("ConfigMap/a:*",)


def test_taking_a_key_out_of_very_many_restarts_nothing_and_neither_does_taking_it_in_again() -> None:
    many = {f"key-{i}": "x" for i in range(MOST_KEYS * 2)}
    cluster = Cluster(WHOLE, config(**many))
    assert cluster.put(skip(config(**many), "key-7")) == ()
    assert cluster.put(skip(config(**{**many, "key-7": "y"}), "key-7")) == ()
    assert cluster.put(skip(config(**{**many, "key-8": "y"}), "key-7")) == ("ConfigMap/a:*",)
    assert cluster.put(config(**many)) == ()


@settings(deadline=None)
@given(a=st.lists(st.binary(max_size=3), max_size=3), b=st.lists(st.binary(max_size=3), max_size=3))
def test_parts_cannot_be_moved_from_one_to_the_next_unseen(a: list[bytes], b: list[bytes]) -> None:
    assert (KEY.digest(*a) == KEY.digest(*b)) == (a == b)


NAMES = st.sampled_from(["a", "b"])
KEYS = st.sampled_from(["x", "y"])
DATA = st.dictionaries(KEYS, st.sampled_from(["1", "2"]), max_size=2)


@st.composite
def containers(draw: st.DrawFn) -> Body:
    name, key = draw(NAMES), draw(KEYS)
    shapes: list[Body] = [
        {"envFrom": [{"configMapRef": {"name": name}}]},
        {"env": [{"valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}]},
        {},
    ]
    return {"image": draw(st.sampled_from(["1", "2"])), **draw(st.sampled_from(shapes))}


class Restarts(RuleBasedStateMachine):
    """Random edits; a simple model tracks the data of running pods, and so the required restarts."""

    @initialize(container=containers())
    def begin(self, container: Body) -> None:
        self.cluster = Cluster(deployment())
        self.cluster.workload["spec"]["template"]["spec"]["containers"] = [container]
        self.seen: dict[str, Any] = {}
        self.expected = False
        self.before = self.cluster.template
        self.step()

    def step(self) -> None:
        """Run the control, and derive from the model whether pods had to restart."""
        changed = False
        for dependency in dependencies(self.cluster.workload):
            body = self.cluster.objects.get((dependency.kind, dependency.name))
            name = f"{dependency.name}:{dependency.key}"
            data = None if body is None else body["data"]
            if data is not None and dependency.key:
                data = data.get(dependency.key)
            if data is not None:
                changed |= name in self.seen and self.seen[name] != data
                self.seen[name] = data
        wanted = {f"{d.name}:{d.key}" for d in dependencies(self.cluster.workload)}
        self.seen = {name: data for name, data in self.seen.items() if name in wanted}
        self.restarted = self.cluster.control().restarts
        self.expected = changed

    @rule(name=NAMES, data=DATA)
    def put(self, name: str, data: dict[str, str]) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}
        self.cluster.objects["ConfigMap", name] = body
        self.step()

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.cluster.objects.pop(("ConfigMap", name), None)
        self.step()

    @rule(replicas=st.integers(0, 5))
    def scale(self, replicas: int) -> None:
        self.cluster.workload["spec"]["replicas"] = replicas
        self.step()

    @rule()
    def restart_the_operator(self) -> None:
        self.step()

    @precondition(lambda self: self.cluster.objects)
    @rule(label=st.sampled_from(["1", "2"]))
    def relabel(self, label: str) -> None:
        for body in self.cluster.objects.values():
            body["metadata"]["labels"] = {"v": label}
        self.step()

    @rule(container=containers())
    def edit_the_template(self, container: Body) -> None:
        self.cluster.workload["spec"]["template"]["spec"]["containers"] = [container]
        self.before = self.cluster.template
        self.step()

    @invariant()
    def pods_restart_if_and_only_if_they_have_to(self) -> None:
        if not hasattr(self, "before"):
            return
        assert self.restarted == self.expected
        assert (self.cluster.template != self.before) == self.expected
        digest = self.cluster.template.get("metadata", {}).get("annotations", {}).get(ANNOTATION_DIGEST)
        assert digest or not self.expected
        self.before = self.cluster.template


TestRestarts = Restarts.TestCase
TestRestarts.settings = settings(
    max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_equal_data_has_other_digests_in_each_namespace_and_in_each_object() -> None:
    """Otherwise a tenant who guesses a value makes a Secret of it, and compares its digest with those of others."""
    root, data = RootKey(b"k" * 32), {"x": "hush"}
    two = deployment(envFrom=[{"configMapRef": {"name": name}} for name in ("a", "b")])
    many = {f"k{i}": "hush" for i in range(MOST_KEYS + 1)}
    for content in (data, many):
        objects = {("ConfigMap", name): {**config(**content), "metadata": {"name": name}} for name in ("a", "b")}
        made = [digests_of(dependencies(two), objects, root.of(namespace)) for namespace in ("prod", "test")]
        real = [digest for each in made for digest in each.values() if digest != "+"]
        assert len(set(real)) == len(real) == 4
    assert len({key.name for key in (root.of("prod"), root.of("test"), root.earlier)}) == 3
