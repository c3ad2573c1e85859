"""An installation creates, reads and removes objects as an account of its namespace, not as the operator."""

import asyncio
from copy import copy
from typing import Any

import pytest

from stateward.api.kinds.installation import Installation, InstallationSpec
from stateward.api.values.base import Metadata
from stateward.kube.objects.errors import Forbidden, TransportError
from stateward.kube.objects.metadata import Key
from stateward.operator.controls import accounts_of
from stateward.operator.installations.execution.service_account import Accounts, error_text, own_user, reason_of, user
from stateward.operator.installations.objects.faults import NotAllowedError
from stateward.operator.installations.objects.views import FINALIZER
from stateward.operator.runtime.options import OperatorOptions
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.unit.operator.installations.execution.test_tasks import JOB, POD, SERVICE, package
from tests.unit.operator.installations.rights import HOME, Asked, Ruled, Rules, denied
from tests.unit.operator.installations.world import World

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: stolen}\n"
APPLY_ONE = {"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}}


@pytest.fixture
async def world() -> World:
    return World()


@pytest.fixture
def rules() -> Rules:
    return Rules()


def ruled(world: World, rules: Rules) -> Any:
    return Ruled(copy(world.api), rules)


def powerless(asked: Asked) -> bool:
    """Only the operator has any right."""
    return bool(asked.user)


def of(*kinds: str) -> Any:
    """Refuse all requests about some kinds, except those of the operator."""

    def denies(asked: Asked) -> bool:
        return bool(asked.user) and asked.plural in kinds

    return denies


def stuck(world: World, reason: str = "NotAllowed") -> str:
    """Return the message of manual intervention, if it is for this reason."""
    found = world.condition("Stalled")
    return found["message"] if (found.get("status"), found.get("reason")) == ("True", reason) else ""


@pytest.mark.parametrize("account", ["", "builder"])
async def test_every_request_of_plans_adoption_repair_pruning_and_the_end_is_made_as_the_account(
    world: World, rules: Rules, account: str
) -> None:
    world.package("shop-1")
    spec = {"serviceAccountName": account, "adopt": True} if account else {"adopt": True}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-config"}, "data": {"x": "1"}}
    world.server.create("/configmaps", HOME, body)
    world.install("shop-1", spec=spec, EXTRA=True)
    async with world.operator(ruled(world, rules)):
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await world.until(lambda: world.get("Job", "backup-job") and world.ready())
        world.install("shop-1", spec=spec, EXTRA=False, MODE="fast")
        await world.until(lambda: world.ready() and world.get("Service", "web-extra") is None)
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert {each.user for each in rules.nested_installation()} == {user(HOME, account or "default")}
    assert {"apply", "delete", "get", "list"} <= {each.verb for each in rules.nested_installation()}


async def test_a_right_that_is_missing_is_the_reason_at_once_and_nothing_is_made(world: World, rules: Rules) -> None:
    world.package("shop-1")
    world.install("shop-1", spec={"serviceAccountName": "builder"}, EXTRA=True)
    rules.denies = powerless
    async with world.operator(ruled(world, rules)):
        await world.until(lambda: stuck(world), 5.0)
        said = f"service account builder of namespace {HOME} may not list configmaps in namespace {HOME}: give it"
        assert said in stuck(world)
        assert world.status()["run"]["steps"][0]["reason"] == "NotAllowed"
        assert world.get("ConfigMap", "web-config") is None
        rules.denies = lambda _: False
        await world.until(world.ready, 130.0)
    assert world.condition("Stalled")["status"] == "False"


async def test_another_account_takes_effect_at_once(world: World, rules: Rules) -> None:
    world.package("shop-1")
    world.install("shop-1", spec={"serviceAccountName": "weak"})
    rules.denies = lambda asked: asked.user.endswith(":weak")
    async with world.operator(ruled(world, rules)):
        await world.until(lambda: stuck(world))
        await asyncio.sleep(100.0)
        world.install("shop-1", spec={"serviceAccountName": "strong"})
        await world.until(world.ready, 10.0)
        world.install("shop-1", spec={"serviceAccountName": "weak"}, MODE="fast")
        await world.until(lambda: stuck(world))
        world.install("shop-1", spec={"serviceAccountName": "strong"}, MODE="fast")
        await world.until(world.ready, 10.0)


@pytest.mark.parametrize("verb", ["get", "apply", "delete"])
async def test_a_right_that_is_lost_while_it_lives_is_reported_and_when_it_is_back_all_continues(
    world: World, rules: Rules, verb: str
) -> None:
    world.package("shop-1")
    world.install("shop-1", EXTRA=True)
    async with world.operator(ruled(world, rules)):
        await world.until(world.ready)
        rules.denies = lambda asked: bool(asked.user) and asked.verb == verb
        world.install("shop-1", EXTRA=False, MODE="fast")
        await world.until(lambda: stuck(world))
        assert f"may not {'patch' if verb == 'apply' else verb} " in stuck(world)
        if verb == "apply":
            assert world.there("ConfigMap", "web-config")["data"]["mode"] == "slow"
        else:
            assert world.there("Service", "web-extra")
        rules.denies = lambda _: False
        await world.until(lambda: world.ready() and world.get("Service", "web-extra") is None)


async def test_what_others_change_is_not_put_right_against_the_rights_of_the_account(
    world: World, rules: Rules
) -> None:
    world.package("shop-1")
    world.install("shop-1")
    async with world.operator(ruled(world, rules)):
        await world.until(world.ready)
        await asyncio.sleep(5.0)
        rules.denies = powerless
        stored = world.store.get("/configmaps", Key(HOME, "web-config"))
        assert stored is not None
        world.context.change(stored, ("data", "mode"), "odd")
        await world.until(lambda: stuck(world))
        assert "changes by other clients cannot be reverted: service account default" in stuck(world)
        assert world.there("ConfigMap", "web-config")["data"]["mode"] == "odd"
        rules.denies = lambda _: False
        await world.until(lambda: world.there("ConfigMap", "web-config")["data"]["mode"] == "slow")


async def test_a_package_that_requested_too_much_can_be_corrected_and_removed(world: World, rules: Rules) -> None:
    """Objects that were never created are not searched: otherwise a forbidden list would block both."""
    world.package("other-1", package([APPLY_ONE], {"deploy": ["one"]}, one=NAMESPACE))
    world.package("other-2", package([APPLY_ONE], {"deploy": ["one"]}, "2.0.0", one=SERVICE.replace("NAME", "one")))
    world.install("other-1")
    rules.denies = of("namespaces")
    async with world.operator(ruled(world, rules)):
        await world.until(lambda: stuck(world))
        assert "may not list namespaces of the whole cluster" in stuck(world)
        world.install("other-2")
        await world.until(world.ready, 10.0)
        world.install("other-1")
        await world.until(lambda: stuck(world))
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None, 10.0)
    assert world.get("Service", "one") is None


