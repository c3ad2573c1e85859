"""The certificates of a secured cluster are created once, kept while valid, and renewed long before they expire."""

import base64
import hashlib
from typing import Any

import pytest
from msgspec.structs import replace

from stateward import pki
from stateward.api.kinds.search import (
    ElasticsearchCluster,
    ElasticsearchSpec,
    OpenSearchCluster,
    OpenSearchSpec,
    Pool,
    SearchCluster,
)
from stateward.api.kinds.security import HttpSecurity, Security
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import Metadata
from stateward.engines.search.configuration.security import alternatives
from stateward.operator.security.material import Material, Stored, desired_material
from stateward.operator.security.protection import protection

NOW = 1_800_000_000.0
DAY = 86400.0


def cluster(**security: object) -> OpenSearchCluster:
    spec = OpenSearchSpec(
        version="2.19.3",
        pools=[Pool(name="all", replicas=3)],
        security=Security(enabled=True, **security),  # pyright: ignore[reportArgumentType]
    )
    return OpenSearchCluster(metadata=Metadata(name="logs", namespace="data", uid="u"), spec=spec)


def stored(material: Material, **given: Any) -> Stored:
    authority, members, operator = material.files
    return Stored(authority, members, operator, **given)


def material(of: SearchCluster, known: Stored, now: float = NOW) -> Material:
    found = desired_material(of, known, now).material
    assert found is not None
    return found


FIRST = material(cluster(), Stored())


def test_what_is_good_stays_as_it_is() -> None:
    assert material(cluster(), stored(FIRST), NOW + 59 * DAY) == FIRST


def test_certificates_are_renewed_at_two_thirds_of_their_life_and_the_authority_stays() -> None:
    later = material(cluster(), stored(FIRST), NOW + 61 * DAY)
    assert later.authority == FIRST.authority
    assert later.member != FIRST.member
    assert later.operator != FIRST.operator
    assert later.server == later.member
    assert pki.ends(later.member.certificate) == NOW + 61 * DAY + 90 * DAY


def test_the_lifetime_is_the_specs() -> None:
    short = material(cluster(certificate_lifetime="12h"), Stored())
    assert pki.ends(short.member.certificate) == NOW + DAY / 2
    assert material(cluster(certificate_lifetime="never"), Stored()).member.certificate


def test_while_authorities_change_both_are_trusted_and_nothing_is_recreated_early() -> None:
    late = NOW + 5 * 365 * DAY * 0.7
    before = material(cluster(), stored(FIRST), late)
    assert before.authority.coming is not None
    after = material(cluster(), stored(before), late + 2 * DAY)
    assert after.authority.signs == before.authority.coming
    assert after.member == before.member
    assert before.authority.signs.certificate in after.trusted
    renewed = material(cluster(), stored(after), late + 62 * DAY)
    assert pki.fits(renewed.member, after.authority.signs, alternatives(cluster()))


def test_a_deleted_authority_is_followed_by_one_that_continues_trusting_it() -> None:
    lost = replace(stored(FIRST), authority=None)
    found = material(cluster(), lost)
    assert found.authority.signs != FIRST.authority.signs
    assert FIRST.authority.signs.certificate in found.authority.bundle
    assert found.member == FIRST.member


def test_an_authority_that_makes_no_sense_is_left_alone_and_named() -> None:
    broken = replace(stored(FIRST), authority={"tls.crt": "nonsense", "tls.key": "nonsense"})
    found = desired_material(cluster(), broken, NOW)
    assert found.material is None
    assert list(found.faults) == ["status.security.caSecretName"]


def test_a_given_certificate_is_for_clients_only_and_both_are_trusted() -> None:
    theirs = pki.new_authority("theirs", NOW)
    pair = pki.issue(theirs.signs, "http", ["logs.data.svc"], NOW, 30)
    given = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": theirs.bundle}
    asked = cluster(http=HttpSecurity(secret_name="web"))
    found = material(asked, stored(FIRST, given_server=given))
    assert found.server == pair
    assert found.member == FIRST.member
    assert theirs.bundle in found.trusted
    assert FIRST.authority.bundle in found.trusted
    again = desired_material(asked, stored(found, given_server={}), NOW)
    assert again.material is not None
    assert again.material.server == pair
    assert again.faults == {"spec.security.http.secretName": "there is no such Secret"}


