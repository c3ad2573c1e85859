"""An authority that another one has signed, as companies give them to teams."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stateward import pki
from stateward.pki.certificate import key_pem, pem, signer


def intermediate(root: pki.Pair, now: float) -> pki.Pair:
    """Return it with its chain, and without the identifier that some tools leave out."""
    key = ec.generate_private_key(ec.SECP256R1())
    start = datetime.fromtimestamp(now, UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "team CA")]))
        .issuer_name(x509.load_pem_x509_certificate(root.certificate.encode()).subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - timedelta(days=1))
        .not_valid_after(start + timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(signer(root), hashes.SHA256())
    )
    return pki.Pair(pem(certificate) + root.certificate, key_pem(key))
