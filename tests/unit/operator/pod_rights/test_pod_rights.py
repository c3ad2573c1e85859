"""Permitted pods: a forbidden template is refused by its field, and is never sent."""

import asyncio
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster
from stateward.api.pod_policy import Level, violations
from stateward.api.validation import errors, validate
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.connection.base import Target
from stateward.kube.client.client import PatchKind
from stateward.kube.election.fence import unfenced
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, Forbidden, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.act.act import Actor
from stateward.operator.admission.judge import judge
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.observe.desired_state import DesiredStates, desired_or_refused
from stateward.operator.pod_rights.finished import final_templates
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.pod_rights.policy import PodNotAllowed, problems
from stateward.planning.model import actions as a
from stateward.planning.model.observation import ProtocolSwitch, Refusal
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writes import Server
from stateward.simulation.timing.loop import WorldClock
from tests.support.fuzz import fuzzed

SEARCH: list[Json] = [
    {"name": "managers", "replicas": 3, "roles": ["cluster_manager"]},
    {"name": "hot", "replicas": 2, "roles": ["data"], "storage": {"ephemeral": True}},
]
ELASTIC: list[Json] = [{"name": "managers", "replicas": 3, "roles": ["master"]}, {"name": "hot", "replicas": 2}]
PROCESSES: list[Json] = [
    {"name": "storage", "processClass": "storage", "replicas": 3},
    {"name": "log", "processClass": "log", "replicas": 3},
    {"name": "rest", "processClass": "stateless", "replicas": 3},
]


def made(record: type[Cluster], version: str, pools: list[Json], status: Json | None = None, **spec: Any) -> Cluster:
    meta = {"name": "logs", "namespace": "data", "uid": "u"}
    whole = {"version": version, "pools": pools, **spec}
    body = {"kind": record.__name__, "metadata": meta, "spec": whole, "status": status or {}}
    return msgspec.convert(body, record)


def search(pools: list[Json] | None = None, **spec: Any) -> Cluster:
    return made(OpenSearchCluster, "2.19.5", pools or SEARCH, **spec)


def elastic(**spec: Any) -> Cluster:
    return made(ElasticsearchCluster, "8.19.4", ELASTIC, **spec)


def foundation(**spec: Any) -> Cluster:
    return made(FoundationDBCluster, "7.3.63", PROCESSES, {"version": "7.1.61"}, **spec)


def container(name: str = "opensearch", **fields: Any) -> Json:
    return {"spec": {"containers": [{"name": name, **fields}]}}


def refused(cluster: Cluster, level: Level = Level.BASELINE) -> list[str]:
    assert errors(validate(cluster)) == []
    return [problem.path for problem in problems(unconnected(kind_of(cluster)), cluster, level)]


@pytest.mark.parametrize(
    "cluster",
    [
        search(),
        search(security={"enabled": True}, secureSettings=[{"secretName": "s"}]),
        search(update={"inPlace": "Never"}),
        elastic(),
        elastic(security={"enabled": True}),
        elastic(security={"enabled": False}),
        foundation(),
        foundation(faultDomain="Node"),
        foundation(update={"inPlace": "Never"}),
    ],
)
def test_pods_that_nobody_has_changed_are_restricted(cluster: Cluster) -> None:
    assert refused(cluster, Level.RESTRICTED) == []


def test_the_way_to_another_version_is_looked_at_too() -> None:
    seen = {
        c["name"] for made in final_templates(unconnected(kind_of(foundation())), foundation()) for c in initial(made)
    }
    assert seen == {"stateward-agent", "stateward-beside"}


def initial(of: Any) -> list[Json]:
    return of.template["spec"]["initContainers"]


def test_a_field_is_named_where_the_spec_has_it() -> None:
    power = container(securityContext={"privileged": True})
    pools = [SEARCH[0], {**SEARCH[1], "podTemplate": power}]
    tail = "podTemplate.spec.containers[opensearch].securityContext.privileged"
    assert refused(search(pools)) == [f"spec.pools[1].{tail}"]
    assert refused(search(podTemplate=power)) == [f"spec.{tail}"]
    harmless = {**SEARCH[1], "podTemplate": container(env=[{"name": "A", "value": "1"}])}
    assert refused(search([SEARCH[0], harmless], podTemplate=power)) == [f"spec.{tail}"]
    found = problems(unconnected(kind_of(search())), search(podTemplate=power), Level.BASELINE)
    assert str(found[0]) == f"spec.{tail}: True: must be false, or left out (the pod policy is baseline)"


