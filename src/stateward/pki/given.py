"""Certificates given by users: whether they are usable for their purpose, with each problem in words.

The words name files and times, and never show the content of the files.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice

from cryptography import x509

from stateward.pki.certificate import BEGIN, MOST_TRIED, UNREADABLE, Pair, key_pem, signed, signer, split
from stateward.pki.files import CERTIFICATE, KEY, TRUSTED

LONGEST_CHAIN = 10
"""Certificates of a server or a CA with those that have signed it."""


class UnusableError(Exception):
    """Why what was given cannot be used, as the end of a sentence about it."""


@contextmanager
def _understood(*files: str) -> Generator[None]:
    """Raise UnusableError for a certificate in these files that is damaged inside, or of a kind not supported."""
    try:
        yield
    except UNREADABLE:
        raise UnusableError(f"{' or '.join(files)} holds a certificate that is damaged or not supported") from None


@_understood(CERTIFICATE)
def given_authority(files: Mapping[str, str], now: float) -> Pair:
    """Return the authority that was given; raises UnusableError."""
    pair = _pair(files, now)
    _read_names(_first(pair))
    try:
        constraints = _first(pair).extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        constraints = None
    if constraints is None or not constraints.ca:
        raise UnusableError(f"{CERTIFICATE} is not the certificate of a CA: with cert-manager, set isCA: true")
    if not _may_sign(_first(pair)):
        raise UnusableError(f"{CERTIFICATE} may not sign certificates: add keyCertSign to its key usage")
    return pair


def rooted(files: Mapping[str, str]) -> bool:
    """Return whether a CA is self-signed; True for an invalid certificate, which other checks report."""
    try:
        found = x509.load_pem_x509_certificate(files.get(CERTIFICATE, "").encode())
        same = found.issuer == found.subject
    except UNREADABLE:
        return True
    return same


@_understood(TRUSTED, CERTIFICATE)
def given_server(files: Mapping[str, str], name: str, now: float) -> tuple[Pair, str]:
    """Return the server's certificate that was given, valid for a name, and whom to trust; raises UnusableError."""
    pair = _pair(files, now)
    if not any(_covers(each, name) for each in _names(_first(pair))):
        raise UnusableError(f"{CERTIFICATE} is not valid for {name}: add it to its DNS names")
    trusted = files.get(TRUSTED, "")
    if not trusted.strip():
        raise UnusableError(f"it has no {TRUSTED} by which the certificate can be verified")
    try:
        roots = [x509.load_pem_x509_certificate(each.encode()) for each in split(trusted)]
        chain = [x509.load_pem_x509_certificate(each.encode()) for each in split(pair.certificate)]
    except ValueError:
        raise UnusableError(f"{TRUSTED} or {CERTIFICATE} holds what is no certificate") from None
    if not _leads(chain, roots):
        raise UnusableError(f"{CERTIFICATE} is not signed by {TRUSTED}")
    return pair, "".join(split(trusted))


@_understood(CERTIFICATE)
def given_pair(files: Mapping[str, str], now: float) -> Pair:
    """Return the certificate of a server that was given, valid for any DNS name; raises UnusableError."""
    pair = _pair(files, now)
    if not _names(_first(pair)):
        raise UnusableError(f"{CERTIFICATE} has no DNS names")
    return pair


def server_name(pair: Pair) -> str:
    """Return a DNS name for which a certificate is valid; empty if there is none."""
    found = _names(_first(pair))
    return found[0].replace("*", "stateward", 1) if found else ""


def _pair(files: Mapping[str, str], now: float) -> Pair:
    if not files:
        raise UnusableError("there is no such Secret")
    missing = [name for name in (CERTIFICATE, KEY) if not files.get(name, "").strip()]
    if missing:
        raise UnusableError(f"it has no {' and no '.join(missing)}")
    pair = Pair(files[CERTIFICATE], files[KEY])
    certificate = _first(pair)
    try:
        key = signer(pair)
    except (ValueError, TypeError):
        raise UnusableError(f"{KEY} is no RSA or EC key in PEM without a password, of 4096 bits at most") from None
    if key.public_key() != certificate.public_key():
        raise UnusableError(f"{KEY} is not the key of {CERTIFICATE}")
    moment = datetime.fromtimestamp(now, UTC)
    if certificate.not_valid_after_utc <= moment:
        raise UnusableError(f"{CERTIFICATE} ended at {_said(certificate.not_valid_after_utc)}")
    if certificate.not_valid_before_utc > moment:
        raise UnusableError(f"{CERTIFICATE} is not valid before {_said(certificate.not_valid_before_utc)}")
    # Java reads PKCS #8 only; cert-manager writes PKCS #1 by default.
    return Pair(_chain(pair.certificate), key_pem(key))


def _chain(text: str) -> str:
    """Return the certificates of a file, without other text behind them: members could not read that."""
    found = [each for each in split(text) if BEGIN in each]
    if len(found) > LONGEST_CHAIN:
        raise UnusableError(f"{CERTIFICATE} holds more than {LONGEST_CHAIN} certificates")
    for each in found:
        x509.load_pem_x509_certificate(each.encode())
    return "".join(found)


def _first(pair: Pair) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pair.certificate.encode())
    except ValueError:
        raise UnusableError(f"{CERTIFICATE} is no certificate in PEM") from None


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return found.get_values_for_type(x509.DNSName)


def _read_names(certificate: x509.Certificate) -> None:
    """Raise ValueError for names that cannot be read: they are needed later, in what a CA signs."""
    _ = certificate.subject, certificate.issuer


def _may_sign(certificate: x509.Certificate) -> bool:
    """Return whether a CA may sign by its key usage: otherwise OpenSSL rejects all that it has signed."""
    try:
        return certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound:
        return True


def _covers(pattern: str, name: str) -> bool:
    """Return whether a name of a certificate matches; a star stands for the first part."""
    pattern, name = pattern.lower(), name.lower()
    return pattern == name or (pattern.startswith("*.") and name.partition(".")[2] == pattern[2:])


def _leads(chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]) -> bool:
    """Return whether each certificate of a chain is signed by the next one, up to a trusted one."""
    for place, certificate in enumerate(chain):
        named = (root for root in roots if root.subject == certificate.issuer)
        if any(signed(certificate, root) for root in islice(named, MOST_TRIED)):
            return True
        if place + 1 < len(chain) and not signed(certificate, chain[place + 1]):
            return False
    return False


def _said(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
