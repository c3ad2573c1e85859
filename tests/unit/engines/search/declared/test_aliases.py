"""Aliases of several indices: what a rollover moved on stays, and no write takes the write index away."""

from dataclasses import replace
from typing import Any

import pytest

from stateward.api.kinds.search_object import Claim, Drift
from stateward.engines.search.declared.decision import Decision, Do, decide, remove
from stateward.engines.search.declared.desired import Desired, Memory, Observed
from stateward.engines.search.declared.identity import Declared
from stateward.engines.search.declared.kinds import KINDS
from stateward.engines.search.declared.preview import preview

ONE = frozenset({"8.19.4"})
WRITES, READS = {"is_write_index": True}, {"is_write_index": False}


def alias(body: dict[str, Any], claim: str = Claim.OWNED, applied: str = "digest") -> Desired:
    what = Declared(KINDS["ElasticsearchCluster"]["alias"], "alias/logs-1/logs", {"index": "logs-1", "name": "logs"})
    return Desired(what, body, body, "digest", "prod/mine", Memory(claim, applied))


def on(**indices: dict[str, Any]) -> Observed:
    found = {name.replace("_", "-"): {"aliases": {"logs": each}} for name, each in indices.items()}
    return Observed(found or None, ONE)


def done(desired: Desired, observed: Observed) -> Decision:
    return decide(desired, observed, "now")


@pytest.mark.parametrize("drift", list(Drift))
def test_an_alias_that_a_rollover_has_moved_on_is_no_drift(drift: Drift) -> None:
    decision = done(replace(alias({}), drift=drift), on(logs_2={}))
    assert (decision.do, decision.claim) == (Do.NOTHING, Claim.OWNED)
    assert "logs-2" in decision.message


@pytest.mark.parametrize("drift", list(Drift))
def test_a_write_index_that_a_rollover_has_moved_on_is_no_drift(drift: Drift) -> None:
    decision = done(replace(alias(WRITES), drift=drift), on(logs_1=READS, logs_2=WRITES))
    assert (decision.do, decision.claim) == (Do.NOTHING, Claim.OWNED)
    assert "logs-2" in decision.message


def test_an_edit_after_a_rollover_leaves_the_write_index_where_it_is() -> None:
    desired, observed = alias({**WRITES, "filter": {"a": 1}}, applied="before"), on(logs_1=READS, logs_2=WRITES)
    decision = done(desired, observed)
    assert decision.request is not None
    assert decision.request.body is not None
    (action,) = decision.request.body["actions"]
    assert action["add"]["is_write_index"] is False
    assert [change.path for change in preview(desired, observed, "").changes] == ["/filter"]


def test_an_edit_does_not_take_an_alias_back_that_was_moved_on() -> None:
    decision = done(alias({"filter": {"a": 1}}, applied="before"), on(logs_2={}))
    assert (decision.do, decision.reason) == (Do.STOP, "WriteIndexLost")
    assert "logs-2" in decision.message


def test_a_new_alias_does_not_end_the_writes_through_it() -> None:
    for claim in ("", Claim.CREATING):
        decision = done(alias({}, claim, ""), on(logs_2={}))
        assert (decision.do, decision.reason) == (Do.STOP, "WriteIndexLost")
    assert done(alias(READS, "", ""), on(logs_2={})).claim == Claim.CREATING
    assert done(alias(WRITES, "", ""), on(logs_2={})).claim == Claim.CREATING
    assert done(alias({}, "", ""), on()).claim == Claim.CREATING
    assert done(alias({}, "", ""), on(logs_2=WRITES)).claim == Claim.CREATING
    assert done(alias({}, "", ""), on(logs_2={}, logs_3={})).claim == Claim.CREATING


def test_an_alias_is_written_again_where_that_takes_no_write_index_away() -> None:
    for others in (on(), on(logs_2=WRITES), on(logs_2={}, logs_3={}), on(logs_2=READS)):
        decision = done(alias({}), others)
        assert (decision.do, decision.drift) == (Do.SEND, "another client has deleted it")
    assert done(alias(WRITES), on(logs_1=READS, logs_2={})).do is Do.SEND
    assert done(alias(WRITES), on(logs_2={})).do is Do.SEND


def test_an_alias_for_reading_alone_is_corrected_though_another_index_takes_the_writes() -> None:
    assert done(alias(READS), on(logs_2={})).do is Do.NOTHING, "two indices without a write index take no writes"
    assert done(alias(READS), on(logs_2=WRITES)).do is Do.SEND
    assert done(alias({"routing": "1"}), on(logs_1={}, logs_2=WRITES)).do is Do.SEND


def test_a_claim_that_was_not_written_yet_is_no_rollover() -> None:
    assert done(alias(WRITES, Claim.CREATING, ""), on(logs_2=WRITES)).do is Do.SEND


def test_an_alias_that_was_moved_on_is_not_removed_from_the_other_index() -> None:
    assert remove(alias({}), on(logs_2={})).do is Do.NOTHING
