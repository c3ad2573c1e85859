"""Single certificates: created, and read. Keys are P-256, which every engine and every TLS library supports."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from itertools import islice
from typing import cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

DAYS = 90.0
"""Life of a certificate, as long as ACME's; renewed when a third of it is left."""
SLACK = 3600.0
"""Seconds by which a certificate is valid before its creation: the clocks of nodes differ."""
LEFT = 1 / 3
"""Part of a life, without the slack, that is left when the next one is due: weeks in which an operator may be down."""

LONGEST_KEY = 4000
"""Characters of a key; one of RSA with 4096 bits has 3,300."""

RSA_BITS = 4096
"""Bits of an RSA key; OpenSSL tests one of these in a quarter of a second."""

EXPONENT_BITS = 64
"""Bits of the exponent of an RSA key that verifies; usual ones have 17. With 3000 bits it takes 200 times as long."""

BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----\n"
_END = re.compile(r"-----END CERTIFICATE-----\s*")

UNREADABLE = (
    *(ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.InvalidVersion),
    *(x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType),
)
"""What is raised for a certificate that is damaged, or of a kind that is not supported."""

MOST_TRIED = 8
"""CAs of one name by which a signature is verified.

The disaster this prevents: with a thousand certificates of one name in each of two files, a million signatures are
verified, which takes minutes, and meanwhile nothing else is done, for any cluster.
"""

KEYS = 1024
"""Keys that are remembered, some megabytes."""

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
"""Created keys use elliptic curves; given keys may be RSA."""


class Pair(Struct, frozen=True):
    """A certificate and its key, in PEM; the key in PKCS #8, which Java reads as well."""

    certificate: str
    key: str


def issue(authority: Pair, name: str, alternatives: Sequence[str], now: float, days: float = DAYS) -> Pair:
    """Return a certificate for a server that is also a client; `alternatives` are its DNS names and addresses.

    It never outlives its CA: it would no longer be valid, and not be renewed. A CA signed by others is included, for
    clients that know only those.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    end = min(now + days * 86400, issuer.not_valid_after_utc.timestamp())
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        begun(name, issuer.subject, key.public_key(), now, end)
        .add_extension(x509.SubjectAlternativeName([_alternative(each) for each in alternatives]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(_identifier(issuer, signer(authority)), critical=False)
    )
    chain = "" if issuer.issuer == issuer.subject else authority.certificate
    return Pair(pem(builder.sign(signer(authority), hashes.SHA256())) + chain, key_pem(key))


def begun(
    name: str, issuer: x509.Name | None, key: ec.EllipticCurvePublicKey, now: float, end: float
) -> x509.CertificateBuilder:
    """Return a certificate with a name, a key and a life; without an issuer it signs itself."""
    # A common name has 64 characters at most; verification uses the alternatives.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_moment(now - SLACK))
        .not_valid_after(_moment(end))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def usage(*, authority: bool) -> x509.KeyUsage:
    """Return what a key is for."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def ends(certificate: str) -> float:
    """Return when a certificate expires, in seconds since the epoch; raises ValueError for an invalid one."""
    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.timestamp()


def due(certificate: str, now: float) -> bool:
    """Return whether a renewal is due: less than a third of its life is left, or it is not valid yet.

    A clock that was ahead has dated the latter. Raises ValueError for an invalid certificate.
    """
    return now > renewal(certificate) or begins(certificate) > now


def begins(certificate: str) -> float:
    """Return from when on a certificate is valid, in seconds since the epoch; raises ValueError for an invalid one."""
    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_before_utc.timestamp()


def renewal(certificate: str) -> float:
    """Return when the renewal is due, in seconds since the epoch; raises ValueError for an invalid certificate."""
    loaded = x509.load_pem_x509_certificate(certificate.encode())
    start, end = loaded.not_valid_before_utc.timestamp(), loaded.not_valid_after_utc.timestamp()
    return end - max(0.0, end - start - SLACK) * LEFT


def fits(pair: Pair, authority: Pair, alternatives: Sequence[str]) -> bool:
    """Return whether a pair matches, is signed by this CA and is for exactly these names."""
    return fits_one(pair, (authority.certificate,), alternatives)


def fits_one(pair: Pair, authorities: Iterable[str], alternatives: Sequence[str]) -> bool:
    """Return whether a pair matches, is signed by one of some CAs and is for exactly these names.

    The CAs are found by name and key. Among those that say the same of themselves only a few are tried.
    """
    try:
        loaded = x509.load_pem_x509_certificate(pair.certificate.encode())
        own = signer(pair).public_key() == loaded.public_key()
        found = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        if not own or set(found) != {_alternative(each) for each in alternatives}:
            return False
        issuer, key = loaded.issuer, _issuers_key(loaded)
    except UNREADABLE:
        return False
    named = (each for each in map(_loaded, authorities) if each is not None and _is_named(each, issuer, key))
    return any(signed(loaded, each) for each in islice(named, MOST_TRIED))


def signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether a certificate is signed by another one; False for a key that takes long to verify with."""
    try:
        key = issuer.public_key()
        if isinstance(key, rsa.RSAPublicKey) and key.public_numbers().e.bit_length() > EXPONENT_BITS:
            return False
        certificate.verify_directly_issued_by(issuer)
    except UNREADABLE:
        return False
    return True


def _dated(certificate: str) -> x509.Certificate:
    """Return a certificate whose life can be read; raises one of UNREADABLE.

    The disaster this prevents: a certificate in a bundle of others ends in the year 0. It loads, but each later look at
    its end fails, and so do all rounds of the cluster that trusts it.
    """
    loaded = x509.load_pem_x509_certificate(certificate.encode())
    _ = loaded.not_valid_before_utc, loaded.not_valid_after_utc
    return loaded


def _loaded(certificate: str) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(certificate.encode())
    except UNREADABLE:
        return None


def _issuers_key(certificate: x509.Certificate) -> bytes | None:
    """Return what tells the key of the CA that has signed from others; None if the certificate does not say it."""
    try:
        return certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    except x509.ExtensionNotFound:
        return None


def _is_named(authority: x509.Certificate, name: x509.Name, key: bytes | None) -> bool:
    try:
        if authority.subject != name:
            return False
        own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except x509.ExtensionNotFound:
        return True
    except UNREADABLE:
        return False
    return key is None or own == key


def signs(pair: Pair) -> bool:
    """Return whether a pair belongs to a CA: a certificate that may sign, and its key."""
    try:
        constraints = _dated(pair.certificate).extensions.get_extension_for_class(x509.BasicConstraints).value
    except UNREADABLE:
        return False
    return constraints.ca and belongs(pair)


def belongs(pair: Pair) -> bool:
    """Return whether a pair is a certificate and its key."""
    try:
        loaded = x509.load_pem_x509_certificate(pair.certificate.encode())
        return signer(pair).public_key() == loaded.public_key()
    except UNREADABLE:
        return False


def signer(pair: Pair) -> Key:
    """Return the key of a pair; raises ValueError for a kind of key that not every engine knows, or a longer one.

    The disaster this prevents: OpenSSL tests whether the primes of an RSA key are some, which takes a quarter of a
    second for 4096 bits and minutes for long ones, and meanwhile nothing else is done, for any cluster.
    """
    if len(pair.key) > LONGEST_KEY:
        raise ValueError(f"the key is too long: it has more than {LONGEST_KEY} characters")
    found = _judged(pair.key)
    if isinstance(found, str):
        raise ValueError(found)  # noqa: TRY004 - the text, not its type
    return found


@lru_cache(KEYS)
def _judged(text: str) -> Key | str:
    """Return a key, or what is wrong with it: both are known from then on, so that each key is tested once."""
    data = text.encode()
    try:
        # First without the test of the primes, which takes longest where one of them is long and the other short.
        key = serialization.load_pem_private_key(data, None, unsafe_skip_rsa_key_validation=True)
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return key
        if not isinstance(key, rsa.RSAPrivateKey):
            return "the key is neither RSA nor one for elliptic curves"
        numbers = key.private_numbers()
        if key.key_size > RSA_BITS or max(numbers.p, numbers.q).bit_length() > RSA_BITS // 2 + 1:
            return f"the key is too long: RSA keys may have {RSA_BITS} bits, in two primes of the same length"
        return cast("rsa.RSAPrivateKey", serialization.load_pem_private_key(data, None))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        return str(error)


def pem(certificate: x509.Certificate) -> str:
    """Return a certificate as text."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def key_pem(key: Key) -> str:
    """Return a key as text."""
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def split(bundle: str) -> tuple[str, ...]:
    """Return the certificates of a bundle, one by one; text without a certificate stays, as one that is invalid.

    The disaster this prevents: a file holds a key before its certificate, and both are given to all who trust it.
    """
    text = _END.sub(END, bundle.rstrip().replace("\r\n", "\n"))
    return tuple(f"{part[max(0, part.find(BEGIN)) :].lstrip()}{END}" for part in text.split(END) if part.strip())


def sound(bundle: str) -> tuple[str, ...]:
    """Return the valid certificates of a bundle, without anything else."""
    found: list[str] = []
    for each in split(bundle):
        try:
            _dated(each)
        except UNREADABLE:
            continue
        found.append(each)
    return tuple(found)


def authorities(bundle: str, now: float) -> tuple[str, ...]:
    """Return the certificates of a bundle that belong to CAs and are valid at a time, each once, without other text."""
    found: list[str] = []
    for each in split(bundle):
        try:
            loaded = _dated(each)
            constraints = loaded.extensions.get_extension_for_class(x509.BasicConstraints).value
        except UNREADABLE:
            continue
        valid = loaded.not_valid_before_utc.timestamp() <= now < loaded.not_valid_after_utc.timestamp()
        text = pem(loaded)
        if constraints.ca and valid and text not in found:
            found.append(text)
    return tuple(found)


def _identifier(issuer: x509.Certificate, key: Key) -> x509.AuthorityKeyIdentifier:
    try:
        known = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)


def _alternative(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=int(seconds))
