"""What an installation makes, reads and removes, it does as an account of its namespace, not as the operator."""

from copy import copy
from typing import Any

import pytest

from stateward.api.base import Metadata
from stateward.api.installation import Installation, InstallationSpec
from stateward.kube.errors import Forbidden, Status, error_for
from stateward.operator.installations.account import Accounts, said
from stateward.operator.installations.faults import NotAllowedError
from stateward.packages.decision import ANNOTATION_TRIGGER
from tests.unit.operator.installations.town import HOME, Town

OWN = {"installations", "packages", "clusterpackages", "events", "namespaces"}


class Recording:
    """An `Api` that notes as whom each request on what people describe is made."""

    def __init__(self, api: Any, seen: list[tuple[str, str, str]], user: str = "") -> None:
        self._api, self._seen, self._user = api, seen, user

    def acting_as(self, user: str) -> "Recording":
        return Recording(self._api.acting_as(user), self._seen, user)

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._api, verb)
        if verb not in {"get", "list", "create", "apply", "patch", "delete"}:
            return method

        async def noted(resource: Any, *args: Any, **options: Any) -> Any:
            where = options.get("namespace") or getattr(args[0], "namespace", "")
            watched = verb == "list" and "part-of" in getattr(args[0], "labels", "") and not self._user
            if resource.plural not in OWN and where != "stateward" and not watched:
                self._seen.append((self._user, verb, resource.plural))
            return await method(resource, *args, **options)

        return noted


def denied(user: str, verb: str, resource: str) -> Forbidden:
    where = f'in API group "" in the namespace "{HOME}"'
    text = f'{resource} "web" is forbidden: User "{user}" cannot {verb} resource "{resource}" {where}'
    error = error_for(Status(code=403, reason="Forbidden", message=text))
    assert isinstance(error, Forbidden)
    return error


@pytest.mark.parametrize("account", ["", "builder"])
async def test_every_request_of_plans_adoption_repair_pruning_and_the_end_is_made_as_the_account(account: str) -> None:
    town, seen = Town(), list[tuple[str, str, str]]()
    town.package("shop-1")
    spec = {"serviceAccountName": account, "adopt": True} if account else {"adopt": True}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-config"}, "data": {"x": "1"}}
    town.server.create("/configmaps", HOME, body)
    town.install("shop-1", spec=spec, EXTRA=True)
    async with town.operator(Recording(copy(town.api), seen)):
        await town.until(town.ready)
        town.annotate(ANNOTATION_TRIGGER, "backup/1")
        await town.until(lambda: town.get("Job", "backup-job") and town.ready())
        town.install("shop-1", spec=spec, EXTRA=False, MODE="fast")
        await town.until(lambda: town.ready() and town.get("Service", "web-extra") is None)
        town.uninstall()
        await town.until(lambda: town.get("Installation", "web") is None)
    assert {user for user, _, _ in seen} == {f"system:serviceaccount:{HOME}:{account or 'default'}"}
    assert {"apply", "delete", "get", "list"} <= {verb for _, verb, _ in seen}


def installation(name: str = "", home: str = HOME) -> Installation:
    meta = Metadata(name="web", namespace=home)
    return Installation(metadata=meta, spec=InstallationSpec(package="shop", service_account_name=name))


def test_an_installation_without_an_account_where_there_is_no_default_is_refused_with_what_to_set() -> None:
    with pytest.raises(NotAllowedError, match=r"spec\.serviceAccountName is not set"):
        Accounts("").user_of(installation())
    assert Accounts("").user_of(installation("a")) == f"system:serviceaccount:{HOME}:a"


@pytest.mark.parametrize("name", ["a:b", "a/b", "A", "a\nb", "..", "system:admin", "a\n"])
def test_a_name_that_is_none_of_an_account_is_refused(name: str) -> None:
    with pytest.raises(NotAllowedError, match="not the name"):
        Accounts().user_of(installation(name))


def test_the_operators_own_account_is_refused() -> None:
    with pytest.raises(NotAllowedError, match="account of the operator itself"):
        Accounts(refused=frozenset({"system:serviceaccount:ops:stateward"})).user_of(installation("stateward", "ops"))


def test_a_missing_right_is_said_with_account_verb_and_object() -> None:
    text = said(denied(f"system:serviceaccount:{HOME}:default", "patch", "secrets"))
    assert text.startswith(f"service account default of namespace {HOME} may not patch secrets in namespace {HOME}")
