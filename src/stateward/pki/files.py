"""Certificates as files of a Secret, by the names that cert-manager and Kubernetes use for them."""

from collections.abc import Mapping

from cryptography import x509

from stateward.pki.authority import Authority
from stateward.pki.certificate import Pair, split

CERTIFICATE = "tls.crt"
KEY = "tls.key"
TRUSTED = "ca.crt"
_COMING, _COMING_KEY, _SINCE, _RETIRED = "next.crt", "next.key", "next.since", "retired.crt"


def authority_files(authority: Authority) -> dict[str, str]:
    """Return the files of an authority."""
    coming = authority.coming
    return {
        CERTIFICATE: authority.signs.certificate,
        KEY: authority.signs.key,
        **({} if coming is None else {_COMING: coming.certificate, _COMING_KEY: coming.key}),
        **({_SINCE: str(int(authority.given))} if coming is not None and authority.given else {}),
        **({_RETIRED: "".join(authority.retired)} if authority.retired else {}),
        TRUSTED: authority.bundle,
    }


def authority_of(files: Mapping[str, str]) -> Authority:
    """Return the authority that files hold; raises KeyError and ValueError where they hold none."""
    coming = Pair(files[_COMING], files[_COMING_KEY]) if _COMING in files else None
    signs = Pair(files[CERTIFICATE], files[KEY])
    x509.load_pem_x509_certificate(signs.certificate.encode())
    return Authority(signs, coming, split(files.get(_RETIRED, "")), float(files.get(_SINCE, "0")))