@pytest.mark.parametrize("given", [{}, {"tls.crt": "x", "tls.key": "y"}])
def test_without_a_usable_authority_nothing_is_made(given: dict[str, str]) -> None:
    found = desired_material(cluster(ca_secret_name="ca"), Stored(given_authority=given), NOW)
    assert found.material is None
    assert list(found.faults) == ["spec.security.caSecretName"]


def test_a_given_authority_signs_from_the_beginning() -> None:
    theirs = pki.new_authority("theirs", NOW)
    given = {"tls.crt": theirs.signs.certificate, "tls.key": theirs.signs.key}
    found = material(cluster(ca_secret_name="ca"), Stored(given_authority=given))
    assert found.authority.signs.certificate == theirs.signs.certificate
    assert material(cluster(ca_secret_name="ca"), stored(found, given_authority=given)) == found


def test_no_key_is_visible_to_users() -> None:
    known = protection(cluster(), desired_material(cluster(), Stored(), NOW), "", on=True)
    assert "PRIVATE" not in repr(known)
    assert "PRIVATE" not in repr(known.status())
    assert "PRIVATE" not in repr(FIRST.access(cluster()))


def elastic() -> ElasticsearchCluster:
    spec = ElasticsearchSpec(version="8.19.4", pools=[Pool(name="all", replicas=3)], security=Security(enabled=True))
    return ElasticsearchCluster(metadata=Metadata(name="logs", namespace="data", uid="u"), spec=spec)


def test_without_client_certificates_the_operator_has_a_password_that_stays() -> None:
    people = {"username": "admin", "password": "known"}
    first = material(elastic(), Stored(administrator=people))
    assert len(first.password) == 32
    assert first.access(elastic()).user == "stateward-operator"
    assert material(elastic(), stored(first, administrator=people)) == first
    assert sorted(line.partition(":")[0] for line in first.files[1]["users"].splitlines()) == [
        "admin",
        "stateward-operator",
    ]
    assert first.password not in "".join(first.files[1].values())
    assert FIRST.access(cluster()).user == ""


def test_a_password_that_was_changed_in_its_secret_reaches_the_members() -> None:
    first = material(elastic(), Stored(administrator={"username": "admin", "password": "known"}))
    after = material(elastic(), stored(first, administrator={"username": "admin", "password": "new"}))
    assert after.files[1]["users"] != first.files[1]["users"]
    assert after.password == first.password
    assert after.member == first.member


def test_salts_are_random_and_what_was_stored_with_a_derived_one_is_healed_once() -> None:
    people = {"username": "admin", "password": "known"}
    first, other = (material(elastic(), Stored(administrator=people)) for _ in range(2))
    assert line_of(first, "admin") != line_of(other, "admin")
    assert first.files == first.files
    known = stored(first, administrator=people)
    assert known.members is not None
    salt = hashlib.sha256(b"admin\nknown").digest()
    key = hashlib.pbkdf2_hmac("sha512", b"known", salt, 10_000, 32)
    weak = f"{{PBKDF2}}10000${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"
    users = known.members["users"].replace(line_of(first, "admin"), weak)
    healed = material(elastic(), replace(known, members={**known.members, "users": users}))
    assert line_of(healed, "admin") not in (weak, line_of(first, "admin"))
    assert line_of(healed, "stateward-operator") == line_of(first, "stateward-operator")
    assert material(elastic(), stored(healed, administrator=people)) == healed
    assert (healed.member, healed.operator, healed.password) == (first.member, first.operator, first.password)


def line_of(found: Material, name: str) -> str:
    return dict(line.split(":") for line in found.files[1]["users"].splitlines())[name]


def test_an_administrator_that_may_not_be_read_any_more_stays_as_the_members_know_them() -> None:
    first = material(elastic(), Stored(administrator={"username": "root", "password": "known"}))
    assert material(elastic(), stored(first)).files[1]["users"] == first.files[1]["users"]
    assert material(elastic(), stored(first)).files[1]["users_roles"] == first.files[1]["users_roles"]
    gone = material(elastic(), stored(first, administrator={})).files[1]["users"]
    assert [line.partition(":")[0] for line in gone.splitlines()] == ["stateward-operator"]


