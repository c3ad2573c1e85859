"""What to do about an object, decided from its desired and observed state alone."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search_object import Claim, Drift, Existing, SearchObjectSpec
from stateward.engines.search.declared.decision import Do, decide, remove
from stateward.engines.search.declared.desired import Desired, Memory, Observed, protection
from stateward.engines.search.declared.identity import Declared, declared
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


MARKED: dict[str, tuple[str, dict[str, Any]]] = {
    "role/a": ("metadata", {"cluster": ["monitor"]}),
    "roleMapping/a": ("metadata", {"roles": ["a"], "rules": {"field": {"username": "*"}}}),
    "watch/a": ("metadata", {"trigger": {"schedule": {"interval": "1h"}}}),
    "/_transform/a": ("_meta", {"source": {"index": "i"}, "description": "d"}),
}


def marked(name: str, claim: str = "", **memory: str) -> Desired:
    cluster = {"kind": "ElasticsearchCluster", "name": "logs"}
    place = {"path": name} if name.startswith("/") else {"object": name}
    body = MARKED[name][1]
    what = declared(msgspec.convert({"cluster": cluster, **place, "body": body}, SearchObjectSpec))
    known = Memory(claim, memory.get("applied", ""), memory.get("stored", ""))
    return Desired(what, body, body, "digest", "prod/mine", known)


def answered(name: str, body: dict[str, Any]) -> Observed:
    return Observed({"watch": body} if name == "watch/a" else {"a": body}, ONE)


@pytest.mark.parametrize("name", list(MARKED))
def test_a_note_of_the_owner_is_written_where_the_object_has_a_place_for_it(name: str) -> None:
    place, body = MARKED[name]
    request = decide(marked(name, Claim.CREATING), ABSENT, "").request
    assert request is not None
    assert request.body == {**body, place: {NOTE: "prod/mine"}}
    theirs = answered(name, {**body, place: {NOTE: "prod/theirs"}, "description": "theirs"})
    assert "made by prod/theirs" in decide(marked(name), theirs, "").message
    mine = answered(name, {**body, place: {NOTE: "prod/mine"}})
    assert decide(marked(name), mine, "").claim == Claim.ADOPTING


@pytest.mark.parametrize("name", list(MARKED))
def test_an_own_object_without_the_note_is_neither_drift_nor_foreign(name: str) -> None:
    body = MARKED[name][1]
    for observed in (answered(name, body), answered(name, {**body, MARKED[name][0]: {}})):
        assert decide(marked(name, Claim.OWNED, applied="digest", stored="before"), observed, "now").do is Do.NOTHING
        assert decide(marked(name, Claim.CREATING), observed, "now").do in (Do.SEND, Do.NOTHING)
        assert remove(marked(name, Claim.CREATING), observed).do is Do.SEND


def test_an_edit_of_a_transform_writes_the_note() -> None:
    stored = answered("/_transform/a", {"source": {"index": ["i"]}, "description": "before"})
    request = decide(marked("/_transform/a", Claim.OWNED, applied="before"), stored, "now").request
    assert request is not None
    assert request.body == {"description": "d", "_meta": {NOTE: "prod/mine"}}


@pytest.mark.parametrize("metadata", [None, "text"])
def test_a_body_without_a_place_for_the_note_is_sent_as_it_is(metadata: object) -> None:
    body = {"cluster": ["monitor"], "metadata": metadata}
    request = decide(replace(marked("role/a", Claim.CREATING), body=body, sent=body), ABSENT, "").request
    assert request is not None
    assert request.body == body


DOMAIN = {"http_enabled": True, "order": 1}
DYNAMIC: dict[str, Any] = {
    "filtered_alias_mode": "warn",
    "http": {"anonymous_auth_enabled": False, "xff": {"enabled": False, "remoteIpHeader": "X-Forwarded-For"}},
    "authc": {"mine": {**DOMAIN, "description": None}},
    "authz": {},
}


def authentication(claim: str) -> Desired:
    kind = KINDS["OpenSearchCluster"]["authentication"]
    body = {"dynamic": {"authc": {"mine": DOMAIN}}}
    known = Memory(claim, "digest", "before")
    return Desired(Declared(kind, "authentication", {"name": ""}), body, body, "digest", "prod/mine", known)


def configured(**more: Any) -> Observed:
    return Observed({"config": {"dynamic": {**DYNAMIC, **more}}}, ONE)


def test_defaults_of_the_authentication_are_no_drift() -> None:
    assert decide(authentication(Claim.OWNED), configured(), "now").do is Do.NOTHING


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"authc": {**DYNAMIC["authc"], "theirs": DOMAIN}}, "/dynamic/authc/theirs"),
        ({"authz": {"theirs": DOMAIN}}, "/dynamic/authz/theirs"),
        ({"http": {"anonymous_auth_enabled": True}}, "/dynamic/http/anonymous_auth_enabled"),
        ({"http": {"xff": {"enabled": True}}}, "/dynamic/http/xff/enabled"),
        ({"on_behalf_of": {"enabled": True}}, "/dynamic/on_behalf_of/enabled"),
    ],
)
def test_another_way_in_is_drift_of_an_authentication_that_is_owned_and_not_of_a_merged_one(
    more: dict[str, Any], place: str
) -> None:
    assert decide(authentication(Claim.MERGED), configured(**more), "now").do is Do.NOTHING
    decision = decide(authentication(Claim.OWNED), configured(**more), "now")
    assert (decision.do, decision.drift) == (Do.SEND, f"another client has changed {place}")
    assert "theirs" not in str(decision.request)
    reported = decide(replace(authentication(Claim.OWNED), drift=Drift.REPORT), configured(**more), "now")
    assert (reported.do, reported.reason) == (Do.STOP, "Drifted")


def test_a_right_of_others_in_a_merged_role_is_no_drift() -> None:
    merged = replace(role(Claim.MERGED), memory=Memory(Claim.MERGED, "digest", "before"))
    both = found_role({"cluster_permissions": ["a"], "index_permissions": [{"index_patterns": ["theirs"]}]})
    assert decide(merged, both, "now").do is Do.NOTHING


def test_what_others_have_made_is_not_adopted_once_the_consent_is_taken_back() -> None:
    begun, theirs = role(Claim.ADOPTING), found_role({"cluster": ["other"]})
    assert decide(replace(begun, existing=Existing.ADOPT), theirs, "now").do is Do.SEND
    found = decide(replace(begun, existing=Existing.REFUSE), theirs, "now")
    assert (found.do, found.reason) == (Do.STOP, "Exists")