async def test_an_installation_that_never_made_anything_goes_without_any_right(world: World, rules: Rules) -> None:
    world.package("shop-1")
    world.install("shop-1")
    rules.denies = powerless
    async with world.operator(ruled(world, rules)):
        await world.until(lambda: stuck(world))
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None, 10.0)


async def test_the_end_without_rights_says_which_one_is_missing_and_how_to_end_without_it(
    world: World, rules: Rules
) -> None:
    tasks = [APPLY_ONE, {"name": "job", "kind": "Apply", "spec": {"resources": ["job.yaml"]}}]
    plans = {"deploy": ["one"], "cleanup": ["job"]}
    world.package("other-1", package(tasks, plans, one=SERVICE.replace("NAME", "one"), job=JOB))
    world.install("other-1")
    async with world.operator(ruled(world, rules)):
        await world.until(world.ready)
        rules.denies = powerless
        world.uninstall()
        await world.until(lambda: "may not list jobs.batch" in stuck(world))
        await world.until(lambda: "its objects cannot be removed:" in stuck(world), 900.0)
        assert f"service account default of namespace {HOME} may not list services in namespace {HOME}" in stuck(world)
        assert f"remove the finalizer {FINALIZER}" in stuck(world)
        assert world.there("Service", "one")
        rules.denies = lambda asked: asked.user.endswith(":default")
        world.install("other-1", spec={"serviceAccountName": "other"})
        await world.until(lambda: world.get("Installation", "web") is None, 10.0)
    assert world.get("Service", "one") is None


