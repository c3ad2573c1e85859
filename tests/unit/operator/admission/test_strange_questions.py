"""The webhook answers each request; invalid requests are allowed, and none causes an error."""

import asyncio
import time

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stateward.api.kinds.cluster import Cluster
from stateward.operator.admission import search_objects
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.admission.server import respond
from tests.support.fuzz import fuzzed
from tests.unit.operator.admission.test_admission_keys import Patched

DEEP = 5000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["OpenSearchCluster", "FoundationDBCluster", "Other", ""]) | VALUES
QUESTIONS = st.fixed_dictionaries(
    {}, optional={"uid": VALUES, "kind": st.fixed_dictionaries({"kind": KINDS}) | VALUES, "object": VALUES}
).map(lambda request: msgspec.json.encode({"request": request}))


async def refused(_new: Cluster, _old: Cluster | None) -> Verdict:
    return Verdict(refused=("no",))


@fuzzed(150)
@example(b'{"request":' * DEEP)
@example(
    b'{"request": {"uid": "a", "kind": {"kind": "OpenSearchCluster"}, "object": ' + b"[" * DEEP + b"]" * DEEP + b"}}"
)
@example(b'{"request": {"uid": "\\ud800"}}')
@example(b'{"request": {"uid": "\\u0000", "kind": {"kind": "Package"}, "object": {"spec": {"archive": "\\u0000"}}}}')
@given(QUESTIONS | st.binary(max_size=40))
async def test_every_question_has_an_answer(question: bytes) -> None:
    for answer in (await respond(refused, question), await PackageReviews(Patched(), ("",)).respond(question)):
        assert msgspec.json.encode(answer)
        assert answer["kind"] == "AdmissionReview"


@pytest.mark.parametrize(("depth", "allowed"), [(10, True), (DEEP, False)])
async def test_what_is_too_deep_to_be_read_is_refused_and_what_makes_no_sense_is_let_through(
    depth: int, *, allowed: bool
) -> None:
    spec = b'{"spec": {"version": ' + b"[" * depth + b"]" * depth + b"}}"
    question = b'{"request": {"kind": {"kind": "OpenSearchCluster"}, "object": ' + spec + b"}}"
    assert (await respond(refused, question))["response"]["allowed"] is allowed


async def test_what_is_too_deep_and_no_json_is_answered_at_once() -> None:
    """Anyone who reaches the port could stop the operator for hours, with some hundred kilobytes."""
    assert (await respond(refused, b'{"a":' + b"[" * DEEP + b'"' + b'\\"' * 500_000))["response"]["allowed"] is False


async def test_all_else_goes_on_while_a_large_question_is_looked_at_that_is_too_deep() -> None:
    """8 MiB of brackets take ten seconds, in which the operator lost its lease."""
    question = b'{"a":' + b"[" * DEEP + b"],[" * 400_000
    answers = [asyncio.create_task(made) for made in (respond(refused, question), search_objects.respond(question))]
    longest, last = 0.0, time.perf_counter()
    while not all(answer.done() for answer in answers):
        await asyncio.sleep(0.01)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    assert longest < 1
    assert all(answer.result()["response"]["allowed"] is False for answer in answers)
