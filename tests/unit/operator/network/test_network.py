"""A NetworkPolicy for each cluster that has one: what it opens, and when it comes and goes."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.api.validation import errors, validate
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.events.event_record import Occurrence
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Forbidden, NotFound, Status, error_for
from stateward.kube.objects.metadata import Key
from stateward.operator.network.control import NetworkControl, Setting
from stateward.operator.network.policy import network_policy
from stateward.operator.network.refusal import refusals
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import ELASTICSEARCH
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock, run_virtual

SIDECAR = {"spec": {"containers": [{"name": "exporter", "ports": [{"containerPort": 9114}, {"containerPort": 9443}]}]}}
POOL = {"name": "hot", "replicas": 3, "roles": ["master", "data"]}
STORAGE = [{"name": name, "replicas": 3, "processClass": name, "processesPerMember": 2} for name in ("storage", "log")]
WEB = {"podSelector": {"matchLabels": {"app": "web"}}}
KEY = Key("data", "logs-members")


def cluster(kind: str = "ElasticsearchCluster", uid: str = "u1", **spec: Any) -> Cluster:
    pools = STORAGE if kind == "FoundationDBCluster" else [POOL]
    version = "7.1.67" if kind == "FoundationDBCluster" else "8.17.0"
    meta = {"name": "logs", "namespace": "data", "uid": uid}
    body = {"version": version, "pools": pools, **spec}
    return convert_cluster({"apiVersion": "stateward.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": body})


def opened(policy: Json) -> list[tuple[str, list[int]]]:
    """Return for each rule who it is for, and the first of each range of ports."""

    def whom(rule: Json) -> str:
        if "from" not in rule:
            return "all"
        (peer,) = rule["from"]
        labels = peer["podSelector"]["matchLabels"]
        if "namespaceSelector" in peer:
            return str(peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"])
        return "members" if names.LABEL_CLUSTER in labels else str(labels["app"])

    return [(whom(rule), [port["port"] for port in rule["ports"]]) for rule in policy["spec"]["ingress"]]


def test_agents_are_open_to_the_operator_and_ports_between_members_to_members() -> None:
    made = network_policy(cluster(), "elasticsearch", "system")
    assert opened(made) == [("members", [9300]), ("system", [9443, 9200]), ("all", [9200])]
    selected = made["spec"]["podSelector"]["matchLabels"]
    assert selected == {names.LABEL_CLUSTER: "logs", names.LABEL_ENGINE: "elasticsearch"}
    assert made["spec"]["policyTypes"] == ["Ingress"]


def test_clients_are_those_that_the_spec_names() -> None:
    named = network_policy(cluster(networkPolicy={"clients": [WEB]}), "elasticsearch", "system")
    assert opened(named)[2:] == [("web", [9200])]
    nobody = network_policy(cluster(networkPolicy={"clients": []}), "elasticsearch", "system")
    assert opened(nobody) == [("members", [9300]), ("system", [9443, 9200])]


def test_peers_reach_the_policy_as_they_were_written() -> None:
    peers = [
        {
            "podSelector": {},
            "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        },
        {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}},
    ]
    made = network_policy(cluster(networkPolicy={"clients": peers}), "elasticsearch", "system")
    assert made["spec"]["ingress"][2]["from"] == peers


def test_ports_of_containers_beside_the_database_are_for_clients_and_no_spec_opens_the_agents() -> None:
    made = network_policy(cluster(podTemplate=SIDECAR), "elasticsearch", "system")
    assert opened(made)[2] == ("all", [9200, 9114])
    hostile = {
        "spec": {"containers": [{"name": "a", "ports": [{"containerPort": "x"}, 5, {"containerPort": 9300}]}, 7]}
    }
    assert opened(network_policy(cluster(podTemplate=hostile), "elasticsearch", "system"))[2] == ("all", [9200])


def test_members_of_exactly_the_clusters_that_may_search_reach_the_port_between_members() -> None:
    guests = {"from": [{"name": "events", "namespace": "team-b"}, {"name": "shop"}, {"name": "logs"}]}
    rules = network_policy(cluster(remoteAccess=guests), "elasticsearch", "system")["spec"]["ingress"]
    (rule,) = [each for each in rules if len(each.get("from", ())) == 2]
    assert rule["ports"] == [{"protocol": "TCP", "port": 9300}]
    peers = [
        (
            each["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"],
            each["podSelector"]["matchLabels"][names.LABEL_CLUSTER],
            each["podSelector"]["matchLabels"][names.LABEL_ENGINE],
        )
        for each in rule["from"]
    ]
    assert peers == [("data", "shop", "elasticsearch"), ("team-b", "events", "elasticsearch")]
    asked = cluster(remoteClusters=[{"name": "east", "cluster": {"name": "events"}}])
    assert network_policy(asked, "elasticsearch", "system") == network_policy(cluster(), "elasticsearch", "system")


def test_processes_of_foundationdb_talk_to_each_other_and_to_clients_on_the_same_ports() -> None:
    asked = cluster("FoundationDBCluster", networkPolicy={"clients": [WEB]})
    made = network_policy(asked, "foundationdb", "system")
    assert opened(made) == [("members", [4500]), ("system", [9443]), ("web", [4500])]
    assert made["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": 4500, "endPort": 4515}]


@pytest.mark.parametrize(
    ("peer", "path", "accepted"),
    [
        ({}, "clients[0]", "podSelector, namespaceSelector or ipBlock"),
        ({**WEB, "ipBlock": {"cidr": "10.0.0.0/8"}}, "clients[0].ipBlock", "together"),
        ({"ipBlock": {"cidr": "10.0.0.1/8"}}, "ipBlock.cidr", "host bits"),
        ({"ipBlock": {"cidr": "10.0.0.1"}}, "ipBlock.cidr", "for example"),
        ({"ipBlock": {"cidr": "10.1.0.0/255.255.0.0"}}, "ipBlock.cidr", "for example"),
        ({"ipBlock": {"cidr": "fe80::%1/64"}}, "ipBlock.cidr", "for example"),
        ({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}, "except[0]", "part of 10.0.0.0/8"),
        ({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["fd00::/64"]}}, "except[0]", "part of 10.0.0.0/8"),
        ({"podSelector": {"matchLabels": {"a b": "c"}}}, "podSelector.matchLabels", "key of a label"),
        ({"podSelector": {"matchLabels": {"a": "c d"}}}, "matchLabels[a]", "value of a label"),
        ({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "[0].values", "one or more"),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            "[0].values",
            "left out",
        ),
    ],
)
def test_what_the_api_server_would_refuse_is_refused_with_its_field(peer: Json, path: str, accepted: str) -> None:
    (problem,) = errors(validate(cluster(networkPolicy={"clients": [peer]})))
    assert path in problem.path
    assert accepted in problem.message


class Place:
    """An API server in memory with one cluster or none, and the control of an operator that has just started."""

    def __init__(self) -> None:
        self.clock = clock = WorldClock(asyncio.get_running_loop())
        store = Store(clock.monotonic, clock.now)
        self.api = WorldApi(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
        self.caches, self.told, self.known = Caches(ELASTICSEARCH), list[str](), list[Cluster]()

        def known(_: Key) -> Cluster | None:
            return next(iter(self.known), None)

        self.caches.clusters = cast("Any", SimpleNamespace(all=lambda: self.known, get=known, has_synced=True))

    async def begin(self, **spec: Any) -> "Place":
        """Make the namespace and the cluster."""
        await self.api.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
        body = {"metadata": {"name": "logs"}, "spec": {"version": "8.17.0", "pools": [POOL], **spec}}
        self.known = [await self.api.create(ELASTICSEARCH.resource, body, namespace="data")]
        return self

    async def edit(self, spec: Json) -> None:
        """Change the cluster on the server and in the cache."""
        key = Key("data", "logs")
        self.known = [await self.api.patch(ELASTICSEARCH.resource, key, {"spec": spec}, kind=PatchKind.MERGE)]

    def control(self, *, everywhere: bool = True) -> NetworkControl:
        def record(happened: Occurrence) -> None:
            self.told.append(happened.note)

        recorder = cast("Any", SimpleNamespace(record=record))
        return NetworkControl(Setting(self.api, recorder, self.clock, "system", [self.caches], everywhere=everywhere))

    async def policy(self) -> Json | None:
        try:
            return await self.api.get(kinds.NETWORK_POLICIES.raw(), KEY)
        except NotFound:
            return None

    async def swept(self) -> tuple[NetworkControl, Json]:
        """Begin, sweep once, and return the control and the policy that it has made."""
        await self.begin()
        control = self.control()
        await control.sweep()
        made = await self.policy()
        assert made is not None
        return control, made


def live(story: Callable[[Place], Awaitable[None]]) -> None:
    async def play() -> None:
        await story(Place())

    run_virtual(play())


def test_it_follows_the_spec_and_goes_when_the_operator_makes_none_any_more() -> None:
    async def story(place: Place) -> None:
        control, made = await place.swept()
        assert opened(made)[2] == ("all", [9200])
        await control.sweep()
        assert await place.policy() == made
        await place.edit({"networkPolicy": {"clients": [WEB]}})
        await control.sweep()
        changed = await place.policy()
        assert changed is not None
        assert opened(changed)[2] == ("web", [9200])
        await place.control(everywhere=False).sweep()
        assert await place.policy() is None

    live(story)


def test_what_a_user_has_changed_is_made_so_again() -> None:
    async def story(place: Place) -> None:
        await place.begin()
        control = place.control()
        await control.sweep()
        made = await place.policy()
        await place.api.patch(kinds.NETWORK_POLICIES, KEY, {"spec": {"ingress": [{}]}}, kind=PatchKind.MERGE)
        await control.sweep()
        healed = await place.policy()
        assert made is not None
        assert healed is not None
        assert healed["spec"] == made["spec"]

    live(story)


def test_a_policy_of_another_user_is_not_taken_and_the_cluster_reports_it_once() -> None:
    async def story(place: Place) -> None:
        await place.begin()
        other = {"metadata": {"name": KEY.name}, "spec": {"podSelector": {}}}
        await place.api.create(kinds.NETWORK_POLICIES, other, namespace=KEY.namespace)
        control = place.control()
        for _ in range(2):
            await control.sweep()
        found = await place.policy()
        assert found is not None
        assert found["spec"] == {"podSelector": {}}
        assert place.told == ["a NetworkPolicy logs-members exists that does not belong to this cluster"]

    live(story)


def test_a_spec_that_is_refused_neither_opens_nor_closes_anything() -> None:
    async def story(place: Place) -> None:
        await place.begin()
        control = place.control()
        await control.sweep()
        made = await place.policy()
        await place.edit({"networkPolicy": {"clients": [{"ipBlock": {"cidr": "everything"}}]}})
        await control.sweep()
        await place.control().sweep()
        assert await place.policy() == made

    live(story)


def test_a_policy_goes_only_by_what_the_api_server_says_of_its_cluster() -> None:
    async def story(place: Place) -> None:
        await place.begin()
        await place.control().sweep()
        place.known = []
        await place.control(everywhere=False).sweep()
        assert await place.policy() is not None, "its cluster is not known here"

    live(story)


def test_policies_of_others_with_the_labels_of_a_cluster_cost_no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disaster: a tenant labels thousands of its policies, and those of other tenants are made minutes later."""

    async def story(place: Place) -> None:
        control, made = await place.swept()
        labels, owners = made["metadata"]["labels"], made["metadata"]["ownerReferences"]
        for number in range(20):
            gone = number % 2 == 0
            meta = {"name": f"a-{number}", "labels": labels, "finalizers": ["example.dev/stays"] if gone else []}
            meta |= {"ownerReferences": owners} if gone else {}
            await place.api.create(kinds.NETWORK_POLICIES, {**made, "metadata": meta}, namespace=KEY.namespace)
        await control.sweep()  # Those of the cluster are deleted, and stay for their finalizers.
        asked = list[Key]()
        get = place.api.get

        async def counted(kind: Any, key: Key) -> Any:
            asked.append(key)
            return await get(kind, key)

        monkeypatch.setattr(place.api, "get", counted)
        await control.sweep()
        assert asked == []
        monkeypatch.undo()
        assert await place.policy() is not None

    live(story)


