"""A CA through its life: created, followed by the next one while both are trusted, and removed when it expires.

    signs ──a third of its life is left──▶ signs, the next is trusted ──a day later──▶ the next signs, it is trusted
          ──it ends──▶ forgotten

The disaster this prevents: a client gets a certificate of a new CA that it does not trust yet. A day is enough if
certificates are reloaded without a restart; otherwise the caller says whether all have `heard`.
"""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import BasicConstraints, load_pem_x509_certificate
from msgspec import Struct
from msgspec.structs import replace

from stateward.pki.certificate import SLACK, Pair, begins, begun, due, ends, key_pem, pem, split, usage

YEARS = 5.0
LONGEST_NAME = 64
"""Bytes of the common name of a certificate."""
SETTLING = 86400.0
"""Seconds for which the next authority is trusted before it signs: Secrets arrive in pods within two minutes."""


class Authority(Struct, frozen=True):
    """The CA that signs, the next one, and the previous ones; all of them are trusted."""

    signs: Pair
    coming: Pair | None = None
    retired: tuple[str, ...] = ()
    given: float = 0.0
    """Since when the next one is trusted, in seconds since the epoch, if a user gave it: then its age says nothing.

    Without a next one: since when the signing one signs, if it took the place of a lost one.
    """

    @property
    def bundle(self) -> str:
        """The certificates to trust, the signing one first; it alone if others have signed it."""
        coming = () if self.coming is None else (self.coming.certificate,)
        return "".join(split(each)[0] for each in (self.signs.certificate, *coming, *self.retired))


def new_authority(name: str, now: float, years: float = YEARS) -> Authority:
    """Return an authority of a name that signs from now on."""
    return Authority(_pair(name, now, years))


def changed(authority: Authority, now: float, years: float = YEARS, *, heard: bool = True) -> Authority:
    """Return the CA as it should be at a time: unchanged unless the next step of its life is due.

    One that has expired, or that a clock which was ahead has dated, is replaced at once: its signatures are not
    trusted, so there is nothing to wait for.
    """
    kept = tuple(each for each in authority.retired if ends(each) > now)
    authority = authority if kept == authority.retired else replace(authority, retired=kept)
    signs, coming = authority.signs, authority.coming
    valid = coming is not None and begins(coming.certificate) <= now < ends(coming.certificate)
    if not valid and (coming is not None or due(signs.certificate, now)):
        coming = _pair(_name(signs.certificate), now, years)
    authority = authority if coming is authority.coming else replace(authority, coming=coming, given=0.0)
    waits = signs_from(authority) > now or not heard
    if coming is None or (waits and begins(signs.certificate) <= now < ends(signs.certificate)):
        return authority
    retired = (_alone(signs), *kept) if ends(signs.certificate) > now else kept
    return Authority(coming, None, retired)


def followed(authority: Authority, given: Pair, now: float, *, heard: bool = True) -> Authority:
    """Return a CA that is followed by a given one: trusted at once, and signing a day later.

    The next given one follows it in the same way; it never changes automatically.
    """
    kept = tuple(each for each in authority.retired if ends(each) > now and each != _alone(given))
    if _alone(authority.signs) == _alone(given):
        after = Authority(given, None, kept, authority.given if authority.coming is None else 0.0)
        return authority if after == authority else after
    known = authority.coming is not None and authority.coming.certificate == given.certificate
    ended = ends(authority.signs.certificate) <= now
    if ended or (known and heard and authority.given + SETTLING <= now):
        return Authority(given, None, kept if ended else (_alone(authority.signs), *kept))
    # A time that is ahead was stored by a clock that was: the wait begins again.
    since = authority.given if known and authority.given <= now + SLACK else now
    if known and (since, kept) == (authority.given, authority.retired):
        return authority
    return Authority(authority.signs, given, kept, since)


def without_ended(authority: Authority, now: float) -> Authority:
    """Return a CA that stays as it is for now, without the others that are trusted and have ended.

    The disaster this prevents: some members load no changed certificate at all while one of a CA has ended.
    """
    kept = tuple(each for each in authority.retired if ends(each) > now)
    gone = authority.coming is not None and ends(authority.coming.certificate) <= now
    after = Authority(authority.signs, None, kept) if gone else replace(authority, retired=kept)
    return authority if after == authority else after


def withdrawn(authority: Authority) -> Authority:
    """Return a CA without a given next one: its user took it back before it signed anything."""
    return replace(authority, coming=None, given=0.0) if authority.coming is not None and authority.given else authority


def signs_from(authority: Authority) -> float:
    """Return the earliest time when the next one signs, in seconds since the epoch; 0 without one."""
    if authority.coming is None:
        return 0.0
    return (authority.given or _since(authority.coming.certificate)) + SETTLING


def instead(authority: Authority, retired: tuple[str, ...], now: float) -> Authority:
    """Return a CA in the place of a lost one: until it has settled, it signs nothing that can wait."""
    return Authority(authority.signs, None, retired, now)


def settled(authority: Authority, now: float, *, heard: bool) -> Authority:
    """Return a CA that took the place of a lost one as any other, a day later and once all members trust it."""
    if authority.coming is not None or not authority.given:
        return authority
    if authority.given > now + SLACK:  # A clock that was ahead has stored it.
        return replace(authority, given=now)
    return replace(authority, given=0.0) if heard and authority.given + SETTLING <= now else authority


def young(authority: Authority, now: float) -> bool:
    """Return whether the signing CA may not have reached every client yet, because the last one was lost."""
    if authority.coming is None and authority.given:
        return True
    return bool(authority.retired) and _since(authority.signs.certificate) + SETTLING > now


def _pair(name: str, now: float, years: float) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        begun(name, None, key.public_key(), now, now + years * 365 * 86400)
        .add_extension(BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(authority=True), critical=True)
    )
    return Pair(pem(builder.sign(key, hashes.SHA256())), key_pem(key))


def _alone(pair: Pair) -> str:
    """Return the certificate of a CA without those of others that have signed it: they are not trusted."""
    return split(pair.certificate)[0]


def _name(certificate: str) -> str:
    """Return the name for the CA after one; a given one may have none, or one that is too long."""
    found = (each.value for each in load_pem_x509_certificate(certificate.encode()).subject)
    name = next((each for each in found if isinstance(each, str) and each), "CA")
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


def _since(certificate: str) -> float:
    return begins(certificate) + SLACK