def test_what_a_template_takes_away_from_pods_is_named_as_well() -> None:
    bare = {"spec": {"securityContext": {"$patch": "replace"}}}
    assert refused(search(podTemplate=bare)) == []
    assert set(refused(search(podTemplate=bare), Level.RESTRICTED)) >= {
        "spec.podTemplate.spec.containers[opensearch].securityContext.runAsNonRoot",
        "spec.podTemplate.spec.containers[opensearch].securityContext.seccompProfile.type",
    }


def test_a_sidecar_has_to_be_restricted_itself() -> None:
    assert refused(search(podTemplate=container("side", image="side:1"))) == []
    assert set(refused(search(podTemplate=container("side", image="side:1")), Level.RESTRICTED)) == {
        "spec.podTemplate.spec.containers[side].securityContext.allowPrivilegeEscalation",
        "spec.podTemplate.spec.containers[side].securityContext.capabilities.drop",
    }


def test_a_cluster_whose_pods_are_refused_is_still_requested_with_all_its_pools() -> None:
    family = unconnected(kind_of(search()))
    bad = search(podTemplate={"spec": {"hostPID": True}})
    for desired in (
        desired_or_refused(family, bad, Level.BASELINE),
        DesiredStates(family, Level.BASELINE).desired(bad),
    ):
        assert [(r.subject, r.reason, r.everything) for r in desired.refusals] == [
            ("spec.podTemplate.spec.hostPID", "PodNotAllowed", True)
        ]
        assert [pool.name for pool in desired.pools] == ["managers", "hot"]
    assert desired_or_refused(family, bad, Level.PRIVILEGED).refusals == ()


def test_the_webhook_refuses_what_is_new_of_it_and_lets_a_repair_in() -> None:
    family = unconnected(kind_of(search()))
    bad = search(podTemplate={"spec": {"hostPID": True}})
    worse = search(podTemplate={"spec": {"hostPID": True, "hostIPC": True}})
    assert len(judge(family, bad, None, None, 0.0, Level.BASELINE).refused) == 1
    assert judge(family, bad, None, None, 0.0, Level.PRIVILEGED).refused == ()
    assert ["hostIPC" in text for text in judge(family, worse, bad, None, 0.0, Level.BASELINE).refused] == [True]
    assert judge(family, bad, worse, None, 0.0, Level.BASELINE).refused == ()
    assert judge(family, search(), worse, None, 0.0, Level.BASELINE).refused == ()


# Whatever is drawn

BITS: list[Json] = [
    {"hostPID": True},
    {"hostNetwork": True},
    {"securityContext": {"$patch": "replace"}},
    {"securityContext": None},
    {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}},
    {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    {"securityContext": {"sysctls": [{"name": "vm.max_map_count", "value": "262144"}]}},
    {"volumes": [{"name": "run", "hostPath": {"path": "/"}, "emptyDir": None}]},
    {"volumes": [{"name": "config", "$patch": "replace", "hostPath": {"path": "/"}}]},
    {"volumes": [{"$patch": "replace"}]},
    {"containers": [{"name": "opensearch", "securityContext": {"privileged": True}}]},
    {"containers": [{"name": "opensearch", "securityContext": None}]},
    {"containers": [{"name": "opensearch", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
    {"containers": [{"name": "opensearch", "$patch": "delete"}]},
    {"containers": [{"name": "opensearch", "ports": [{"containerPort": 9200, "hostPort": 9200}]}]},
    {"initContainers": [{"name": "stateward-agent", "securityContext": {"privileged": True}}]},
    {"initContainers": [{"name": "stateward-beside", "securityContext": {"privileged": True}}]},
    {"initContainers": [{"name": "sysctl", "securityContext": {"privileged": True, "runAsUser": 0}}]},
    {"ephemeralContainers": [{"name": "debug", "securityContext": {"procMount": "Unmasked"}}]},
    {"containers": [{"name": "side", "image": "s", "livenessProbe": {"httpGet": {"port": 1, "host": "1.1.1.1"}}}]},
    {"containers": [{"name": "side", "image": "s"}]},
    {"nodeSelector": {"disk": "fast"}},
    {"$patch": "replace", "hostIPC": True},
]
TEMPLATES = st.fixed_dictionaries({"spec": st.sampled_from(BITS)}) | st.fixed_dictionaries(
    {
        "spec": st.recursive(
            st.none() | st.booleans() | st.sampled_from(["privileged", "Unconfined", "hostPath", 0, 1]),
            lambda inside: (
                st.lists(inside, max_size=2)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "containers",
                            "initContainers",
                            "volumes",
                            "name",
                            "hostPath",
                            "hostPID",
                            "securityContext",
                            "privileged",
                            "capabilities",
                            "add",
                            "ports",
                            "hostPort",
                            "$patch",
                        ]
                    ),
                    inside,
                    max_size=4,
                )
            ),
            max_leaves=12,
        ).filter(lambda value: isinstance(value, dict))
    }
)


