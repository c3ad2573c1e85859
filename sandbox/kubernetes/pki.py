"""Keys and certificates of a sandbox, made once and kept as long as the sandbox is.

Two authorities, as Kubernetes wants it: one for all, one for the front proxy alone, so that no
ordinary client can claim to speak for the aggregation layer.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = dt.timedelta(days=3650)
# Clocks of the past hour still accept it: a restored virtual machine may be a little behind.
_SLACK = dt.timedelta(hours=1)


@dataclass(frozen=True)
class Credential:
    """A key and its certificate, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Subject:
    """The subject of a certificate: user and groups of a client, names and addresses of a server."""

    user: str
    groups: Sequence[str] = ()
    server_names: Sequence[str] = ()

    def name(self) -> x509.Name:
        """Return the X.509 name: the user is the common name, each group an organization."""
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in self.groups]
        return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, self.user)])


@dataclass(frozen=True)
class Pki:
    """The directory of keys of one sandbox."""

    directory: Path

    def authority(self, name: str = "ca") -> Credential:
        """Return the authority `name`, made at the first call."""
        credential = self._credential(name)
        if not credential.certificate.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"sandbox-{name}")])
            usage = x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
                key_encipherment=False, data_encipherment=False, key_agreement=False,
                encipher_only=False, decipher_only=False,
            )  # fmt: skip
            builder = (
                _builder(subject, subject, key.public_key())
                .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
                .add_extension(usage, critical=True)
                .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            )
            _write(credential, key, builder.sign(key, hashes.SHA256()))
        return credential

    def issue(self, name: str, subject: Subject, *, authority: str = "ca") -> Credential:
        """Return the credential `name`, made at the first call: a server's if it has server names, else a client's."""
        credential = self._credential(name)
        if credential.certificate.exists():
            return credential
        issuer = self.authority(authority)
        issuer_key = serialization.load_pem_private_key(issuer.key.read_bytes(), None)
        assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)  # noqa: S101 - made above
        issuer_certificate = x509.load_pem_x509_certificate(issuer.certificate.read_bytes())
        key = ec.generate_private_key(ec.SECP256R1())
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH if subject.server_names else ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            _builder(subject.name(), issuer_certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        )
        if subject.server_names:
            names = [_general_name(each) for each in subject.server_names]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        _write(credential, key, builder.sign(issuer_key, hashes.SHA256()))
        return credential

    def service_account_key(self) -> Credential:
        """Return the key pair that signs service account tokens; `certificate` is the bare public key."""
        credential = Credential(self.directory / "service-account.pub", self.directory / "service-account.key")
        if not credential.certificate.exists():
            key = rsa.generate_private_key(65537, 2048)
            public = key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            _write_key(credential.key, key)
            credential.certificate.write_bytes(public)
        return credential

    def _credential(self, name: str) -> Credential:
        return Credential(self.directory / f"{name}.crt", self.directory / f"{name}.key")


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(now + _LIFE)
    )


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(credential: Credential, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    _write_key(credential.key, key)
    # The certificate comes last and in one piece: its presence says that the pair is complete.
    fresh = credential.certificate.with_suffix(".new")
    fresh.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    fresh.replace(credential.certificate)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    path.touch(mode=0o600)
    path.write_bytes(pem)
