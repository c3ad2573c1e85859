"""Users that may see a database's report: only a clear yes of the API server counts, and no credentials are shown."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.kube.client.client import RawRequest
from stateward.kube.objects.metadata import Key
from stateward.operator.database_view.answers import decode, encode, shown
from stateward.operator.database_view.reviews import (
    LONGEST,
    User,
    access_review,
    allowed,
    authenticated,
    token_review,
    user_of,
)
from stateward.planning.model.database import Copy, CopyState, Database, Health, Unformed, Unit, Unknown

KEY = Key("prod", "logs")
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


def test_a_user_is_known_by_name_groups_and_what_the_server_adds() -> None:
    user = {"username": "ann", "uid": "7", "groups": ["a", "b"], "extra": {"scopes": ["x"]}}
    found = authenticated({"status": {"authenticated": True, "user": user}})
    assert found == User("ann", "7", ("a", "b"), {"scopes": ["x"]})
    asked = access_review(User("ann", "7", ("a", "b"), {"scopes": ["x"]}), "osclusters", KEY)["spec"]
    assert asked == {
        "user": "ann",
        "uid": "7",
        "groups": ["a", "b"],
        "extra": {"scopes": ["x"]},
        "resourceAttributes": {
            "verb": "get",
            "group": "stateward.dev",
            "resource": "osclusters",
            "namespace": "prod",
            "name": "logs",
        },
    }


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"authenticated": False, "user": {"username": "ann"}},
        {"authenticated": "true", "user": {"username": "ann"}},
        {"authenticated": True},
        {"authenticated": True, "user": {"username": ""}},
        {"authenticated": True, "user": {"username": "ann"}, "error": "expired"},
    ],
)
def test_anything_but_a_clear_answer_is_no_user(status: dict[str, Any]) -> None:
    assert authenticated({"status": status}) is None


@pytest.mark.parametrize(
    "audiences", [{}, {"audiences": []}, {"audiences": ["https://kubernetes.default.svc"]}, {"audiences": "mine"}]
)
def test_a_token_for_an_audience_is_none_unless_the_answer_names_the_audience(audiences: dict[str, Any]) -> None:
    """An authenticator that knows no audiences accepts a token for the API server, and names none."""
    status = {"authenticated": True, "user": {"username": "ann"}, **audiences}
    assert authenticated({"status": status}, "mine") is None
    assert authenticated({"status": {**status, "audiences": ["mine"]}}, "mine") == User("ann")


def test_a_right_needs_a_clear_yes_without_a_denial() -> None:
    assert allowed({"status": {"allowed": True}})
    for status in ({}, {"allowed": False}, {"allowed": "true"}, {"allowed": True, "denied": True}):
        assert not allowed({"status": status})


@given(json)
def test_no_answer_of_any_form_lets_anyone_in(answer: Any) -> None:
    assert authenticated(answer) is None
    assert authenticated(answer, "mine") is None
    assert allowed(answer) is False


async def test_what_cannot_be_a_token_is_not_sent() -> None:
    class Api:
        async def request(self, request: RawRequest) -> bytes:
            raise AssertionError("asked")

    for token in ("", "x" * (LONGEST + 1)):
        assert await user_of(Api(), token) is None  # type: ignore[arg-type]


def test_a_token_is_asked_about_for_the_api_server_alone() -> None:
    assert token_review("t")["spec"] == {"token": "t"}  # without audiences: a token for another service is refused
    assert token_review("t", "mine")["spec"] == {"token": "t", "audiences": ["mine"]}


REPORT = Database(
    identity="i",
    health=Health.YELLOW,
    nodes={},
    units=(Unit("docs[0]", 2, (Copy(CopyState.STARTED, primary=True, member="logs-hot-0"),)),),
    draining=frozenset({"logs-hot-1"}),
    undrainable={"logs-hot-2": "its disk is full"},
    connection="logs:credential@10.0.0.1:4500",
)


def test_a_report_arrives_whole_but_without_the_cluster_file() -> None:
    sent = encode(shown(REPORT))
    assert b"credential" not in sent
    found = decode(sent)
    assert isinstance(found, Database)
    assert (found.connection, found.units, found.draining) == ("", REPORT.units, REPORT.draining)


@pytest.mark.parametrize("unknown", [Unknown("no answer"), Unformed("never created")])
def test_what_is_unknown_stays_unknown(unknown: Unknown) -> None:
    assert decode(encode(shown(unknown))) == Unknown(unknown.why)


def test_an_answer_of_another_version_is_unknown() -> None:
    for sent in (b"", b"{}", b"null", b'{"database": {"identity": 7}}'):
        assert isinstance(decode(sent), Unknown)
