"""Keys that were made to keep the operator busy: OpenSSL tests the primes of an RSA key when it reads it."""

import base64

import pytest

from stateward.pki import Pair
from stateward.pki.certificate import signer


def number(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "big")
    return b"\x02" + length(len(data)) + data


def length(value: int) -> bytes:
    if value < 128:
        return bytes([value])
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(data)]) + data


def rsa(first: int, second: int) -> str:
    """Return a key with two primes that need not be searched for: they are one less than these powers of two."""
    p, q, e = 2**first - 1, 2**second - 1, 65537
    d = pow(e, -1, (p - 1) * (q - 1))
    fields = (0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    body = b"".join(map(number, fields))
    text = base64.encodebytes(b"\x30" + length(len(body)) + body).decode()
    return f"-----BEGIN RSA PRIVATE KEY-----\n{text}-----END RSA PRIVATE KEY-----\n"


@pytest.mark.parametrize("powers", [(2203, 4253), (4253, 4423)])
def test_a_key_that_takes_seconds_to_read_is_refused_unread(powers: tuple[int, int]) -> None:
    """9,000 bits took 14 s of the event loop, 20,000 bits 195 s, at each look at the Secret."""
    with pytest.raises(ValueError, match="too long"):
        signer(Pair("", rsa(*powers)))
