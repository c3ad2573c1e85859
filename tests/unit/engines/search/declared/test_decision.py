"""What to do about an object, decided from its desired and observed state alone."""

from dataclasses import replace
from typing import Any

import pytest

from stateward.api.kinds.search_object import Claim, Drift, Existing
from stateward.engines.search.declared.decision import Do, decide, remove
from stateward.engines.search.declared.desired import Desired, Memory, Observed, protection
from stateward.engines.search.declared.identity import Declared
from stateward.engines.search.declared.kinds import KINDS
from stateward.engines.search.declared.users import KINDS as USER_KINDS

ONE = frozenset({"2.19.3"})
NOTE = "stateward.dev/search-object"


def template(claim: str = "", **memory: str) -> Desired:
    kind = KINDS["OpenSearchCluster"]["indexTemplate"]
    body = {"index_patterns": ["a-*"]}
    known = Memory(claim, memory.get("applied", ""), memory.get("stored", ""))
    return Desired(Declared(kind, "indexTemplate/a", {"name": "a"}), body, body, "digest", "prod/mine", known)


def role(claim: str = "") -> Desired:
    kind = KINDS["OpenSearchCluster"]["role"]
    body: dict[str, Any] = {"cluster_permissions": ["a"]}
    return Desired(Declared(kind, "role/a", {"name": "a"}), body, body, "digest", "prod/mine", Memory(claim))


def found(body: dict[str, Any]) -> Observed:
    return Observed({"index_templates": [{"name": "a", "index_template": body}]}, ONE)


def found_role(body: dict[str, Any]) -> Observed:
    return Observed({"a": body}, ONE)


ABSENT = Observed(None, ONE)
THEIRS = {"index_patterns": ["b-*"]}


def noted(owner: str) -> dict[str, Any]:
    return {**THEIRS, "_meta": {NOTE: owner}}


def test_nothing_is_written_before_it_is_claimed() -> None:
    assert decide(template(), ABSENT, "").claim == Claim.CREATING
    adopting = replace(template(), existing=Existing.ADOPT)
    assert (decide(adopting, found(THEIRS), "").do, decide(adopting, found(THEIRS), "").claim) == (
        Do.CLAIM,
        Claim.ADOPTING,
    )


def test_a_refusal_names_the_owner_that_the_note_says() -> None:
    assert "made by prod/theirs" in decide(template(), found(noted("prod/theirs")), "").message
    assert "made by" not in decide(template(), found(THEIRS), "").message


def test_the_own_note_is_a_claim_whose_status_was_lost() -> None:
    assert decide(template(), found(noted("prod/mine")), "").claim == Claim.ADOPTING


@pytest.mark.parametrize("note", [7, ["prod/mine"], None])
def test_a_note_that_is_no_text_names_no_owner(note: object) -> None:
    decision = decide(template(), found({**THEIRS, "_meta": {NOTE: note}}), "")
    assert (decision.do, decision.reason) == (Do.STOP, "Exists")


def test_what_the_database_stored_in_its_own_form_agrees() -> None:
    known = template(Claim.OWNED, applied="digest", stored="as stored")
    assert decide(known, found(THEIRS), "as stored").do is Do.NOTHING
    assert decide(known, found(THEIRS), "other").do is Do.SEND


def test_what_has_all_that_is_declared_agrees_with_any_digest() -> None:
    known = template(Claim.OWNED, applied="digest", stored="as stored")
    assert decide(known, found({"index_patterns": ["a-*"], "new_default": 1}), "other").do is Do.NOTHING


def test_an_edit_is_written_though_the_database_has_it_already() -> None:
    """So its digest is recorded: a later change by another client is then drift and not an edit."""
    known = template(Claim.OWNED, applied="before")
    decision = decide(known, found({"index_patterns": ["a-*"]}), "")
    assert (decision.do, decision.drift) == (Do.SEND, "")