class Recorder:
    """Takes whatever is sent, and answers that nothing was there."""

    def __init__(self) -> None:
        self.sent: list[Json] = []

    async def get(self, *_: object) -> Any:
        raise AssertionError("a template that is refused is not prepared for")

    async def apply(self, _kind: Any, _key: Any, body: Json, _options: Any) -> Any:
        self.sent.append(body)
        raise ApiError("enough was seen")


@fuzzed(150)
@given(common=TEMPLATES, own=TEMPLATES, level=st.sampled_from([Level.BASELINE, Level.RESTRICTED]))
def test_whatever_is_drawn_a_template_that_is_sent_is_allowed(common: Json, own: Json, level: Level) -> None:
    cluster = search([SEARCH[0], {**SEARCH[1], "podTemplate": own}], podTemplate=common)
    if errors(validate(cluster)):
        return
    family = unconnected(kind_of(cluster))
    allowed = not problems(family, cluster, level)
    for pool in ("managers", "hot"):
        for ordinal in (0, 1):
            body = family.member_objects(cluster, pool, ordinal, "2.17.1").workload["spec"]["template"]
            assert not allowed or violations(level, body) == ()
            action = a.Stage(why="x", member=f"logs-{pool}-{ordinal}", pool=pool, version="2.17.1")
            assert asyncio.run(stages(action, cluster, level)) is not bool(violations(level, body))


async def stages(action: a.Action, cluster: Cluster, level: Level) -> bool:
    """Return whether anything of a member is sent when it is staged."""
    family, api = unconnected(kind_of(cluster)), Recorder()
    anyone: Any = api
    actor = Actor(anyone, Caches(), family, anyone, unfenced, level)
    try:
        await actor.carry_out(action, ClusterObjects(cluster, (), (), (), (), {}, {}), Target((), "logs"))
    except (PodNotAllowed, ApiError):
        return bool(api.sent)
    raise AssertionError("it is one or the other")


@pytest.mark.parametrize("crossing", list(ProtocolSwitch))
async def test_programs_of_another_version_are_brought_with_no_more_rights(crossing: ProtocolSwitch) -> None:
    power: Json = {"initContainers": [{"name": "stateward-beside", "securityContext": {"privileged": True}}]}
    for record in (foundation(), foundation(podTemplate={"spec": power})):
        action = a.Stage(why="x", member="logs-log-0", pool="log", version="7.1.61", crossing=crossing)
        assert await stages(action, record, Level.BASELINE) is (record.spec.pod_template is None)


async def test_nothing_is_made_of_a_cluster_that_names_what_it_may_not_use() -> None:
    api: Any = Recorder()
    actor = Actor(api, Caches(), unconnected(kind_of(search())), api, unfenced, Level.PRIVILEGED)
    barred = ClusterObjects(search(), (), (), (), (), {}, {}, barred=(Refusal("spec.x", "PodNotAllowed", "no"),))
    create = a.Create(why="x", member="logs-hot-1", pool="hot", ordinal=1, version="2.19.5")
    stage = a.Stage(why="x", member="logs-hot-1", pool="hot", version="2.19.5")
    for action in (create, stage):
        with pytest.raises(PodNotAllowed, match="no"):
            await actor.carry_out(action, barred, Target((), "logs"))
    assert api.sent == []


