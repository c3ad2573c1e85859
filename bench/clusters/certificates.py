"""The certificates of a recorded cluster, issued again for a copy of it under another name.

Each copy has a CA of its own, as real clusters have: what the operator remembers of one says nothing about the others.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID

from bench.clusters import fleet
from stateward import pki
from stateward.engines.search.configuration.security import member_name_at
from stateward.engines.search.spec.consent import Place
from stateward.kube.objects.secret_content import text_content
from stateward.operator.security.material import HTTP
from stateward.operator.security.rotation import mark
from stateward.pki.certificate import SLACK
from stateward.pki.files import CERTIFICATE, KEY, TRUSTED

Object = dict[str, Any]


def renamed(secrets: list[Object], name: str, other: str) -> dict[str, str]:
    """Return what has to be replaced in the objects of a cluster for a copy: text by text, empty if it is unsecured."""
    files = {secret["metadata"]["name"]: text_content(secret) for secret in secrets}
    known = files.get(f"{name}-ca")
    if known is None:
        return {}
    authority = pki.new_authority(f"{other} CA", since(known[CERTIFICATE]))
    old, new = _common_name(name), _common_name(other)
    issued = {known[CERTIFICATE]: authority.signs.certificate, known[KEY]: authority.signs.key}
    for pair in _pairs(files):
        if pair.certificate not in issued:
            common, alternatives = names_of(pair.certificate)
            own = [each.replace(name, other) for each in alternatives]
            fresh = pki.issue(authority.signs, common.replace(old, new), own, since(pair.certificate))
            issued |= {pair.certificate: fresh.certificate, pair.key: fresh.key}
    members = files[f"{name}-tls"]
    was = (members[CERTIFICATE], members[HTTP], members[TRUSTED])
    marks = {mark(*was): mark(*(issued[each] for each in was))}
    return {_encoded(before): _encoded(after) for before, after in issued.items()} | marks | {old: new}


def names_of(certificate: str) -> tuple[str, tuple[str, ...]]:
    """Return the common name of a certificate, and its DNS names and addresses."""
    loaded = x509.load_pem_x509_certificate(certificate.encode())
    common = loaded.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    found = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return str(common), tuple(str(each.value) for each in found)


def since(certificate: str) -> float:
    """Return when a certificate was issued, in seconds since the epoch; a copy is as old, so that no time differs."""
    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_before_utc.timestamp() + SLACK


def _pairs(files: Mapping[str, Mapping[str, str]]) -> Iterator[pki.Pair]:
    for each in files.values():
        if CERTIFICATE in each:
            yield pki.Pair(each[CERTIFICATE], each[KEY])


def _common_name(name: str) -> str:
    """Return the part of the common names that tells clusters apart."""
    return member_name_at(Place(fleet.NAMESPACE, name)).partition(".")[2]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
