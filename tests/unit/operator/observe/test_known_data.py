"""The data that a cluster uses: present, missing, or unreadable."""

import base64

import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.base import Json
from stateward.engines.pods.uses import uses_of
from stateward.engines.search.configuration import keystore
from stateward.operator.observe.known_data import (
    MISSING,
    UNKNOWN,
    KnownData,
    ReadData,
    incomplete,
    known_data,
    without_key,
)
from stateward.packages.restarts.digests import Key
from tests.unit.engines.search_clusters import cluster

KEY = Key(b"k" * 32)
ENV: Json = {"spec": {"containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "words"}}]}]}}
STORE = [{"secretName": "store"}]


def secret(name: str, annotations: Json | None = None, **values: str) -> tuple[tuple[str, str], Json]:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return ("Secret", name), {
        "kind": "Secret",
        "metadata": {"name": name, "annotations": annotations or {}},
        "data": data,
    }


def look(
    made: OpenSearchCluster,
    *objects: tuple[tuple[str, str], Json],
    copy: KnownData | None = None,
    unread: str = "",
    barred: str = "",
) -> KnownData:
    troubles = {("Secret", unread): "the server is on fire"} if unread else {}
    have = keystore.read(copy.files or {}) if copy is not None else ()
    read = ReadData(dict(objects), troubles, frozenset({("Secret", barred)} if barred else ()))
    return known_data(made, uses_of(made), read, have, KEY)


def test_data_is_known_by_digests_that_say_nothing_of_it() -> None:
    one = look(cluster(podTemplate=ENV), secret("words", a="hush"))
    assert one.data.keys() == {"Secret/words:", "Secret/words:a"}
    assert one.data["Secret/words:a"].startswith(f"{KEY.name}/")
    assert "hush" not in str(one)
    assert one.refusals == ()
    assert look(cluster(podTemplate=ENV), secret("words", a="hush")) == one
    assert look(cluster(podTemplate=ENV), secret("words", a="other")).data != one.data


def test_what_is_away_is_not_known_and_holds_nothing_back() -> None:
    assert look(cluster(podTemplate=ENV)) == KnownData()


def test_what_cannot_be_read_is_as_it_was_known_and_is_reported() -> None:
    was = {"Secret/words:": "+", "Secret/words:a": "old/1", "Secret/gone:a": "old/2"}
    now = look(cluster(status={"dataDigests": was}, podTemplate=ENV), unread="words")
    assert now.data == {"Secret/words:": "+", "Secret/words:a": "old/1"}
    (refusal,) = now.refusals
    assert (refusal.reason, refusal.everything) == (UNKNOWN, False)
    assert "Secret/words could not be read" in refusal.message
    assert "on fire" in refusal.message


def test_what_is_not_allowed_is_as_it_was_known_and_is_not_reported_twice() -> None:
    was = {"Secret/words:": "+", "Secret/words:a": "old/1"}
    assert look(cluster(podTemplate=ENV), barred="words") == KnownData()
    assert look(cluster(status={"dataDigests": was}, podTemplate=ENV), barred="words") == KnownData(was)


def test_settings_of_the_keystore_have_files_and_digests() -> None:
    now = look(cluster(secureSettings=STORE), secret("store", word="hush"))
    assert now.data.keys() == {"keystore/Secret/store:word"}
    assert now.files is not None
    assert now.files.keys() == {"stateward-keystore.word", "stateward-keystore-seal"}
    assert "hush" not in f"{now.data}{now}"


@pytest.mark.parametrize("unread", ["", "store"])
def test_a_secret_that_is_gone_or_cannot_be_read_leaves_keystores_as_they_are(unread: str) -> None:
    made = cluster(secureSettings=STORE)
    before = look(made, secret("store", word="hush"))
    now = look(cluster(status={"dataDigests": dict(before.data)}, secureSettings=STORE), copy=before, unread=unread)
    assert (now.data, now.files) == (before.data, before.files)
    assert [refusal.reason for refusal in now.refusals] == [UNKNOWN] * bool(unread)


def test_the_operator_waits_for_a_missing_object_and_creates_nothing_without_it() -> None:
    now = look(cluster(secureSettings=STORE))
    assert now.files is None
    assert [(r.subject, r.reason, r.everything) for r in now.refusals] == [("spec.secureSettings[0]", MISSING, True)]


def test_members_wait_for_a_secret_that_is_not_allowed_and_nothing_tells_its_keys() -> None:
    made = cluster(secureSettings=[{"secretName": "store", "entries": [{"key": "a"}, {"key": "b"}]}])
    now = look(made, barred="store")
    assert (now.files, now.data) == (None, {})
    (refusal,) = now.refusals
    assert (refusal.subject, refusal.reason, refusal.everything) == ("spec.secureSettings[0]", "PodNotAllowed", True)
    assert "no key" not in refusal.message
    before = look(made, secret("store", a="1", b="2"))
    kept = look(cluster(secureSettings=made.spec.secure_settings), copy=before, barred="store")
    assert (kept.files, kept.data, kept.refusals) == (before.files, before.data, ())


def test_a_key_that_is_named_and_not_there_is_waited_for_or_stays_as_members_have_it() -> None:
    made = cluster(secureSettings=[{"secretName": "store", "entries": [{"key": "a"}, {"key": "b", "setting": "s3.b"}]}])
    half, whole = secret("store", a="1"), secret("store", a="1", b="2", c="3")
    (refusal,) = look(made, half).refusals
    assert refusal.message == "Secret store has no key b: members wait for it"
    assert incomplete((made.spec.secure_settings or [])[0], ReadData(dict([half])))
    both = look(made, whole)
    assert both.data.keys() == {"keystore/Secret/store:a", "keystore/Secret/store:b as s3.b"}
    assert look(made, half, copy=both) == both


def test_a_setting_that_is_taken_out_is_known_as_such() -> None:
    skip = {"stateward.dev/skip-restart": "a"}
    now = look(cluster(secureSettings=STORE), secret("store", skip, a="1", b="2"))
    assert now.data["keystore/Secret/store:a"] == "-"
    assert now.data["keystore/Secret/store:b"] != "-"


def test_without_the_key_of_digests_nothing_is_distinguished() -> None:
    assert without_key("logs", "no", held=True).everything
    assert not without_key("logs", "no", held=False).everything