async def test_the_way_out_without_rights_leaves_what_was_made(world: World, rules: Rules) -> None:
    world.package("other-1", package([APPLY_ONE], {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    world.install("other-1")
    async with world.operator(ruled(world, rules)):
        await world.until(world.ready)
        rules.denies = powerless
        world.uninstall()
        await world.until(lambda: FINALIZER in stuck(world))
        live = world.store.get("stateward.dev/swinstallations", Key(HOME, "web"))
        assert live is not None
        bare = {**live.doc, "metadata": {**live.meta, "finalizers": []}}
        world.server.update("stateward.dev/swinstallations", live.key, bare)
        assert world.get("Installation", "web") is None
        await asyncio.sleep(30.0)
    assert world.there("Service", "one")


async def test_an_object_of_another_owner_is_adopted_only_if_the_account_may_read_and_change_it(
    world: World, rules: Rules
) -> None:
    world.package("other-1", package([APPLY_ONE], {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": {"ports": [{"port": 1}]}}
    world.server.create("/services", HOME, body)
    world.install("other-1", spec={"adopt": True})
    async with world.operator(ruled(world, rules)):
        for verb in ("get", "apply"):
            rules.denies = lambda asked, verb=verb: bool(asked.user) and asked.verb == verb
            world.install("other-1", spec={"adopt": True, "stepTimeoutSeconds": 5000 + len(verb)})
            await world.until(
                lambda verb=verb: f"may not {'patch' if verb == 'apply' else verb} services one" in stuck(world)
            )
        assert "labels" not in world.there("Service", "one")["metadata"]
        rules.denies = lambda _: False
        await world.until(world.ready)
    assert 80 in [port["port"] for port in world.there("Service", "one")["spec"]["ports"]]


async def test_files_of_pods_are_read_with_the_rights_of_the_account(world: World) -> None:
    pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/a", "kind": "ConfigMap", "key": "made"}]}
    world.package("other-1", package([{"name": "p", "kind": "Pipe", "spec": pipe}], {"deploy": ["p"]}, pod=POD))
    world.install("other-1", spec={"serviceAccountName": "reader"})
    world.written["/d/a"] = b"x"
    users = list[str]()

    def execute(who: str) -> Any:
        async def run(*args: Any) -> bytes:
            users.append(who)
            if len(users) < 2:
                raise Forbidden("Invalid response status")
            return world.written[args[2][-1]]

        return run

    async with world.operator(execute=execute):
        await world.until(lambda: stuck(world))
        assert f"service account reader of namespace {HOME} may not run commands in pod " in stuck(world)
        assert "create and get of pods/exec" in stuck(world)
        await world.until(world.ready)
    assert set(users) == {user(HOME, "reader")}


async def test_an_account_that_cannot_read_autoscalers_does_not_revert_their_replicas(
    world: World, rules: Rules
) -> None:
    world.package("shop-1")
    world.install("shop-1")
    async with world.operator(ruled(world, rules)):
        await world.until(world.ready)
        live = world.there("Deployment", "web")
        rules.denies = of("horizontalpodautoscalers")
        scaled = {**live, "spec": {**live["spec"], "replicas": 7}}
        world.server.update("apps/deployments", Key(HOME, "web"), scaled)
        await world.until(lambda: "may not list horizontalpodautoscalers.autoscaling" in stuck(world))
        assert world.there("Deployment", "web")["spec"]["replicas"] == 7


async def test_the_operators_own_account_is_found_by_asking_the_server_and_refused(world: World) -> None:
    world.api.name = user(HOME, "ops")
    world.package("shop-1")
    world.install("shop-1", spec={"serviceAccountName": "ops"})
    async with world.operator():
        await world.until(lambda: stuck(world))
        assert f"ops of namespace {HOME} is an account of the operator itself" in stuck(world)
        assert world.get("ConfigMap", "web-config") is None
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None, 10.0)


async def test_an_installation_that_is_switched_to_the_operators_account_stays_as_it_is(
    world: World,
) -> None:
    world.api.name = user(HOME, "ops")
    world.package("other-1", package([APPLY_ONE], {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.install("other-1", spec={"serviceAccountName": "ops"})
        await world.until(lambda: stuck(world))
        world.uninstall()
        await world.until(lambda: FINALIZER in stuck(world))
        assert world.there("Service", "one")
        world.install("other-1", spec={"serviceAccountName": "default"})
        await world.until(lambda: world.get("Installation", "web") is None, 10.0)


async def test_nothing_is_installed_before_the_operator_knows_its_own_account(world: World) -> None:
    class Mute(Ruled):
        """A server that does not say as whom it knows a client."""

        mute = True

        async def request(self, request: Any) -> bytes:
            if self.mute:
                raise TransportError("no answer")
            return await self._api.request(request)

    world.package("shop-1")
    world.install("shop-1")
    api = Mute(world.api, Rules())
    async with world.operator(api):
        await asyncio.sleep(120.0)
        assert world.status() == {}
        api.mute = False
        await world.until(world.ready)


@pytest.mark.parametrize("answer", [b"{}", b"no json", b'{"status": {"userInfo": {"username": ""}}}'])
async def test_an_answer_that_names_no_user_is_none(answer: bytes) -> None:
    class Odd:
        async def request(self, _: Any) -> bytes:
            return answer

    with pytest.raises(Exception, match="own user name"):
        await own_user(Odd())  # pyright: ignore[reportArgumentType]


def installation(name: str = "", home: str = HOME) -> Installation:
    meta = Metadata(name="web", namespace=home)
    return Installation(metadata=meta, spec=InstallationSpec(package="shop", service_account_name=name))


def test_an_installation_without_an_account_where_there_is_no_default_is_refused_with_what_to_set() -> None:
    with pytest.raises(NotAllowedError, match=r"spec\.serviceAccountName is not set"):
        Accounts("").user_of(installation())
    assert Accounts("").user_of(installation("a")) == f"system:serviceaccount:{HOME}:a"


@pytest.mark.parametrize("name", ["a:b", "a/b", "A", "a\nb", "..", "system:admin", "a\n", "../x", "other:admin"])
def test_an_invalid_account_name_is_refused(name: str) -> None:
    with pytest.raises(NotAllowedError, match="not the name"):
        Accounts().user_of(installation(name))


def test_the_account_of_jobs_that_search_for_members_is_refused_in_the_operators_namespace_only() -> None:
    accounts = accounts_of(OperatorOptions(lease_namespace="ops", detection_service_account="looks"))
    with pytest.raises(NotAllowedError, match="account of the operator itself"):
        accounts.user_of(installation("looks", "ops"))
    assert accounts.user_of(installation("looks", "prod")) == "system:serviceaccount:prod:looks"
    assert accounts_of(OperatorOptions(default_service_account="")).default == ""


def test_a_missing_right_is_reported_with_account_verb_and_object() -> None:
    error = denied(Asked(user(HOME, "default"), "apply", "secrets", HOME, "web"))
    start = f"service account default of namespace {HOME} may not patch secrets web in namespace {HOME}: give it"
    assert error_text(error).startswith(start)
    assert reason_of(error) == "NotAllowed"


def test_rights_that_the_account_does_not_have_itself_are_reported_with_what_would_grant_them() -> None:
    text = (
        'rolebindings.rbac.authorization.k8s.io "more" is forbidden: user "system:serviceaccount:prod:a"'
        ' (groups=["system:serviceaccounts" "system:authenticated"]) is attempting to grant RBAC permissions not'
        ' currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )
    assert error_text(Forbidden(text)) == (
        'service account a of namespace prod may not create rolebindings.rbac.authorization.k8s.io "more", which grants'
        ' rights that the account does not have itself: {APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


def test_an_operator_that_may_not_act_as_an_account_says_what_to_do() -> None:
    text = (
        'serviceaccounts "a" is forbidden: User "system:serviceaccount:ops:stateward" cannot impersonate resource'
        ' "serviceaccounts" in API group "" in the namespace "prod"'
    )
    assert error_text(Forbidden(text)).startswith(
        "the operator (service account stateward of namespace ops) may not act as serviceaccounts in namespace prod"
    )


def test_a_refusal_for_other_reasons_is_reported_in_the_servers_words() -> None:
    error = Forbidden('pods "a" is forbidden: exceeded quota: few')
    assert error_text(error) == str(error)
    assert reason_of(error, "NotRemoved") == "NotRemoved"