# What is named


@pytest.fixture
async def api() -> WorldApi:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    found = WorldApi(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    await found.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
    return found


async def put(api: WorldApi, kind: Resource[Any], name: str, **labels: str) -> None:
    body: Json = {"metadata": {"name": name, "namespace": "data", "labels": labels}}
    if kind is kinds.CLAIMS:
        body["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await api.create(kind, body, namespace="data")


async def asked(api: Any, cluster: Cluster, *, labelled: bool = True) -> list[str]:
    rights = PodRights(api, unconnected(kind_of(cluster)), labelled=labelled)
    return [refusal.message for refusal in await rights.of_spec(cluster)]


ALLOWED = {"stateward.dev/allowed-for-pods": "true"}


@pytest.mark.parametrize("labelled", [True, False])
async def test_a_service_account_has_to_be_allowed_whatever_else_is(api: WorldApi, labelled: bool) -> None:
    cluster = search(podTemplate={"spec": {"serviceAccountName": "builder"}})
    field = "spec.podTemplate.spec.serviceAccountName: ServiceAccount builder"
    assert await asked(api, cluster, labelled=labelled) == [
        f"{field} does not exist; it must have the label stateward.dev/allowed-for-pods: true (or logs)"
    ]
    await put(api, kinds.SERVICE_ACCOUNTS, "builder")
    command = "kubectl label serviceaccount builder -n data stateward.dev/allowed-for-pods=logs"
    assert await asked(api, cluster, labelled=labelled) == [
        f"{field} must have the label stateward.dev/allowed-for-pods: true (or logs): {command}"
    ]


@pytest.mark.parametrize(("value", "allowed"), [("true", True), ("logs", True), ("other", False), ("", False)])
async def test_an_account_is_allowed_by_its_label_for_all_clusters_or_for_one(
    api: WorldApi, value: str, allowed: bool
) -> None:
    cluster = search(podTemplate={"spec": {"serviceAccountName": "builder"}})
    await put(api, kinds.SERVICE_ACCOUNTS, "builder", **{names.LABEL_ALLOWED: value})
    assert (await asked(api, cluster) == []) is allowed


async def test_the_usual_account_needs_no_label_as_long_as_pods_get_no_token_of_it(api: WorldApi) -> None:
    assert await asked(api, search()) == []
    assert await asked(api, search(podTemplate={"spec": {"serviceAccountName": "default"}})) == []
    token = search(podTemplate={"spec": {"automountServiceAccountToken": True}})
    left_out = search(podTemplate={"spec": {"automountServiceAccountToken": None}})
    audience = {"serviceAccountToken": {"path": "t", "audience": "vault"}}
    projected = search(podTemplate={"spec": {"volumes": [{"name": "t", "projected": {"sources": [audience]}}]}})
    for cluster in (token, left_out, projected):
        assert len(await asked(api, cluster)) == 1
    await put(api, kinds.SERVICE_ACCOUNTS, "default", **ALLOWED)
    for cluster in (token, left_out, projected):
        assert await asked(api, cluster) == []


async def test_secrets_and_claims_need_the_label_where_the_operator_asks_for_it(api: WorldApi) -> None:
    spec: Json = {
        "volumes": [
            {"name": "s", "secret": {"secretName": "keys", "optional": True}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "theirs"}},
        ]
    }
    cluster = search(podTemplate={"spec": spec})
    assert await asked(api, cluster, labelled=False) == []
    assert [" does not exist" in text for text in await asked(api, cluster)] == [True, True]
    await put(api, kinds.SECRETS, "keys")
    await put(api, kinds.CLAIMS, "theirs")
    assert [" must have the label" in text for text in await asked(api, cluster)] == [True, True]
    allow = {"metadata": {"labels": ALLOWED}}
    await api.patch(kinds.SECRETS, Key("data", "keys"), allow, kind=PatchKind.MERGE)
    await api.patch(kinds.CLAIMS, Key("data", "theirs"), allow, kind=PatchKind.MERGE)
    assert await asked(api, cluster) == []


async def test_a_secret_for_the_keystore_may_be_missing_and_needs_the_label_when_it_is_there(api: WorldApi) -> None:
    cluster = search(secureSettings=[{"secretName": "store"}])
    assert await asked(api, cluster) == []
    await put(api, kinds.SECRETS, "store")
    assert [text.partition(":")[0] for text in await asked(api, cluster)] == ["spec.secureSettings[0].secretName"]


async def test_certificates_of_another_user_under_the_clusters_name_are_not_shown_to_its_pods(api: WorldApi) -> None:
    assert await asked(api, search()) == []
    await put(api, kinds.SECRETS, "logs-tls")
    found = await asked(api, search())
    assert found == [
        "metadata.name: Secret logs-tls belongs to another owner, and pods of logs would see its content",
    ]
    mine = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "name": "logs", "uid": "u"}
    owned = {"metadata": {"ownerReferences": [{**mine, "controller": True}]}}
    await api.patch(kinds.SECRETS, Key("data", "logs-tls"), owned, kind=PatchKind.MERGE)
    assert await asked(api, search()) == []


