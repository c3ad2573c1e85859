"""A certificate that loads, and whose life cannot be read."""

import ssl

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from stateward import pki

LATER = 2_600_000_000.0
"""From 2050 on, a certificate has years of four digits."""


def without_a_life() -> str:
    """Return the certificate of a CA that begins and ends in the year 0, which Python has not."""
    made = pki.new_authority("year 0", LATER).signs.certificate
    data = x509.load_pem_x509_certificate(made.encode()).public_bytes(Encoding.DER)
    for year in (b"2052", b"2057"):
        assert data.count(b"\x18\x0f" + year) == 1
        data = data.replace(b"\x18\x0f" + year, b"\x18\x0f0000")
    return ssl.DER_cert_to_PEM_cert(data)
