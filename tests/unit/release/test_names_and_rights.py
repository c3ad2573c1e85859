"""Names, accounts and rights that the values of the chart choose: whole in themselves, and the same labels for all."""

from typing import Any

import pytest

from stateward.cli.run.chart import objects
from stateward.cli.shared.failures import Failure
from stateward.operator.database_view.address import ACCOUNT, PREVIEW_ACCOUNT, PREVIEW_VERB

RIGHTS = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
EVERYTHING = {
    "crds": {"install": False},
    "webhook": True,
    "databaseView": True,
    "page": True,
    "networkPolicies": True,
    "namespaces": ["a"],
    "metrics": {"serviceMonitor": {"enabled": True}, "rules": {"enabled": True}, "dashboard": {"enabled": True}},
}
FIXED = {
    "stateward",  # the configuration of the webhook
    "stateward-webhook",
    ACCOUNT,
    PREVIEW_ACCOUNT,
}
OF_TOKENS = {ACCOUNT, PREVIEW_ACCOUNT}
Object = dict[str, Any]


def made(given: dict[str, Any], release: str = "stateward") -> list[Object]:
    return [each for each in objects({**EVERYTHING, **given}, "ops", release) if each["kind"] != "Namespace"]


def names(found: list[Object], *kinds: str) -> set[str]:
    return {each["metadata"]["name"] for each in found if each["kind"] in kinds}


def test_all_objects_have_the_chosen_name_or_a_fixed_one() -> None:
    found = made({"fullnameOverride": "databases"})
    assert {name for name in names(found, *{each["kind"] for each in found}) if "databases" not in name} == FIXED
    assert len(found) == len(made({}))


def test_another_name_changes_no_label_no_selector_and_not_the_lease() -> None:
    renamed, usual = made({"fullnameOverride": "databases"}), made({})
    assert [each["metadata"]["labels"] for each in renamed] == [each["metadata"]["labels"] for each in usual]
    selectors = [[each["spec"].get("selector") for each in found if "spec" in each] for found in (renamed, usual)]
    assert selectors[0] == selectors[1]
    (deployment,) = [each for each in renamed if each["kind"] == "Deployment"]
    assert not [arg for arg in container(deployment)["args"] if arg.startswith("--lease-name")]


def container(deployment: Object) -> Object:
    return deployment["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("given", "release", "name"),
    [
        ({}, "logs", "logs"),
        ({"nameOverride": "operator"}, "logs", "logs-operator"),
        ({"nameOverride": "operator"}, "operator-logs", "operator-logs"),
        ({"nameOverride": "operator", "fullnameOverride": "x"}, "logs", "x"),
        ({"nameOverride": "operator"}, "a" * 53, "a" * 40),
    ],
)
def test_a_name_is_that_of_the_release_with_its_suffix_or_the_full_one(
    given: dict[str, Any], release: str, name: str
) -> None:
    assert names(made(given, release), "Deployment") == {name}


@pytest.mark.parametrize("given", [{}, {"fullnameOverride": "databases"}, {"serviceAccount": {"name": "operators"}}])
def test_bindings_lead_to_roles_and_accounts_that_exist_and_the_pods_run_as_one(given: dict[str, Any]) -> None:
    found = made(given)
    accounts, roles = names(found, "ServiceAccount"), names(found, "Role", "ClusterRole")
    bindings = [each for each in found if each["kind"].endswith("Binding")]
    subjects = [subject for each in bindings for subject in each["subjects"]]
    assert {each["name"] for each in subjects if each["kind"] == "ServiceAccount"} == accounts
    assert {each["roleRef"]["name"] for each in bindings} <= roles
    (deployment,) = [each for each in found if each["kind"] == "Deployment"]
    own = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    detection = {each["name"]: each.get("value") for each in container(deployment)["env"]}
    assert accounts == {own, detection["STATEWARD_DETECTION_SERVICE_ACCOUNT"], *OF_TOKENS}


def test_accounts_that_exist_are_not_made_and_get_the_rights() -> None:
    found = made({"serviceAccount": {"create": False, "name": "operators"}})
    assert names(found, "ServiceAccount") == OF_TOKENS
    subjects = [subject for each in found if each["kind"].endswith("Binding") for subject in each["subjects"]]
    accounts = {each["name"] for each in subjects if each["kind"] == "ServiceAccount"}
    assert accounts == {"operators", "operators-detection", *OF_TOKENS}


@pytest.mark.parametrize(
    ("account", "said"),
    [
        ({"create": False}, "name the account that exists"),
        ({"create": False, "name": "default"}, "all pods that name no account"),
        ({"name": "default"}, "all pods that name no account"),
    ],
)
def test_an_account_without_a_name_or_one_of_other_pods_is_refused(account: dict[str, Any], said: str) -> None:
    with pytest.raises(Failure, match=said):
        made({"serviceAccount": account})


def test_two_releases_share_no_name_of_what_a_kubernetes_cluster_has_once() -> None:
    given = {"webhook": False, "page": False}
    ours, theirs = (
        names(made(given, release), "ClusterRole", "ClusterRoleBinding") for release in ("stateward", "logs")
    )
    assert ours & theirs == set()


def test_the_accounts_of_tokens_can_do_nothing_but_what_they_are_for() -> None:
    """A user that may request a token for the endpoint may request one of the account for the API server as well."""
    found = made({})
    roles = {each["metadata"]["name"]: each["rules"] for each in found if each["kind"] in {"Role", "ClusterRole"}}
    rights = {
        subject["name"]: [rule["verbs"] for rule in roles[each["roleRef"]["name"]]]
        for each in found
        if each["kind"].endswith("Binding")
        for subject in each["subjects"]
        if subject["name"] in OF_TOKENS
    }
    assert rights == {ACCOUNT: [["get"]], PREVIEW_ACCOUNT: [[PREVIEW_VERB]]}


def test_without_rights_all_else_is_the_same() -> None:
    assert made({"rbac": {"create": False}}) == [each for each in made({}) if each["kind"] not in RIGHTS]


@pytest.mark.parametrize(
    ("parts", "operator", "clusters"),
    [(["operator", "clusters"], True, True), (["operator"], True, False), (["clusters"], False, True)],
)
def test_network_policies_restrict_the_operator_or_clusters_or_both(
    parts: list[str], operator: bool, clusters: bool
) -> None:
    found = made({"networkPoliciesFor": parts})
    (deployment,) = [each for each in found if each["kind"] == "Deployment"]
    assert bool(names(found, "NetworkPolicy")) == operator
    assert ("--network-policies" in container(deployment)["args"]) == clusters
