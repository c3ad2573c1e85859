"""No installation gives a tenant a right that they lack: attempts against a real API server with the shipped roles.

The tenant has `stateward-edit` and `stateward-view` in one namespace. Each attempt ends with a sentence in the status
that names the verb, the resource, the namespace and the service account.
"""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stateward.api.values.base import GROUP
from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import Invalid
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import CONFIG_MAPS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, STATEFUL_SETS
from stateward.operator.installations.objects.views import FINALIZER, INSTALLATIONS
from stateward.operator.objects.kinds import OPENSEARCH
from tests.integration.api_server import DEFINITIONS, ROOT, run_pods
from tests.integration.packaged import DEPLOYMENTS
from tests.integration.rights.tenants import TENANT, Tenancy, tenancy
from tests.integration.shipped import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RBAC,
    ROLE_BINDINGS,
    SYSTEM,
    bind,
    grant,
    person,
    subject,
)
from tests.support.background import at_work
from tests.unit.operator.installations.execution.test_tasks import POD
from tests.unit.operator.installations.execution.test_tasks import package as piped

pytestmark = pytest.mark.integration

WEBHOOKS: Resource[Any] = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    dict[str, Any],
    namespaced=False,
)
LABELS = {"app": "hostile"}
ADMIN = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
READING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
MAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "patch"]}
APPLY = ApplyOptions("owner", force=True)


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Tenancy]:
    async with tenancy(control_plane, OPENSEARCH.resource) as found:
        yield found


def body(kind: Resource[Any], name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **more}


def workload(kind: Resource[Any], name: str, **pod: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", **pod.pop("container", {})}
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container], **pod}}
    spec: dict[str, Any] = {"selector": {"matchLabels": LABELS}, "template": template}
    return body(kind, name, spec=spec | ({"serviceName": name} if kind.kind == "StatefulSet" else {}))


PRIVILEGED = workload(
    STATEFUL_SETS,
    "hostile",
    hostPID=True,
    serviceAccountName="stateward",
    container={"securityContext": {"privileged": True}},
    volumes=[{"name": "host", "hostPath": {"path": "/"}}],
)
MYSELF = {"subjects": [person(TENANT)], "roleRef": ADMIN}
DEFINITION = {
    "group": "hostile.example",
    "names": {"plural": "traps", "singular": "trap", "kind": "Trap"},
    "scope": "Namespaced",
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}
ATTEMPTS: dict[str, tuple[Resource[Any], dict[str, Any]]] = {
    "a privileged pod on the host's disks": (STATEFUL_SETS, PRIVILEGED),
    "all rights": (CLUSTER_ROLE_BINDINGS, body(CLUSTER_ROLE_BINDINGS, "hostile", **MYSELF)),
    "all rights here": (ROLE_BINDINGS, body(ROLE_BINDINGS, "hostile", **MYSELF)),
    "a namespace": (NAMESPACES, body(NAMESPACES, "hostile-made")),
    "a kind": (DEFINITIONS, body(DEFINITIONS, "traps.hostile.example", spec=DEFINITION)),
    "a Secret": (SECRETS, body(SECRETS, "hostile", stringData={"a": "b"})),
    "an account": (SERVICE_ACCOUNTS, body(SERVICE_ACCOUNTS, "hostile")),
    "a cluster": (
        OPENSEARCH.resource,
        body(OPENSEARCH.resource, "hostile", spec={"version": "2.19.5", "pools": [{"name": "a", "replicas": 1}]}),
    ),
}


