"""Files with certificates that hold more, or other things, than usual."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stateward import pki
from stateward.pki.certificate import begun, key_pem, pem, usage
from stateward.pki.files import authority_files, authority_of
from stateward.pki.given import UnusableError, given_authority, given_server
from tests.support.intermediate import intermediate

NOW = 1_800_000_000.0
DAY = 86400.0
CA = pki.new_authority("ours", NOW)
COMMENT = "# the end\n"


def given(subject: x509.Name, *, may_sign: bool = True) -> dict[str, str]:
    """Return a self-signed CA with a subject."""
    key = ec.generate_private_key(ec.SECP256R1())
    start = datetime.fromtimestamp(NOW, UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage(authority=may_sign), critical=True)
        .sign(key, hashes.SHA256())
    )
    return {"tls.crt": pem(made), "tls.key": key_pem(key)}


def test_a_key_in_front_of_a_certificate_is_in_no_bundle() -> None:
    files = {"tls.crt": CA.signs.key + CA.signs.certificate, "tls.key": CA.signs.key}
    found = given_authority(files, NOW)
    assert found == CA.signs
    assert pki.Authority(pki.Pair(files["tls.crt"], CA.signs.key)).bundle == CA.bundle


def test_two_certificates_with_spaces_behind_them_are_two() -> None:
    other = pki.new_authority("other", NOW, 1).signs.certificate
    text = (CA.signs.certificate + other).replace("CERTIFICATE-----\n", "CERTIFICATE----- \n")
    assert [pki.ends(each) for each in pki.sound(text)] == [pki.ends(each) for each in (CA.signs.certificate, other)]


def test_a_comment_behind_a_ca_reaches_no_member_and_no_later_round() -> None:
    inner = intermediate(CA.signs, NOW)
    found = given_authority({"tls.crt": inner.certificate + COMMENT, "tls.key": inner.key}, NOW)
    assert COMMENT not in pki.issue(found, "a", ["a"], NOW).certificate
    old = pki.Authority(pki.Pair(inner.certificate + COMMENT, inner.key))
    for _ in range(2):
        old = pki.followed(old, CA.signs, NOW + 2 * DAY)
        old = authority_of(authority_files(pki.followed(old, CA.signs, NOW + 4 * DAY)))
    assert old.signs == CA.signs


def test_a_ca_that_others_have_signed_is_trusted_alone_after_the_next_one_too() -> None:
    """Otherwise everyone with a certificate of the company would be a member."""
    inner = intermediate(CA.signs, NOW)
    coming = pki.new_authority("next", NOW).signs
    later = pki.followed(pki.followed(pki.Authority(inner), coming, NOW), coming, NOW + 2 * DAY)
    read = authority_of(authority_files(later))
    assert pki.split(read.bundle) == (coming.certificate, pki.split(inner.certificate)[0])


def test_the_same_ca_with_another_chain_is_no_other_ca() -> None:
    inner = intermediate(CA.signs, NOW)
    short = pki.Pair(pki.split(inner.certificate)[0], inner.key)
    assert pki.followed(pki.Authority(short), inner, NOW) == pki.Authority(inner)


@pytest.mark.parametrize("since", ["nan", "inf", "1e300", "-1", "²", "\uff11", "9" * 400])
def test_a_time_that_is_none_is_no_authority(since: str) -> None:
    coming = pki.followed(CA, pki.new_authority("next", NOW).signs, NOW)
    with pytest.raises(ValueError, match="time"):
        authority_of({**authority_files(coming), "next.since": since})


@pytest.mark.parametrize(
    "subject",
    [
        x509.Name([]),
        x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Ü" * 40)]),
    ],
)
def test_a_given_ca_with_any_name_can_be_followed_by_one_of_the_operator(subject: x509.Name) -> None:
    found = given_authority(given(subject), NOW)
    after = pki.changed(pki.Authority(found), NOW + 300 * DAY)
    assert after.coming is not None
    assert pki.signs(after.coming)


def test_a_next_ca_that_has_ended_never_signs() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    short = (
        begun("short", None, key.public_key(), NOW, NOW + DAY / 2)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    waits = pki.followed(CA, pki.Pair(pem(short), key_pem(key)), NOW)
    after = pki.changed(waits, NOW + 2 * DAY)
    assert after.signs == CA.signs
    assert after.coming is not None
    assert pki.signs_from(after) == NOW + 3 * DAY


def test_what_has_ended_is_not_trusted_while_nothing_else_changes() -> None:
    old = pki.new_authority("old", NOW, 1).signs.certificate
    coming = pki.new_authority("next", NOW, 1).signs
    known = pki.Authority(CA.signs, coming, (old,), NOW)
    assert pki.without_ended(known, NOW + DAY) is known
    assert pki.without_ended(known, NOW + 366 * DAY) == pki.Authority(CA.signs)


def test_a_ca_that_may_not_sign_is_refused() -> None:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    assert pki.signs(given_authority(given(name), NOW))
    with pytest.raises(UnusableError, match="add keyCertSign"):
        given_authority(given(name, may_sign=False), NOW)


def test_many_certificates_of_one_name_are_not_all_tried() -> None:
    """A user's Secret holds two thousand; each with each would take minutes, in which no cluster gets anything."""
    pair = pki.issue(CA.signs, "http", ["a.b.svc"], NOW)
    chain = pair.certificate + "".join(pki.new_authority("ours", NOW).bundle for _ in range(9))
    trusted = "".join(pki.new_authority("ours", NOW).bundle for _ in range(20))
    began = time.process_time()
    with pytest.raises(UnusableError, match=r"is not signed by ca\.crt"):
        given_server({"tls.crt": chain, "tls.key": pair.key, "ca.crt": trusted + CA.bundle}, "a.b.svc", NOW)
    assert time.process_time() - began < 1
    with pytest.raises(UnusableError, match="more than 10"):
        given_server({"tls.crt": chain + trusted, "tls.key": pair.key, "ca.crt": trusted}, "a.b.svc", NOW)
    found, _ = given_server({"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": CA.bundle}, "a.b.svc", NOW)
    assert found == pair
