"""A user's certificate is used only if it is suitable; an error message does not show its content."""

import base64
import math
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from stateward import pki
from stateward.pki.certificate import MOST_TRIED, signed
from stateward.pki.given import UnusableError, given_authority, given_server, rooted
from tests.support.intermediate import intermediate

NOW = 1_800_000_000.0
DAY = 86400.0
NAME = "logs.data.svc"
CA = pki.new_authority("ours", NOW)
OTHER = pki.new_authority("other", NOW)


def server(*names: str, authority: pki.Authority = CA, now: float = NOW) -> pki.Pair:
    return pki.issue(authority.signs, "http", names or (NAME,), now, 90)


def files(pair: pki.Pair, trusted: str = CA.bundle) -> dict[str, str]:
    return {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": trusted}


def rsa_authority() -> dict[str, str]:
    """Return what cert-manager writes by default: RSA, in the older form of keys."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "RSA CA")])
    start = datetime.fromtimestamp(NOW, UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start - timedelta(days=1))
        .not_valid_after(start + timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.TraditionalOpenSSL
    old = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
    return {"tls.crt": certificate.public_bytes(serialization.Encoding.PEM).decode(), "tls.key": old}


def why(given: dict[str, str], now: float = NOW) -> str:
    with pytest.raises(UnusableError) as refused:
        given_server(given, NAME, now)
    return str(refused.value)


def test_a_good_certificate_is_used_with_the_certificates_that_it_trusts() -> None:
    pair = server()
    assert given_server(files(pair), NAME, NOW) == (pair, CA.bundle)
    starred = server("*.data.svc")
    assert given_server(files(starred), NAME, NOW)[0] == starred


def test_each_fault_is_named() -> None:
    pair = server()
    good = files(pair)
    assert why({}) == "there is no such Secret"
    assert why({"ca.crt": CA.bundle}) == "it has no tls.crt and no tls.key"
    assert why({**good, "tls.key": ""}) == "it has no tls.key"
    assert why({**good, "tls.crt": "nonsense"}) == "tls.crt is no certificate in PEM"
    no_key = "tls.key is no RSA or EC key in PEM without a password, of 4096 bits at most"
    assert why({**good, "tls.key": "nonsense"}) == no_key
    assert why({**good, "tls.key": server().key}) == "tls.key is not the key of tls.crt"
    assert why(good, NOW + 91 * DAY).startswith("tls.crt ended at 20")
    assert why(good, NOW - DAY).startswith("tls.crt is not valid before 20")
    assert why(files(server("other.data.svc"))) == f"tls.crt is not valid for {NAME}: add it to its DNS names"
    assert why({**good, "ca.crt": ""}) == "it has no ca.crt by which the certificate can be verified"
    assert why({**good, "ca.crt": "nonsense"}) == "ca.crt or tls.crt holds what is no certificate"
    assert why(files(pair, OTHER.bundle)) == "tls.crt is not signed by ca.crt"


VERSION, OWN_NAME = b"\xa0\x03\x02\x01", b"\x82" + bytes([len(NAME)]) + NAME.encode()
CURVE = bytes.fromhex("2a8648ce3d0301")
STRANGE = [
    pytest.param(VERSION + b"\x02", VERSION + b"\x05", id="a version that does not exist"),
    pytest.param(b"\x55\x1d\x0f", b"\x55\x1d\x13", id="an extension twice"),
    pytest.param(OWN_NAME, b"\xa3" + OWN_NAME[1:], id="a name of another kind"),
    pytest.param(CURVE + b"\x07", CURVE + b"\x09", id="an unknown curve"),
]


def altered(certificate: str, old: bytes, new: bytes) -> str:
    """Return a certificate with other bytes in it, as no library writes it."""
    loaded = x509.load_pem_x509_certificate(certificate.encode())
    content = loaded.public_bytes(serialization.Encoding.DER).replace(old, new, 1)
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(("old", "new"), STRANGE)
def test_a_strange_certificate_is_refused_and_named(old: bytes, new: bytes) -> None:
    """Any other error would end each round of the cluster that it was given to."""
    pair = server()
    assert "tls.crt" in why({**files(pair), "tls.crt": altered(pair.certificate, old, new)})
    with suppress(UnusableError):
        given_server(files(pair, altered(CA.signs.certificate, old, new)), NAME, NOW)
    with pytest.raises(UnusableError, match=r"tls\.crt"):
        given_authority({"tls.crt": altered(pair.certificate, old, new), "tls.key": pair.key}, NOW)
    assert not pki.signs(pki.Pair(altered(pair.certificate, old, new), pair.key))
    assert not pki.fits(pki.Pair(altered(pair.certificate, old, new), pair.key), CA.signs, [NAME])


def test_an_authority_whose_name_cannot_be_read_is_refused() -> None:
    """The error came when it was to sign, and ended each round of the cluster."""
    named, good, bad = pki.new_authority("abcdefg", NOW).signs, b"abcdefg", b"abc\xff\xfefg"
    issuer = altered(named.certificate, good, bad)
    subject = altered(altered(issuer, good, bad), bad, good)
    for certificate in (issuer, subject):
        given = {"tls.crt": certificate, "tls.key": named.key}
        assert rooted(given), "that it has another fault is not said of it"
        with pytest.raises(UnusableError, match=r"tls\.crt holds a certificate that is damaged"):
            given_authority(given, NOW)


def test_the_authority_that_has_signed_is_found_among_many_of_its_name() -> None:
    """A CA that is renewed each week under one name leaves that many, which members still trust."""
    several = [pki.new_authority("weekly", NOW) for _ in range(20)]
    pair = pki.issue(several[-1].signs, "logs", [NAME], NOW)
    known = [each.signs.certificate for each in several]
    assert pki.fits_one(pair, known, [NAME])
    assert not pki.fits_one(pair, known[:-1], [NAME])
    assert not pki.fits_one(pair, known, ["other.data.svc"])


def test_few_signatures_are_verified_however_many_authorities_say_that_they_have_signed() -> None:
    """A tenant that fills the Secret of its CA held up all clusters for seconds in each round."""
    true = pki.new_authority("ours", NOW)
    pair = pki.issue(true.signs, "logs", [NAME], NOW)
    alike = [posing(true.signs) for _ in range(MOST_TRIED)]
    assert pki.fits_one(pair, [*alike[1:], true.signs.certificate], [NAME])
    assert not pki.fits_one(pair, [*alike, true.signs.certificate], [NAME])


@pytest.mark.parametrize(("exponent", "accepted"), [(65537, True), ((1 << 200) + 1, False)])
def test_a_key_that_was_made_to_verify_slowly_verifies_nothing(exponent: int, *, accepted: bool) -> None:
    """A chain of ten with such keys took two seconds, in each round, on the event loop."""
    key = exponent_key(exponent)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "slow")])
    start = datetime.fromtimestamp(NOW, UTC)
    root = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    root = root.not_valid_before(start).not_valid_after(start + timedelta(days=9)).sign(key, hashes.SHA256())
    assert signed(root, root) is accepted


def exponent_key(least: int) -> rsa.RSAPrivateKey:
    """Return a key with this public exponent, or the next one that its primes allow."""
    known = rsa.generate_private_key(65537, 2048).private_numbers()
    p, q, e = known.p, known.q, least
    while math.gcd(e, (p - 1) * (q - 1)) != 1:
        e += 2
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    return rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public).private_key()


def posing(authority: pki.Pair) -> str:
    """Return the certificate of another CA that says it has the name and the key of this one."""
    loaded, key = (
        x509.load_pem_x509_certificate(authority.certificate.encode()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(loaded.subject)
        .issuer_name(loaded.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(loaded.not_valid_before_utc)
        .not_valid_after(loaded.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(loaded.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value, critical=False)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def test_line_ends_of_windows_change_nothing() -> None:
    """Members would trust a company's root besides the CA of a team that it has signed, and chains would be cut."""
    team = intermediate(CA.signs, NOW)
    plain = {"tls.crt": team.certificate, "tls.key": team.key}
    assert given_authority({name: text.replace("\n", "\r\n") for name, text in plain.items()}, NOW) == (
        given_authority(plain, NOW)
    )
    chained = files(pki.issue(team, "http", [NAME], NOW, 90), OTHER.bundle + CA.bundle)
    assert given_server({name: text.replace("\n", "\r\n") for name, text in chained.items()}, NAME, NOW) == (
        given_server(chained, NAME, NOW)
    )


def test_an_authority_in_the_old_form_can_sign_and_its_key_is_written_as_java_reads_it() -> None:
    pair = given_authority(rsa_authority(), NOW)
    assert pair.key.startswith("-----BEGIN PRIVATE KEY-----")
    issued = pki.issue(pair, "member", ["a"], NOW, 90)
    assert pki.fits(issued, pair, ["a"])


def test_an_authority_that_others_have_signed_is_trusted_alone_and_comes_along_with_what_it_signs() -> None:
    """Clients that trust the company's root can verify the chain; members trust this CA alone."""
    team = intermediate(CA.signs, NOW)
    given = given_authority({"tls.crt": team.certificate, "tls.key": team.key, "ca.crt": CA.bundle}, NOW)
    authority = pki.Authority(given)
    assert pki.split(authority.bundle) == pki.split(given.certificate)[:1]
    issued = pki.issue(given, "member", [NAME], NOW, 90)
    assert pki.split(issued.certificate)[1:] == pki.split(given.certificate)
    assert pki.fits(issued, given, [NAME])
    assert pki.fits(issued, pki.Pair(authority.bundle, ""), [NAME])
    assert pki.authority_of(pki.authority_files(authority)) == authority


def test_a_servers_certificate_is_no_authority() -> None:
    with pytest.raises(UnusableError, match="not the certificate of a CA"):
        given_authority(files(server()), NOW)


def test_a_given_authority_is_trusted_for_a_day_before_it_signs() -> None:
    given = given_authority(rsa_authority(), NOW)
    both = pki.followed(CA, given, NOW)
    assert (both.signs, both.coming) == (CA.signs, given)
    assert given.certificate in both.bundle
    kept = pki.authority_of(pki.authority_files(both))
    assert kept == both
    assert pki.followed(both, given, NOW + DAY / 2) is both
    after = pki.followed(both, given, NOW + DAY + 1)
    assert (after.signs, after.retired) == (given, (CA.signs.certificate,))
    assert pki.followed(after, given, NOW + 2 * DAY) is after


def test_a_given_authority_that_was_noted_by_a_clock_that_was_ahead_signs_a_day_later() -> None:
    given = given_authority(rsa_authority(), NOW)
    ahead = pki.followed(CA, given, NOW + 1000 * DAY)
    both = pki.followed(ahead, given, NOW)
    assert both == pki.followed(CA, given, NOW)
    assert pki.followed(both, given, NOW + DAY / 2) is both
    assert pki.followed(both, given, NOW + DAY + 1).signs == given
    near = pki.followed(CA, given, NOW + 60)
    assert pki.followed(near, given, NOW) is near, "clocks that differ a little change nothing"


def test_a_short_life_is_not_due_at_once() -> None:
    """It is valid an hour before all the same: a member whose clock is behind must not refuse it."""
    pair = pki.issue(CA.signs, "m", ["m"], NOW, 600 / DAY)
    assert x509.load_pem_x509_certificate(pair.certificate.encode()).not_valid_before_utc.timestamp() == NOW - 3600
    assert not pki.due(pair.certificate, NOW + 300)
    assert pki.due(pair.certificate, NOW + 420)