@pytest.mark.parametrize("name", ["logs-ca", "logs-operator-tls", "logs-admin", "logs-hot-1"])
async def test_even_the_clusters_other_secrets_are_not_for_its_pods(api: WorldApi, name: str) -> None:
    await put(api, kinds.SECRETS, name)
    assert len(await asked(api, search(podTemplate=container(envFrom=[{"secretRef": {"name": name}}])))) == 1


@pytest.mark.parametrize(("source", "kind"), [("secret", kinds.SECRETS), ("persistentVolumeClaim", kinds.CLAIMS)])
@pytest.mark.parametrize("volume", ["x", "config", "data"])
@pytest.mark.parametrize("ordinal", [0, 1])
async def test_nor_is_what_is_called_as_one_of_its_members_would_call_it(
    api: WorldApi, source: str, kind: Resource[Any], volume: str, ordinal: int
) -> None:
    """It may have another owner: then that member is not created, and no other member gets it."""
    name = f"logs-hot-{ordinal}" if kind is kinds.SECRETS else names.claim(f"logs-hot-{ordinal}")
    await put(api, kind, name)
    field = {"secret": "secretName", "persistentVolumeClaim": "claimName"}[source]
    named: Json = {"name": volume, "$patch": "replace", source: {field: name}}
    hot = {**SEARCH[1], "storage": {"size": "1Gi"}, "podTemplate": {"spec": {"volumes": [named]}}}
    found = await asked(api, search([SEARCH[0], hot]))
    assert [f" {name} must have the label" in text for text in found] == [True]


async def test_what_has_no_labels_to_read_cannot_be_used(api: WorldApi) -> None:
    claim = {"volumeClaimTemplate": {"spec": {"dataSource": {"kind": "VolumeSnapshot", "name": "theirs"}}}}
    cluster = search(podTemplate={"spec": {"volumes": [{"name": "v", "ephemeral": claim}]}})
    assert ["VolumeSnapshot theirs cannot be used" in text for text in await asked(api, cluster)] == [True]
    assert await asked(api, cluster, labelled=False) == []


@pytest.mark.parametrize("more", [{"namespace": "payments"}, {"apiGroup": "example.com"}])
async def test_a_claim_that_may_be_used_allows_none_of_its_name_elsewhere(api: WorldApi, more: Json) -> None:
    await put(api, kinds.CLAIMS, "ours", **ALLOWED)

    def copy(**more: str) -> Cluster:
        source = {"kind": "PersistentVolumeClaim", "name": "ours", **more}
        claim = {"volumeClaimTemplate": {"spec": {"dataSourceRef": source}}}
        return search(podTemplate={"spec": {"volumes": [{"name": "v", "ephemeral": claim}]}})

    assert await asked(api, copy()) == []
    assert [" ours cannot be used" in text for text in await asked(api, copy(**more))] == [True]


