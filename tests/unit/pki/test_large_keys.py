"""Keys that were made to keep the operator busy: OpenSSL tests the primes of an RSA key when it reads it."""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from stateward.pki import Pair
from stateward.pki.certificate import signer


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an item for each key that OpenSSL reads."""
    calls, usual = list[int](), serialization.load_pem_private_key

    def counting(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        return usual(*arguments, **named)

    monkeypatch.setattr(serialization, "load_pem_private_key", counting)
    return calls


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


@pytest.mark.parametrize("powers", [(127, 4253), (607, 3217), (2203, 2281)])
def test_a_key_with_one_long_prime_or_too_many_bits_is_refused_untested(powers: tuple[int, int]) -> None:
    """These are short enough as texts, and took 1 to 4 s each."""
    with pytest.raises(ValueError, match="4096 bits"):
        signer(Pair("", rsa(*powers)))


def test_a_key_is_tested_once(loads: list[int]) -> None:
    """One of 4096 bits takes a quarter of a second, and was read several times in each round of its cluster."""
    text = rsa(607, 1279)
    first = signer(Pair("", text))
    many = len(loads)
    assert many > 0
    assert [signer(Pair("another certificate", text)) for _ in range(50)] == [first] * 50
    assert len(loads) == many


def test_a_key_that_cannot_be_used_is_tested_once(loads: list[int]) -> None:
    text = rsa(607, 1279).replace("A", "B", 1)
    said = set[str]()
    for _ in range(50):
        with pytest.raises(ValueError, match=r"\w") as caught:
            signer(Pair("", text))
        said.add(str(caught.value))
    assert len(said) == 1
    assert len(loads) <= 2