def test_no_password_is_visible_to_users() -> None:
    first = material(elastic(), Stored(administrator={"username": "admin", "password": "known"}))
    assert first.password not in repr(first.access(elastic()))


@pytest.mark.parametrize("name", ["tls.key", "next.crt", "next.key", "retired.crt"])
@pytest.mark.parametrize("content", ["nonsense", FIRST.operator.key])
def test_a_part_of_an_authority_that_makes_no_sense_signs_nothing_and_is_named(name: str, content: str) -> None:
    """Signed with a key that is not the authority's, certificates would cut all members off from each other."""
    late = NOW + 5 * 365 * DAY * 0.7
    before = stored(material(cluster(), stored(FIRST), late))
    broken = replace(before, authority={**(before.authority or {}), name: content}, members={}, operator={})
    found = desired_material(cluster(), broken, late)
    assert found.material is None
    assert list(found.faults) == ["status.security.caSecretName"]


def test_while_the_authority_makes_no_sense_the_operator_gets_in_and_no_member_restarts() -> None:
    before = stored(FIRST)
    found = desired_material(cluster(), replace(before, authority={"tls.crt": "nonsense"}), NOW)
    assert found.material is None
    assert found.access == FIRST.access(cluster())
    was = protection(cluster(), desired_material(cluster(), before, NOW), "", on=True)
    assert was.mark
    known = replace(cluster(), status=ClusterStatus(security=was.status()))
    assert protection(known, found, "", on=True).mark == was.mark


@pytest.mark.parametrize("left", [{"http.key": ""}, {"http.key": "nonsense"}, {"http.crt": "nonsense"}])
def test_without_a_whole_certificate_for_clients_the_members_one_is_shown(left: dict[str, str]) -> None:
    theirs = pki.new_authority("theirs", NOW)
    pair = pki.issue(theirs.signs, "http", ["logs.data.svc"], NOW, 30)
    given = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": theirs.bundle}
    asked = cluster(http=HttpSecurity(secret_name="web"))
    before = stored(material(asked, stored(FIRST, given_server=given)), given_server={})
    found = desired_material(asked, replace(before, members={**(before.members or {}), **left}), NOW)
    assert found.material is not None
    assert found.material.server == found.material.member


def test_an_invalid_certificate_is_not_trusted_and_stops_nothing() -> None:
    junk = FIRST.trusted + "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
    before = stored(FIRST)
    broken = replace(
        before, authority=None, members={**(before.members or {}), "ca.crt": junk}, operator={"ca.crt": junk}
    )
    assert "nonsense" not in material(cluster(), broken).trusted


@pytest.mark.parametrize("missing", ["", "tls.crt", "ca.crt", "tls.key"])
def test_the_operator_gets_in_with_its_stored_certificate_while_a_given_ca_is_unusable(missing: str) -> None:
    operator = {name: f"stored {name}" for name in ("tls.crt", "ca.crt", "tls.key") if name != missing}
    made = desired_material(cluster(ca_secret_name="own-ca"), Stored(operator=operator, given_authority={}), NOW)
    assert made.material is None
    assert (made.access is None) is (missing in ("tls.crt", "ca.crt"))
    if made.access is not None:
        assert (made.access.certificate, made.access.trusted) == ("stored tls.crt", "stored ca.crt")


def test_when_a_given_ca_has_ended_nothing_is_issued_and_it_is_named() -> None:
    """A user who then deletes the members' Secret reads why it does not come back, and all else goes on."""
    theirs = pki.new_authority("theirs", NOW, 1.0).signs
    given = {"tls.crt": theirs.certificate, "tls.key": theirs.key}
    asked = cluster(ca_secret_name="own-ca")
    before = stored(material(asked, Stored(given_authority=given)), given_authority=given)
    found = desired_material(asked, replace(before, members=None), NOW + 366 * DAY)
    assert found.material is None
    assert found.faults["spec.security.caSecretName"].startswith("tls.crt ended at 20")
    assert found.access is not None