def kind_of(kind: Resource[Any]) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def where(kind: Resource[Any], home: str) -> str:
    return f"in namespace {home}" if kind.namespaced else "of the whole cluster"


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_without_rights_of_the_account_nothing_is_made(place: Tenancy, attempt: str) -> None:
    kind, wanted = ATTEMPTS[attempt]
    await place.install(wanted, adopt=True)
    account = f"service account default of namespace {place.home}"
    await place.refusal(f"{account} may not list {kind_of(kind)} {where(kind, place.home)}: give it that right")
    name = wanted["metadata"]["name"]
    assert await place.get(kind, name) is None
    # It holds up neither its own correction nor its end.
    await place.install(body(CONFIG_MAPS, "harmless"), version=2)
    await place.refusal(f"{account} may not list configmaps in namespace {place.home}")
    await place.delete()
    await place.gone()
    assert await place.may("create", kind) == (kind.group == GROUP)  # What the tenant may make without any package.
    assert not await place.may("create", kind, account="default")


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_an_account_that_may_see_everything_makes_nothing_with_the_operators_rights(
    place: Tenancy, attempt: str
) -> None:
    kind, wanted = ATTEMPTS[attempt]
    await grant(place.admin, place.home, "watcher", READING, everywhere=True)
    await place.install(wanted, adopt=True, serviceAccountName="watcher")
    name = wanted["metadata"]["name"]
    account = f"service account watcher of namespace {place.home}"
    # Of a namespace that is named, the API server says that it is in itself.
    place_of = f"in namespace {name}" if kind is NAMESPACES else where(kind, place.home)
    await place.refusal(f"{account} may not patch {kind_of(kind)} {name} {place_of}: give it that right")
    assert await place.get(kind, name) is None
    await place.delete()
    await place.gone()


async def test_a_binding_to_more_rights_than_the_account_has_is_refused(place: Tenancy) -> None:
    await bind(place.admin, place.home, "admin", subject(place.home, "builder"))
    await place.install(body(ROLE_BINDINGS, "hostile", **MYSELF), serviceAccountName="builder")
    message = await place.refusal(
        f"service account builder of namespace {place.home} may not create rolebindings.{RBAC}",
        "which grants rights that the account does not have itself:",
    )
    assert "hostile" in message
    assert await place.get(ROLE_BINDINGS, "hostile") is None
    assert not await place.may("get", SECRETS)


async def test_the_operators_own_objects_are_not_adopted(place: Tenancy) -> None:
    await grant(place.admin, place.home, "watcher", READING, everywhere=True)
    file = ROOT / "charts/stateward/webhook/webhook.yaml"
    shipped = next(each for each in yaml.safe_load_all(file.read_text()) if each["kind"] == WEBHOOKS.kind)
    before = await place.admin.apply(WEBHOOKS, Key("", "stateward"), {**shipped, "webhooks": []}, APPLY)
    try:
        await place.install(body(WEBHOOKS, "stateward", webhooks=[]), adopt=True)
        await place.refusal(f"may not list {kind_of(WEBHOOKS)} of the whole cluster")
        await place.change(serviceAccountName="watcher")
        await place.refusal(f"may not patch {kind_of(WEBHOOKS)} stateward of the whole cluster")
        assert await place.admin.get(WEBHOOKS, Key("", "stateward")) == before
    finally:
        await place.admin.delete(
            WEBHOOKS, Key("", "stateward"), DeleteOptions(Preconditions(before["metadata"]["uid"]))
        )


async def test_nothing_is_made_in_another_namespace_whatever_the_account_may(place: Tenancy) -> None:
    await grant(
        place.admin, place.home, "mighty", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, everywhere=True
    )
    there = body(SECRETS, "hostile", stringData={"a": "b"})
    there["metadata"]["namespace"] = "default"
    await place.install(there, adopt=True, serviceAccountName="mighty")

    async def history() -> Any:
        return (await place.live()).status.history

    await place.until(history)
    live = await place.live()
    assert f"an installation has objects in its own namespace {place.home} only" in live.status.history[0].message
    assert await place.get(SECRETS, "hostile", "default") is None


async def test_a_foreign_deployment_is_adopted_only_with_the_right_to_change_it(place: Tenancy) -> None:
    theirs = await place.admin.apply(DEPLOYMENTS, Key(place.home, "theirs"), workload(DEPLOYMENTS, "theirs"), APPLY)
    wanted = workload(DEPLOYMENTS, "theirs", hostNetwork=True)
    await grant(place.admin, place.home, "watcher", READING)
    await place.install(wanted, adopt=True, serviceAccountName="watcher")
    await place.refusal(
        f"service account watcher of namespace {place.home} may not patch deployments.apps theirs"
        f" in namespace {place.home}"
    )
    found = await place.get(DEPLOYMENTS, "theirs")
    assert found is not None
    assert (found["spec"], found["metadata"].get("labels")) == (theirs["spec"], None)
    await bind(place.admin, place.home, "stateward-packages", subject(place.home, "builder"))
    await place.change(serviceAccountName="builder", adopt=False)

    async def held() -> bool:
        return "or set spec.adopt to adopt it" in (await place.live()).status.activity

    await place.until(held)
    assert (await place.get(DEPLOYMENTS, "theirs") or {})["spec"] == theirs["spec"]


