"""Certificates are renewed long before they end, and authorities follow each other without a moment of distrust."""

import socket
import ssl
import threading
from pathlib import Path

import pytest

from stateward import pki
from stateward.pki.authority import SETTLING, YEARS

NOW = 1_800_000_000.0
DAY = 86400.0
NAMES = ("logs-hot-0.data.agent", "10.1.2.3", "fd00::1")


def test_a_certificate_is_for_its_names_and_of_its_authority() -> None:
    ours, other = pki.new_authority("logs", NOW), pki.new_authority("logs", NOW)
    pair = pki.issue(ours.signs, "logs-hot-0", NAMES, NOW)
    assert pki.fits(pair, ours.signs, NAMES)
    assert not pki.fits(pair, other.signs, NAMES)
    assert not pki.fits(pair, ours.signs, NAMES[:1])
    assert not pki.fits(pki.Pair(pair.certificate, other.signs.key), ours.signs, NAMES)
    assert not pki.fits(pki.Pair("", ""), ours.signs, NAMES)
    assert pki.signs(ours.signs)
    assert not pki.signs(pair)
    assert not pki.signs(pki.Pair(ours.signs.certificate, other.signs.key))
    assert not pki.signs(pki.Pair("", ""))


def test_a_certificate_is_due_when_a_third_of_its_life_is_left() -> None:
    pair = pki.issue(pki.new_authority("logs", NOW).signs, "a", ["a"], NOW, days=90)
    assert not pki.due(pair.certificate, NOW + 59 * DAY)
    assert pki.due(pair.certificate, NOW + 61 * DAY)
    assert pki.ends(pair.certificate) == NOW + 90 * DAY


def test_a_certificate_never_outlives_its_authority() -> None:
    authority = pki.new_authority("logs", NOW, years=1)
    pair = pki.issue(authority.signs, "a", ["a"], NOW + 300 * DAY, days=90)
    assert pki.ends(pair.certificate) == pki.ends(authority.signs.certificate)


def test_a_long_name_does_not_break_the_certificate() -> None:
    pair = pki.issue(pki.new_authority("n" * 100, NOW).signs, "m" * 100, ["m" * 60 + ".data"], NOW)
    assert pki.ends(pair.certificate) > NOW


def test_the_next_authority_is_trusted_before_it_signs_and_the_old_one_until_it_ends() -> None:
    first = pki.new_authority("logs", NOW)
    assert pki.changed(first, NOW + DAY) is first
    late = NOW + YEARS * 365 * DAY * 0.7
    both = pki.changed(first, late)
    assert both.signs == first.signs
    assert both.coming is not None
    assert both.coming.certificate in both.bundle
    assert pki.changed(both, late + SETTLING / 2) is both
    second = pki.changed(both, late + SETTLING + 1)
    assert second.signs == both.coming
    assert first.signs.certificate in second.bundle
    assert pki.changed(second, late + 2 * SETTLING) is second
    third = pki.changed(second, NOW + YEARS * 365 * DAY + 1)
    assert third.signs == second.signs
    assert third.retired == ()


def test_an_authority_that_has_ended_is_replaced_at_once() -> None:
    first = pki.new_authority("logs", NOW)
    after = pki.changed(first, NOW + (YEARS + 1) * 365 * DAY)
    assert after.signs != first.signs
    assert after.coming is None
    assert after.retired == ()


def test_what_a_clock_that_was_ahead_has_dated_is_replaced_at_once() -> None:
    """No client accepts it before it begins, which may be in years."""
    ahead = NOW + 300 * DAY
    first = pki.new_authority("logs", ahead)
    after = pki.changed(first, NOW)
    assert after.signs != first.signs
    assert first.signs.certificate in after.bundle, "it is accepted once it begins, as are certificates of it"
    assert pki.changed(after, NOW + 1) is after
    assert pki.due(pki.issue(first.signs, "a", ["a"], ahead).certificate, NOW)
    assert not pki.due(pki.issue(after.signs, "a", ["a"], NOW).certificate, NOW)


def test_a_next_authority_that_a_clock_that_was_ahead_has_dated_is_another_one_that_signs_after_its_usual_time() -> (
    None
):
    first = pki.new_authority("logs", NOW)
    late = NOW + YEARS * 365 * DAY * 0.7
    ahead = pki.changed(first, late + 200 * DAY)
    again = pki.changed(ahead, late)
    assert again.signs == first.signs
    assert again.coming not in (None, ahead.coming)
    assert pki.changed(again, late + SETTLING / 2) is again
    assert pki.changed(again, late + SETTLING + 1).signs == again.coming


@pytest.mark.parametrize(("name", "accepted"), [("logs-hot-0.data.agent", True), ("logs-hot-1.data.agent", False)])
def test_a_client_verifies_the_name_with_the_bundle(tmp_path: Path, name: str, accepted: bool) -> None:
    import time

    authority = pki.new_authority("logs", time.time())
    pair = pki.issue(authority.signs, "logs-hot-0", NAMES, time.time())
    (tmp_path / "crt").write_text(pair.certificate)
    (tmp_path / "key").write_text(pair.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    client = ssl.create_default_context(cadata=authority.bundle)
    left, right = socket.socketpair()

    def serve() -> None:
        try:
            server.wrap_socket(left, server_side=True).close()
        except OSError:
            left.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        if accepted:
            client.wrap_socket(right, server_hostname=name).close()
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                client.wrap_socket(right, server_hostname=name)
    finally:
        right.close()
        thread.join()