def test_one_policy_that_cannot_be_removed_keeps_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(place: Place) -> None:
        await place.begin()
        await place.control().sweep()
        made = await place.policy()
        assert made is not None
        for name in ("a-refused", "z-other"):
            meta = {key: made["metadata"][key] for key in ("labels", "ownerReferences")} | {"name": name}
            await place.api.create(kinds.NETWORK_POLICIES, {**made, "metadata": meta}, namespace=KEY.namespace)
        delete = place.api.delete

        async def refusing(kind: Any, key: Key, options: Any) -> Any:
            if key.name == "a-refused":
                raise error_for(Status(kind="Status", code=403, message="a webhook says no"))
            return await delete(kind, key, options)

        monkeypatch.setattr(place.api, "delete", refusing)
        with pytest.raises(Forbidden):
            await place.control(everywhere=False).sweep()
        assert await place.policy() is None
        with pytest.raises(NotFound):
            await place.api.get(kinds.NETWORK_POLICIES, Key(KEY.namespace, "z-other"))

    live(story)


def test_what_was_said_of_a_cluster_is_said_again_of_one_that_was_made_again() -> None:
    async def story(place: Place) -> None:
        await place.begin()
        other = {"metadata": {"name": KEY.name}, "spec": {"podSelector": {}}}
        await place.api.create(kinds.NETWORK_POLICIES, other, namespace=KEY.namespace)
        control = place.control()
        await control.sweep()
        made, place.known = place.known, []
        await control.sweep()
        place.known = made
        await control.sweep()
        assert len(place.told) == 2

    live(story)


def test_an_operator_that_makes_no_policies_says_that_it_does_not_apply_the_field() -> None:
    asked = cluster(networkPolicy={"clients": []})
    (refusal,) = refusals(asked, everywhere=False)
    assert (refusal.subject, refusal.everything) == ("spec.networkPolicy", False)
    assert "--network-policies" in refusal.message
    assert not refusals(asked, everywhere=True)
    assert not refusals(cluster(), everywhere=False)