async def test_secrets_are_not_read_for_users_who_may_not_read_them(place: Tenancy) -> None:
    await place.admin.apply(
        SECRETS, Key(place.home, "password"), body(SECRETS, "password", stringData={"a": "b"}), APPLY
    )
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "create", "patch"]}
    await grant(place.admin, place.home, "builder", rule)
    variable = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "password", "key": "a"}}}
    await place.install(workload(DEPLOYMENTS, "reads", container={"env": [variable]}), serviceAccountName="builder")
    account = f"service account builder of namespace {place.home}"
    await place.refusal(f"{account} may not get secrets password in namespace {place.home}")
    assert await place.get(DEPLOYMENTS, "reads") is None
    await place.install(body(SECRETS, "password"), version=2, adopt=True, serviceAccountName="builder")
    await place.refusal(f"{account} may not list secrets in namespace {place.home}")
    found = await place.get(SECRETS, "password")
    assert found is not None
    assert "labels" not in found["metadata"]


async def test_what_the_account_may_not_delete_is_neither_pruned_nor_removed_and_there_is_a_way_out(
    place: Tenancy,
) -> None:
    await grant(place.admin, place.home, "builder", MAPS)
    first, second, last = (body(CONFIG_MAPS, name) for name in ("first", "second", "last"))
    await place.install(first, second, end=last, serviceAccountName="builder")
    await place.ready()
    await place.install(first, end=last, version=2, serviceAccountName="builder")
    account = f"service account builder of namespace {place.home}"
    await place.refusal(f"{account} may not delete configmaps second in namespace {place.home}")
    assert await place.get(CONFIG_MAPS, "second")
    await place.delete()
    await place.refusal("its objects cannot be removed:", f"{account} may not delete configmaps", FINALIZER)
    assert await place.get(CONFIG_MAPS, "first")
    bare = {"metadata": {"finalizers": None}}
    await place.tenant.patch(INSTALLATIONS, Key(place.home, "web"), bare, kind=PatchKind.MERGE)
    await place.gone()
    assert await place.get(CONFIG_MAPS, "first")


async def test_lost_rights_are_reported_and_after_their_return_all_continues_to_the_end(place: Tenancy) -> None:
    key = await bind(place.admin, place.home, "stateward-packages", subject(place.home, "default"))
    await place.install(body(CONFIG_MAPS, "first", data={"a": "1"}))
    await place.ready()
    await place.install(body(CONFIG_MAPS, "first", data={"a": "2"}), version=2)
    await place.ready()
    binding = await place.admin.get(ROLE_BINDINGS, key)
    await place.admin.delete(ROLE_BINDINGS, key, DeleteOptions(Preconditions(binding["metadata"]["uid"])))
    account = f"service account default of namespace {place.home}"
    await place.admin.patch(CONFIG_MAPS, Key(place.home, "first"), {"data": {"a": "odd"}}, kind=PatchKind.MERGE)
    await place.refusal("changes by other clients cannot be reverted:", f"{account} may not get configmaps first")
    await place.install(body(CONFIG_MAPS, "first", data={"a": "3"}), version=3)
    await place.refusal(f"{account} may not patch configmaps first in namespace {place.home}")
    await place.delete()
    await place.refusal("its objects cannot be removed:", f"{account} may not list configmaps", FINALIZER)
    assert (await place.get(CONFIG_MAPS, "first") or {})["data"] == {"a": "odd"}
    await bind(place.admin, place.home, "stateward-packages", subject(place.home, "packages"))
    await place.change(serviceAccountName="packages")
    await place.gone()
    assert await place.get(CONFIG_MAPS, "first") is None


