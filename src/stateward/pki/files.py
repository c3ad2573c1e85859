"""Certificates as files of a Secret, by the names that cert-manager and Kubernetes use for them."""

from collections.abc import Mapping

from stateward.api.values.duration import stored_time
from stateward.pki.authority import Authority
from stateward.pki.certificate import Pair, signs, sound, split

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
        **({_SINCE: str(int(authority.given))} if authority.given else {}),
        **({_RETIRED: "".join(authority.retired)} if authority.retired else {}),
        TRUSTED: authority.bundle,
    }


def authority_of(files: Mapping[str, str]) -> Authority:
    """Return the CA in files; raises KeyError and ValueError if a part of them is invalid.

    The disaster this prevents: half of it is restored from a backup, the signing key does not belong to the CA that all
    trust, and members use certificates that no member accepts.
    """
    own = Pair(files[CERTIFICATE], files[KEY])
    coming = Pair(files[_COMING], files[_COMING_KEY]) if _COMING in files else None
    retired = split(files.get(_RETIRED, ""))
    if not all(signs(pair) for pair in (own, coming) if pair is not None) or sound(files.get(_RETIRED, "")) != retired:
        raise ValueError("a key that is not its certificate's, or what is no certificate of an authority")
    since = stored_time(files.get(_SINCE, "0"))
    if since is None:
        raise ValueError("what is no time in seconds")
    return Authority(own, coming, retired, since)
