"""The webhook's verdict on declared objects and users: from the spec alone, and never in the way of a deletion."""

from typing import Any

import msgspec
import pytest

from stateward.operator.admission.additions import written_alike
from stateward.operator.admission.search_objects import respond

CLUSTER = {"kind": "OpenSearchCluster", "name": "logs"}
OBJECT = {"cluster": CLUSTER, "object": "indexTemplate/logs"}
USER = {"cluster": CLUSTER, "roles": ["reader"]}


async def asked(kind: str, new: Any, old: Any = None, **meta: Any) -> dict[str, Any]:
    def document(spec: Any) -> Any:
        return None if spec is None else {"metadata": {"name": "one", **meta}, "spec": spec}

    request = {"uid": "7", "kind": {"kind": kind}, "object": document(new), "oldObject": document(old)}
    return (await respond(msgspec.json.encode({"request": request})))["response"]


@pytest.mark.parametrize(("kind", "spec"), [("SearchObject", OBJECT), ("SearchUser", USER)])
async def test_a_right_spec_is_accepted(kind: str, spec: Any) -> None:
    assert (await asked(kind, spec))["allowed"]
    assert (await asked(kind, None, spec))["allowed"], "a deletion"


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("SearchObject", {**OBJECT, "object": "nonsense/x"}, "has no such kind"),
        ("SearchObject", {**OBJECT, "object": "role/stateward-operator"}, "cannot be declared"),
        ("SearchUser", {**USER, "username": "stateward-operator"}, "cannot be declared"),
        ("SearchUser", {**USER, "password": {"rotateAfter": "1m"}}, "must be 1h or longer"),
    ],
)
async def test_a_wrong_spec_is_refused_with_a_sentence(kind: str, spec: Any, said: str) -> None:
    answer = await asked(kind, spec)
    assert not answer["allowed"]
    assert said in answer["status"]["message"]
    assert (await asked(kind, spec, spec))["allowed"], (
        "what is stored already can be changed elsewhere, as by a finalizer"
    )
    assert (await asked(kind, spec, deletionTimestamp="2026-01-01T00:00:00Z"))["allowed"]


async def test_two_faults_that_are_stored_may_be_corrected_one_by_one() -> None:
    """They came in while the webhook was away, or before there was a rule about them."""
    one, other = {"username": "stateward-operator"}, {"password": {"rotateAfter": "1m"}}
    assert (await asked("SearchUser", {**USER, **other}, {**USER, **one, **other}))["allowed"]
    assert not (await asked("SearchUser", {**USER, **one, **other}, {**USER, **other}))["allowed"]


async def test_a_change_of_one_to_true_is_a_change() -> None:
    """They are equal for Python: the second one came in unread."""
    old, new = ({**OBJECT, "object": "clusterSettings", "body": {"cluster.*": value}} for value in (1, True))
    assert not (await asked("SearchObject", new))["allowed"]
    assert (await asked("SearchObject", old, old))["allowed"]
    assert not written_alike(old, new)


async def test_an_answer_has_few_of_many_problems() -> None:
    """Each key of a body was a problem of its own: a body of a megabyte got an answer of many."""
    settings = {f"cluster.*{i}": 1 for i in range(5000)}
    answer = await asked("SearchObject", {"cluster": CLUSTER, "object": "clusterSettings", "body": settings})
    message = answer["status"]["message"]
    assert "spec.body[cluster.*0]: must be the name of one setting" in message
    assert message.endswith("and 4980 more")
    assert len(message) < 5000


@pytest.mark.parametrize("question", [b"{", b"{}", b'{"request": {"uid": "7", "kind": {"kind": "Pod"}}}'])
async def test_what_cannot_be_read_is_let_through(question: bytes) -> None:
    assert (await respond(question))["response"]["allowed"]
