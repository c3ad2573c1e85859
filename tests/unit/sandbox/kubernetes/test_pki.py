"""Certificates verify where they must and nowhere else."""

import datetime as dt
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store

from sandbox.kubernetes.pki import Credential, Pki, Subject


def _certificate(credential: Credential) -> x509.Certificate:
    return x509.load_pem_x509_certificate(credential.certificate.read_bytes())


def test_a_server_is_verified_by_name_and_address(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    server = _certificate(pki.issue("server", Subject("server", server_names=("localhost", "10.96.0.1"))))
    store = Store([_certificate(pki.authority())])
    verifier = PolicyBuilder().store(store).time(dt.datetime.now(dt.UTC))
    verifier.build_server_verifier(x509.DNSName("localhost")).verify(server, [])


def test_a_client_carries_its_user_and_groups(tmp_path: Path) -> None:
    client = _certificate(Pki(tmp_path).issue("client", Subject("me", ("admins", "people"))))
    assert client.subject.rfc4514_string() == "CN=me,O=people,O=admins"
    usage = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_credentials_are_made_once_and_kept_private(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    first = pki.issue("client", Subject("me"))
    assert _certificate(pki.issue("client", Subject("me"))) == _certificate(first)
    assert first.key.stat().st_mode & 0o077 == 0
    assert pki.service_account_key().key.stat().st_mode & 0o077 == 0