async def test_storage_that_is_named_by_its_address_cannot_be_used_and_a_claim_with_the_label_can(
    api: WorldApi,
) -> None:
    nfs = {"name": "v", "nfs": {"server": "10.0.0.1", "path": "/exports/payments"}}
    (found,) = await asked(api, search(podTemplate={"spec": {"volumes": [nfs]}}))
    assert found == (
        "spec.podTemplate.spec.volumes[v].nfs: storage of kind nfs cannot be used by pods of a cluster; a"
        " PersistentVolumeClaim of it can: it must have the label stateward.dev/allowed-for-pods: true (or logs)"
    )
    assert await asked(api, search(podTemplate={"spec": {"volumes": [nfs]}}), labelled=False) == []


async def test_credentials_of_a_registry_need_the_label_too(api: WorldApi) -> None:
    cluster = search(podTemplate={"spec": {"imagePullSecrets": [{"name": "pull"}]}})
    assert await asked(api, cluster, labelled=False) == []
    assert [" does not exist" in text for text in await asked(api, cluster)] == [True]
    await put(api, kinds.SECRETS, "pull", **ALLOWED)
    assert await asked(api, cluster) == []


# Whose clients reach the pods


async def serve(api: WorldApi, name: str, selector: Json, **metadata: Any) -> None:
    body = {"metadata": {"name": name, **metadata}, "spec": {"selector": selector, "ports": [{"port": 80}]}}
    await api.create(kinds.SERVICES, body, namespace="data")


def dressed(**labels: str) -> Cluster:
    return search(podTemplate={"metadata": {"labels": labels}})


async def test_labels_that_lead_clients_of_another_service_to_the_pods_are_refused(api: WorldApi) -> None:
    await serve(api, "payments", {"app": "payments", "tier": "db"})
    await serve(api, "by-hand", {})
    assert await asked(api, dressed(app="payments")) == []
    cluster = dressed(app="payments", tier="db")
    command = "kubectl label service payments -n data stateward.dev/allowed-for-pods=logs"
    (found,) = await asked(api, cluster)
    assert found == (
        "spec.podTemplate.metadata.labels[app]: with it the pods would receive the traffic of Service"
        " payments, which must have"
        f" the label stateward.dev/allowed-for-pods: true (or logs): {command}"
    )
    assert await asked(api, cluster, labelled=False) == []
    await api.patch(kinds.SERVICES, Key("data", "payments"), {"metadata": {"labels": ALLOWED}}, kind=PatchKind.MERGE)
    assert await asked(api, cluster) == []


async def test_a_service_that_selects_the_pods_by_their_own_labels_is_its_makers_choice(api: WorldApi) -> None:
    await serve(api, "mine", {names.LABEL_CLUSTER: "logs"})
    assert await asked(api, dressed(app="payments")) == []


async def test_services_that_cannot_be_listed_are_waited_for() -> None:
    class Denied:
        async def get(self, *_: object) -> Any:
            raise NotFound("no such Secret")

        async def list(self, *_: object, **__: object) -> Any:
            raise Forbidden("services is forbidden")

    denied: Any = Denied()
    rights = PodRights(denied, unconnected(kind_of(search())), labelled=True)
    found = await rights.of_spec(dressed(app="payments"))
    assert [(r.subject, r.reason) for r in found] == [("spec.podTemplate.metadata.labels", "PodRightsUnknown")]


async def test_what_cannot_be_read_is_not_allowed() -> None:
    class Denied:
        async def get(self, *_: object) -> Any:
            raise Forbidden("serviceaccounts is forbidden")

    denied: Any = Denied()
    rights = PodRights(denied, unconnected(kind_of(search())), labelled=False)
    found = await rights.of_spec(search(podTemplate={"spec": {"serviceAccountName": "builder"}}))
    assert [(r.reason, r.everything) for r in found] == [("PodRightsUnknown", True)]
    assert "serviceaccounts is forbidden" in found[0].message


async def test_a_spec_that_makes_no_sense_is_not_asked_about(api: WorldApi) -> None:
    assert await asked(api, search(podTemplate={"spec": {"containers": "x", "serviceAccountName": "builder"}})) == []
