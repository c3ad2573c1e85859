"""The form of users in each product, their names, and when one follows another."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search_user import SearchUser
from stateward.engines.search.declared.users import body, claims, next_rotation, problems, rotation

HOUR = 3600.0


def user(kind: str = "OpenSearchCluster", username: str = "", status: Any = None, **spec: Any) -> SearchUser:
    wanted = {"cluster": {"kind": kind, "name": "logs"}, "roles": ["reader"], **spec}
    document = {"metadata": {"name": "shop", "namespace": "prod"}, "spec": wanted, "status": status or {}}
    found = msgspec.convert(document, SearchUser)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, username=username))


def test_a_user_of_opensearch_has_roles_and_backend_roles() -> None:
    spec = user(backendRoles=["b"], attributes={"team": "web"}).spec
    assert body(spec, "secret") == {
        "opendistro_security_roles": ["reader"],
        "backend_roles": ["b"],
        "attributes": {"team": "web"},
        "password": "secret",
    }
    assert body(user().spec, "")["attributes"] == {}
    assert "password" not in body(user().spec, "")


def test_a_user_of_elasticsearch_has_roles_and_metadata() -> None:
    spec = user("ElasticsearchCluster", attributes={"team": "web"}).spec
    assert body(spec, "secret") == {"roles": ["reader"], "metadata": {"team": "web"}, "password": "secret"}
    assert body(user("ElasticsearchCluster").spec, "") == {"roles": ["reader"], "metadata": {}}


def test_backend_roles_are_for_opensearch_only() -> None:
    assert not list(problems(user(backendRoles=["b"])))
    assert not list(problems(user("ElasticsearchCluster")))
    (problem,) = problems(user("ElasticsearchCluster", backendRoles=["b"]))
    assert problem.path == "spec.backendRoles"


def test_a_rotated_user_claims_both_its_names_and_those_that_it_still_has() -> None:
    rotated = user(password={"rotateAfter": "10h", "overlap": "1h"}, status={"users": [{"name": "shop"}]})
    assert claims(rotated) == {"user/shop", "user/shop-1", "user/shop-2"}
    assert claims(user()) == {"user/shop"}


@pytest.mark.parametrize(
    ("hours", "current", "times", "expected", "retired"),
    [
        (9.9, "shop-1", {"shop-1": (0.0, None)}, "shop-1", ()),
        (10, "shop-1", {"shop-1": (0.0, None)}, "shop-2", ()),
        (10, "shop-2", {"shop-2": (0.0, None)}, "shop-1", ()),
        (10, "shop-1", {"shop-1": (0.0, None), "shop-2": (1.0, 11 * HOUR)}, "shop-1", ()),
        (11, "shop-1", {"shop-1": (2 * HOUR, None), "shop-2": (1.0, 11 * HOUR)}, "shop-1", ("shop-2",)),
        (10, "shop-1", {"shop-1": (0.0, None), "shop-2": (None, None)}, "shop-2", ()),
        (10, "shop-1", {"shop-1": (None, None)}, "shop-1", ()),
        (0, "shop", {"shop": (0.0, None)}, "shop-1", ()),
        (0, "shop", {"shop": (0.0, None), "shop-1": (0.0, HOUR)}, "shop-2", ()),
        (0, "shop", {"shop": (0.0, None), "shop-1": (0.0, HOUR), "shop-2": (0.0, HOUR)}, "shop", ()),
    ],
)
def test_one_user_follows_the_other(hours: float, current: str, times: Any, expected: str, retired: Any) -> None:
    found = rotation(user(username=current, password={"rotateAfter": "10h", "overlap": "1h"}), hours * HOUR, times)
    assert (found.current, found.retired) == (expected, retired)


@pytest.mark.parametrize(
    ("current", "times", "published", "expected"),
    [
        ("shop-1", {"shop-1": (0.0, None), "shop-2": (None, None)}, "shop-2", "shop-2"),
        ("shop-1", {"shop-1": (0.0, None), "shop-2": (0.0, 9 * HOUR)}, "shop-2", "shop-1"),
        ("shop-1", {"shop-1": (0.0, None)}, "shop-2", "shop-1"),
        ("", {}, "shop-2", "shop-2"),
        ("", {}, "another", "shop-1"),
    ],
)
def test_what_applications_were_given_is_current_also_if_the_status_was_not_written_after_it(
    current: str, times: Any, published: str, expected: str
) -> None:
    asked = user(username=current, password={"rotateAfter": "10h", "overlap": "1h"})
    assert rotation(asked, 5 * HOUR, times, published).current == expected


def test_a_user_that_is_still_valid_from_before_is_not_taken_again() -> None:
    times = {"shop-1": (0.0, None), "shop": (0.0, 9 * HOUR)}
    assert rotation(user(username="shop-1"), 8 * HOUR, times).current == "shop-1"
    given = user(username="shop-1", password={"secretName": "given"})
    assert rotation(given, 8 * HOUR, times).current == "shop", "that password changes at once"


def test_without_a_rotation_there_is_one_user() -> None:
    found = rotation(user(username="shop-1"), 5 * HOUR, {"shop-1": (0.0, 4 * HOUR)})
    assert (found.current, found.retired) == ("shop", ("shop-1",))
    assert next_rotation(user(), 0.0) is None


@pytest.mark.parametrize("kind", ["OpenSearchCluster", "ElasticsearchCluster"])
@pytest.mark.parametrize("name", ["admin", "kibanaserver", "stateward-operator"])
def test_users_that_the_operator_creates_cannot_be_declared(kind: str, name: str) -> None:
    """The disaster this prevents: the resource is deleted, and with it the administrator, who is created only once."""
    named = user(kind, existing="Adopt")
    named = msgspec.structs.replace(named, spec=msgspec.structs.replace(named.spec, username=name))
    (problem,) = problems(named)
    assert (problem.path, problem.value) == ("spec.username", name)