@pytest.mark.parametrize("account", ["stateward", "stateward-detection"])
async def test_the_operators_accounts_are_nobodys_to_name(place: Tenancy, account: str) -> None:
    for role in ("stateward-edit", "stateward-view"):
        await bind(place.admin, SYSTEM, role, person(TENANT))
    name = f"web-{account}"
    await place.install(body(SECRETS, "hostile"), name=name, home=SYSTEM, serviceAccountName=account, adopt=True)
    await place.refusal(f"{account} of namespace {SYSTEM} is an account of the operator itself", name=name, home=SYSTEM)
    assert await place.get(SECRETS, "hostile", SYSTEM) is None
    await place.delete(name, SYSTEM)
    await place.gone(name, SYSTEM)


@pytest.mark.parametrize(
    "account",
    ["stateward-system/stateward", "stateward-system:stateward", "../stateward", "system:masters", "Stateward"],
)
async def test_no_account_of_another_namespace_can_be_named(place: Tenancy, account: str) -> None:
    with pytest.raises(Invalid, match="serviceAccountName"):
        await place.install(body(CONFIG_MAPS, "hostile"), serviceAccountName=account)


async def test_a_name_with_dots_is_one_of_the_own_namespace(place: Tenancy) -> None:
    await place.install(body(CONFIG_MAPS, "hostile"), serviceAccountName="stateward-system.stateward")
    await place.refusal(
        f"service account stateward-system.stateward of namespace {place.home} may not list configmaps in namespace"
    )


async def test_commands_in_pods_are_run_with_the_rights_of_the_account(place: Tenancy) -> None:
    rule = {
        "apiGroups": [""],
        "resources": ["pods", "configmaps"],
        "verbs": ["get", "list", "create", "patch", "delete"],
    }
    await grant(place.admin, place.home, "builder", rule)
    pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/a", "kind": "ConfigMap", "key": "made"}]}
    content = piped(
        [{"name": "p", "kind": "Pipe", "spec": pipe}],
        {"deploy": ["p"]},
        pod=POD.removesuffix("}") + ", volumes: [{name: d, emptyDir: {}}]}",
    )
    async with at_work(run_pods(place.admin, place.home)):
        await place.install_files(content, serviceAccountName="builder")
        await place.refusal(
            f"service account builder of namespace {place.home} may not run commands in pod",
            f"in namespace {place.home}: give it the verbs create and get of pods/exec",
        )


async def test_an_operator_whose_role_names_accounts_may_act_as_no_others(place: Tenancy) -> None:
    """As the chart's `installationAccounts` has it."""
    role = await place.admin.get(CLUSTER_ROLES, Key("", "stateward"))
    rules = [
        rule | ({"resourceNames": ["packages"]} if rule["verbs"] == ["impersonate"] else {}) for rule in role["rules"]
    ]
    await place.admin.patch(CLUSTER_ROLES, Key("", "stateward"), {"rules": rules}, kind=PatchKind.MERGE)
    try:
        for account in ("packages", "builder"):
            await bind(place.admin, place.home, "stateward-packages", subject(place.home, account))
        await place.install(body(CONFIG_MAPS, "made"), serviceAccountName="builder")
        await place.refusal(
            f"the operator (service account stateward of namespace {SYSTEM}) may not act as serviceaccounts builder"
            f" in namespace {place.home}"
        )
        assert await place.get(CONFIG_MAPS, "made") is None
        await place.change(serviceAccountName="packages")
        await place.ready()
    finally:
        await place.admin.patch(CLUSTER_ROLES, Key("", "stateward"), {"rules": role["rules"]}, kind=PatchKind.MERGE)


async def test_clusters_are_made_with_the_rights_of_the_account(place: Tenancy) -> None:
    kind, wanted = ATTEMPTS["a cluster"]
    await place.install(wanted, serviceAccountName="builder")
    await place.refusal(f"service account builder of namespace {place.home} may not list {kind_of(kind)}")
    for role in ("stateward-edit", "stateward-view"):
        await bind(place.admin, place.home, role, subject(place.home, "builder"))
    await place.until(lambda: place.get(kind, "hostile"))
    await place.delete()
    await place.gone()


async def test_a_tenant_with_nothing_but_installations_may_act_as_no_account_themselves(place: Tenancy) -> None:
    assert not await place.may("impersonate", SERVICE_ACCOUNTS)
    assert not await place.may("create", DEPLOYMENTS)
    assert not await place.may("list", SECRETS)