def test_the_drift_names_the_place_or_the_deletion() -> None:
    known = template(Claim.OWNED, applied="digest")
    assert decide(known, found(THEIRS), "now").drift == "another client has changed /index_patterns/0"
    assert decide(known, ABSENT, "").drift == "another client has deleted it"


@pytest.mark.parametrize("flag", ["reserved", "hidden", "static"])
def test_a_protected_object_is_neither_changed_nor_removed(flag: str) -> None:
    observed = found_role({"cluster_permissions": ["x"], flag: True})
    assert decide(role(Claim.OWNED), observed, "").reason == "Protected"
    assert remove(role(Claim.OWNED), observed).do is Do.NOTHING


def test_reserved_roles_and_users_of_elasticsearch_are_protected() -> None:
    assert protection({"cluster": ["all"], "metadata": {"_reserved": True}}) == "reserved"
    assert protection({"cluster": ["all"], "metadata": {"_reserved": False}}) is None
    assert protection({"cluster": ["all"], "metadata": {"team": "x"}}) is None
    assert protection(None) is None
    assert set(USER_KINDS) == set(KINDS)


def test_only_what_was_claimed_as_owned_is_removed() -> None:
    assert remove(role(), found_role({})).do is Do.NOTHING
    assert remove(role(Claim.MERGED), found_role({})).do is Do.NOTHING
    assert remove(replace(role(Claim.OWNED), retain=True), found_role({})).do is Do.NOTHING
    assert remove(role(Claim.OWNED), ABSENT).do is Do.NOTHING
    sent = remove(role(Claim.OWNED), found_role({})).request
    assert sent is not None
    assert (sent.method, sent.path) == ("DELETE", "/_plugins/_security/api/roles/a")


def test_an_unproven_claim_is_removed_if_the_object_or_its_note_is_the_own_one() -> None:
    assert remove(template(Claim.CREATING), found({"index_patterns": ["a-*"]})).do is Do.SEND
    assert remove(template(Claim.CREATING), found(noted("prod/mine"))).do is Do.SEND


def test_an_unproven_claim_of_another_object_is_a_doubt_and_of_a_foreign_one_is_let_go() -> None:
    decision = remove(template(Claim.CREATING), found(THEIRS))
    assert (decision.do, decision.reason) == (Do.STOP, "OwnerUnknown")
    assert remove(template(Claim.CREATING), found(noted("prod/theirs"))).do is Do.NOTHING


def test_while_versions_are_mixed_or_unknown_nothing_is_written_or_removed() -> None:
    for versions, reason in ((frozenset({"1", "2"}), "MixedVersions"), (frozenset[str](), "VersionsUnknown")):
        observed = Observed({"a": {}}, versions)
        assert decide(role(Claim.OWNED), observed, "").reason == reason
        assert remove(role(Claim.OWNED), observed).reason == reason


def elasticsearch_role(claim: str = "", **memory: str) -> Desired:
    kind = KINDS["ElasticsearchCluster"]["role"]
    body: dict[str, Any] = {"indices": [{"names": ["a"], "privileges": ["read"]}]}
    known = Memory(claim, memory.get("applied", ""), memory.get("stored", ""))
    return Desired(Declared(kind, "role/a", {"name": "a"}), body, body, "digest", "prod/mine", known)


def test_a_role_of_elasticsearch_after_a_lost_answer_is_the_own_one() -> None:
    stored = {"indices": [{"names": ["a"], "privileges": ["read"], "allow_restricted_indices": False}]}
    assert decide(elasticsearch_role(Claim.CREATING), found_role(stored), "now").do is Do.SEND
    assert remove(elasticsearch_role(Claim.CREATING), found_role(stored)).do is Do.SEND
    reported = replace(elasticsearch_role(Claim.OWNED, applied="digest"), drift=Drift.REPORT)
    assert decide(reported, found_role(stored), "now").do is Do.NOTHING
