"""What to do about cluster settings, each of which may be of another client."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from stateward.api.kinds.search_object import Claim, Existing
from stateward.engines.search.declared.decision import Do, decide, give_up, remove
from stateward.engines.search.declared.desired import Desired, Memory, Observed, stored
from stateward.engines.search.declared.identity import Declared
from stateward.engines.search.declared.kinds import KINDS
from stateward.engines.search.declared.preview import preview


def of_settings(claim: str, unwritten: set[str], /, settings: set[str] | None = None, **body: str) -> Desired:
    """Return settings that are declared, of which some may not be written yet."""
    kind = KINDS["OpenSearchCluster"]["clusterSettings"]
    claimed = frozenset(settings or body)
    known = Memory(claim, "before", "before", claimed, frozenset(unwritten))
    return Desired(Declared(kind, "clusterSettings"), body, body, "digest", "prod/mine", known)


def stored_settings(**values: str) -> Observed:
    return Observed({"persistent": values, "transient": {}}, frozenset({"2.19.3"}))


@pytest.mark.parametrize(
    ("desired", "stored", "does", "reason"),
    [
        # Claimed, and another client was faster.
        (of_settings(Claim.CREATING, {"a"}, a="1"), {"a": "2"}, Do.STOP, "Exists"),
        (of_settings(Claim.OWNED, {"b"}, a="3", b="1"), {"a": "1", "b": "2"}, Do.STOP, "Exists"),
        # The answer to the write was lost, and it was performed, or was not.
        (of_settings(Claim.OWNED, {"b"}, a="1", b="1"), {"a": "1", "b": "1"}, Do.SEND, ""),
        (of_settings(Claim.OWNED, {"b"}, a="3", b="1"), {"a": "1"}, Do.SEND, ""),
        # A change by another client of what was written is drift.
        (of_settings(Claim.OWNED, set(), a="1"), {"a": "2"}, Do.SEND, ""),
        # Not declared any more before it was known whose it is.
        (of_settings(Claim.OWNED, {"b"}, {"a", "b"}, a="3"), {"a": "1", "b": "2"}, Do.STOP, "OwnerUnknown"),
        (of_settings(Claim.OWNED, {"b"}, {"a", "b"}, a="3"), {"a": "1"}, Do.SEND, ""),
        (of_settings(Claim.OWNED, set(), {"a", "b"}, a="3"), {"a": "1", "b": "2"}, Do.SEND, ""),
    ],
)
def test_a_setting_that_may_be_of_others_is_not_written(
    desired: Desired, stored: dict[str, str], does: Do, reason: str
) -> None:
    desired = changed(desired, applied="")
    found = decide(desired, stored_settings(**stored), "now", "before")
    assert (found.do, found.reason) == (does, reason)
    adopting = decide(replace(desired, existing=Existing.ADOPT), stored_settings(**stored), "now")
    assert adopting.do is Do.SEND


@pytest.mark.parametrize(
    ("desired", "stored", "does"),
    [
        (of_settings(Claim.OWNED, {"b"}, a="1", b="1"), {"a": "1", "b": "2"}, Do.STOP),
        (of_settings(Claim.OWNED, {"b"}, a="1", b="1"), {"a": "1", "b": "1"}, Do.SEND),
        (of_settings(Claim.OWNED, {"b"}, a="1", b="1"), {"a": "1"}, Do.SEND),
        (of_settings(Claim.CREATING, {"a"}, a="1"), {"a": "2"}, Do.STOP),
        (of_settings(Claim.CREATING, {"a"}, a="1"), {"other": "2"}, Do.NOTHING),
    ],
)
def test_a_setting_that_may_be_of_others_is_not_reset(desired: Desired, stored: dict[str, str], does: Do) -> None:
    found = remove(changed(desired, applied=""), stored_settings(**stored), "before")
    assert (found.do, found.reason) == (does, "OwnerUnknown" if does is Do.STOP else "")


@pytest.mark.parametrize("claim", [Claim.OWNED, Claim.CREATING])
def test_a_setting_that_was_refused_is_not_reset(claim: str) -> None:
    # The database does not know it, and refuses a request that gives it its default like one that sets it.
    desired = of_settings(claim, {"a", "typo"}, {"a", "typo"}, a="1")
    for observed in (stored_settings(other="1"), stored_settings(a="1")):
        found = decide(desired, observed, "now")
        assert found.request is not None
        assert found.request.body == {"persistent": {"a": "1"}}
    found = remove(desired, stored_settings(a="1"))
    assert found.request is not None
    assert found.request.body == {"persistent": {"a": None}}
    written = of_settings(Claim.OWNED, set(), {"a", "b"}, a="1")
    found = decide(written, stored_settings(a="1"), "now")
    assert found.request is not None
    assert found.request.body == {"persistent": {"a": "1", "b": None}}


def waiting(**memory: Any) -> Desired:
    """Return settings of which `b` and `c` are set and declared no more, and `a` waits for another resource."""
    desired = of_settings(Claim.OWNED, set(), {"b", "c"}, a="1")
    return replace(desired, memory=replace(desired.memory, applied="", **memory))


def test_a_waiting_resource_resets_what_it_declares_no_more() -> None:
    there = stored_settings(a="9", b="2", theirs="3")
    found = give_up(waiting(), there, "before", frozenset("bc"))
    assert found.request is not None
    assert (found.do, found.request.path, found.request.body) == (
        Do.SEND,
        "/_cluster/settings",
        {"persistent": {"b": None}},
    )
    found = give_up(waiting(), there, "before", frozenset("c"))
    assert found.do is Do.NOTHING, "it has its default already"


def test_it_is_noted_before_a_reset_that_the_database_has_no_body_of_the_resource() -> None:
    """The disaster this prevents: an edit back would find the digest of its body, and call itself Ready."""
    applied = waiting()
    applied = replace(applied, memory=replace(applied.memory, applied="before"))
    for observed in (stored_settings(b="2"), stored_settings(a="9")):
        found = give_up(applied, observed, "before", frozenset("b"))
        assert (found.do, found.claim, found.request) == (Do.CLAIM, Claim.OWNED, None)


def test_nothing_is_given_up_that_others_may_have_changed() -> None:
    found = give_up(waiting(), stored_settings(b="7"), "now", frozenset("b"))
    assert (found.do, found.request) == (Do.STOP, None)
    assert "b stays set" in found.message
    assert give_up(waiting(), stored_settings(a="9"), "now", frozenset("b")).do is Do.NOTHING


@pytest.mark.parametrize("versions", [frozenset[str](), frozenset({"2.17.1", "2.19.3"})])
def test_nothing_is_given_up_while_versions_are_unknown_or_mixed(versions: frozenset[str]) -> None:
    observed = replace(stored_settings(b="2"), versions=versions)
    assert give_up(waiting(), observed, "before", frozenset("b")).do is Do.WAIT
    assert give_up(waiting(), replace(observed, answer={}), "before", frozenset("b")).do is Do.WAIT


def test_only_settings_that_were_surely_set_can_be_given_up() -> None:
    assert of_settings(Claim.OWNED, {"b"}, {"a", "b", "c", "d"}, a="1").given_up(frozenset("d")) == {"c"}
    assert of_settings(Claim.CREATING, set(), {"a", "b"}, a="1").given_up(frozenset()) == frozenset()
    sure = of_settings(Claim.OWNED, {"b"}, {"b", "c"}, a="1", b="2").surely_set
    assert stored(sure, stored_settings(a="1", b="2", c="3")) == {"c": "3"}


def test_what_is_stored_is_recorded_before_a_reset_and_only_that_is_reset_again() -> None:
    # `b` is declared no more, and another client may set it after a reset whose answer is lost.
    owned = of_settings(Claim.OWNED, set(), {"a", "b"}, a="1")
    for act in (partial(decide, stored_digest="now"), remove):
        first = act(changed(owned, applied="earlier", stored="written"), stored_settings(a="1", b="2"), sure_digest="s")
        assert (first.do, first.claim, first.stored) == (Do.CLAIM, Claim.OWNED, "s")
        begun = changed(owned, applied="", stored="s")
        assert act(begun, stored_settings(a="1", b="2"), sure_digest="s").do is Do.SEND
        doubtful = act(begun, stored_settings(a="1", b="3"), sure_digest="other")
        assert (doubtful.do, doubtful.reason) == (Do.STOP, "OwnerUnknown")
        assert "b is set, and it is not known whether this resource set it" in doubtful.message
        assert act(replace(begun, existing=Existing.ADOPT), stored_settings(b="3"), sure_digest="o").do is Do.SEND
    assert decide(begun, stored_settings(a="3"), "now", "other").do is Do.SEND
    assert preview(begun, stored_settings(a="1", b="2"), "now", "s").does == "change"
    assert remove(begun, stored_settings(other="1"), "other").do is Do.NOTHING


def changed(desired: Desired, **memory: str) -> Desired:
    return replace(desired, memory=replace(desired.memory, **memory))
