"""The certificates and passwords of a secured cluster's members, clients and operator, and their renewal.

Pure: the inputs are what was read and the time; the result is the desired material. Material that is still good stays
as it was read, and only a renewal changes it.
"""

import secrets
from collections.abc import Mapping

from msgspec import Struct

from stateward import pki
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.security import (
    DEFAULT_LIFETIME,
    SHORTEST_LIFETIME,
    Security,
    TransportSecurity,
    lifetime_seconds,
)
from stateward.engines.connection.access import Access
from stateward.engines.search.configuration import xpack
from stateward.engines.search.configuration.security import alternatives, member_name, operator_name, service_name
from stateward.engines.search.spec.consent import Place
from stateward.engines.search.spec.flavor import SearchCluster
from stateward.operator.security import remote_trust, rotation, trust
from stateward.pki.files import CERTIFICATE, KEY, TRUSTED, authority_files, authority_of
from stateward.pki.given import UnusableError, given_authority, given_server

HTTP, HTTP_KEY = "http.crt", "http.key"
USERNAME, PASSWORD = "username", "password"
PASSWORD_BYTES = 24
DAY = 86400.0

Files = Mapping[str, str]
"""The content of a Secret, by file."""


class Stored(Struct, frozen=True):
    """The content of a cluster's Secrets; None for a Secret that does not exist."""

    authority: Files | None = None
    members: Files | None = None
    operator: Files | None = None
    given_authority: Files | None = None
    """The Secret of spec.security.caSecretName; None if the field is not set."""
    given_server: Files | None = None
    """The Secret of spec.security.http.secretName; None if the field is not set."""
    others: Mapping[Place, str | None] = {}
    """The CAs of joined clusters; None for one that cannot be read now."""
    administrator: Files | None = None
    """Name and password of the first administrator, if members get them; None if the Secret may not be read."""


class Material(Struct, frozen=True):
    """Everything that a secured cluster proves itself by."""

    authority: pki.Authority
    member: pki.Pair
    server: pki.Pair
    """What clients see."""
    operator: pki.Pair
    trusted: str
    """Whom the operator trusts."""
    password: str = ""
    """The operator's password, if certificates do not authenticate users."""
    users: Mapping[str, str] = {}
    """The files that define users for the members, if certificates do not authenticate users."""
    last: trust.LastTrusted = trust.LastTrusted()
    """Whom the operator trusts besides, because some members may still show them."""
    remote: Mapping[str, str] = {}
    """The CAs of joined clusters that the members trust besides, by file."""

    @property
    def trusted_by_members(self) -> str:
        """Whom the members trust."""
        return remote_trust.together(self.authority.bundle, self.remote)

    def access(self, cluster: SearchCluster) -> Access:
        """Return how the operator gets in."""
        own = {CERTIFICATE: self.operator.certificate, KEY: self.operator.key, TRUSTED: self.trusted}
        return _access(cluster, {**own, PASSWORD: self.password})

    @property
    def files(self) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        """The content of the authority's, the members' and the operator's Secret."""
        own = {CERTIFICATE: self.member.certificate, KEY: self.member.key, TRUSTED: self.trusted_by_members}
        member = {**own, **self.remote}
        server = {HTTP: self.server.certificate, HTTP_KEY: self.server.key}
        operator = {CERTIFICATE: self.operator.certificate, KEY: self.operator.key, TRUSTED: self.trusted}
        operator |= self.last.files()
        if not self.password:
            return authority_files(self.authority), {**member, **server}, operator
        return (
            authority_files(self.authority),
            {**member, **server, **self.users},
            {**operator, PASSWORD: self.password},
        )


class MaterialResult(Struct, frozen=True):
    """The desired material, and why given Secrets were ignored, as sentences by field of the spec."""

    material: Material | None
    faults: Mapping[str, str] = {}
    rotation: str = ""
    """The progress of a change of the CA, in a sentence."""
    access: Access | None = None
    """The operator's access to the database; also with the existing material, if nothing new can be created."""


def desired_material(cluster: SearchCluster, stored: Stored, now: float) -> MaterialResult:
    """Return the material of a cluster at a time; None if the given Secrets make it impossible."""
    security = cluster.spec.security or Security()
    faults: dict[str, str] = {}
    all_heard = rotation.heard(cluster, _mark(stored))
    authority = current_authority(cluster, stored, now, faults, all_heard=all_heard)
    if authority is None:
        return MaterialResult(None, faults, access=stored_access(cluster, stored.operator))
    days = lifetime(security) / DAY
    names = alternatives(cluster)
    member = kept_or_issued(stored.members, authority, member_name(cluster), names, now, days)
    client = (f"operator.{service_name(cluster)}",)
    operator = kept_or_issued(stored.operator, authority, operator_name(cluster), client, now, days)
    if member is None or operator is None:
        return MaterialResult(None, faults, access=stored_access(cluster, stored.operator))
    server, given = _server(cluster, stored, authority, now, faults) or (member, "")
    wanted = authority.bundle + given
    last = trust.last_trusted(stored.operator or {}, wanted, now, all_heard=all_heard)
    trusted = wanted + last.certificates
    remote = remote_trust.remote_authorities(stored.others, stored.members or {}, now)
    material = Material(authority, member, server, operator, trusted, *_users(cluster, stored), last, remote)
    said = rotation.sentence(authority, now, all_heard=all_heard)
    return MaterialResult(material, faults, said, material.access(cluster))


def stored_access(cluster: SearchCluster, files: Files | None) -> Access | None:
    """Return how the operator gets in with the content of its Secret as it is; None if that is not enough."""
    return _access(cluster, files) if files is not None and files.keys() >= {CERTIFICATE, TRUSTED} else None


def _access(cluster: SearchCluster, files: Files) -> Access:
    """Return how the operator gets in with the content of its Secret."""
    password = files.get(PASSWORD, "")
    user = xpack.OPERATOR if password else ""
    return Access(service_name(cluster), files[TRUSTED], files[CERTIFICATE], files.get(KEY, ""), user, password)


def _mark(stored: Stored) -> str:
    """Return the mark of what the members were given last."""
    members, authority = stored.members or {}, stored.authority or {}
    trusted = remote_trust.together(authority.get(TRUSTED, ""), remote_trust.stored(members))
    return rotation.mark(members.get(CERTIFICATE, ""), members.get(HTTP, ""), trusted)


def _users(cluster: SearchCluster, stored: Stored) -> tuple[str, Mapping[str, str]]:
    """Return the operator's password, and the files that tell members of it and of the administrator's."""
    if product_of(cluster) is not ELASTICSEARCH:
        return "", {}
    known = stored.administrator or {}
    name, password = known.get(USERNAME, ""), known.get(PASSWORD, "")
    own = (stored.operator or {}).get(PASSWORD) or secrets.token_urlsafe(PASSWORD_BYTES)
    people = {xpack.OPERATOR: own} | ({name: password} if password and xpack.usable(name) else {})
    before = (stored.members or {}).get(xpack.USERS, "")
    # An administrator that may no longer be read stays as the members know it.
    others = stored.administrator is None
    return own, xpack.user_files(people, before, lambda: secrets.token_bytes(xpack.SALT), others=others)


def lifetime(security: Security | TransportSecurity) -> int:
    """Return the lifetime in seconds, the default while the spec is invalid: a renewal waits for no correction."""
    try:
        return max(SHORTEST_LIFETIME, lifetime_seconds(security.certificate_lifetime))
    except ValueError:
        return DEFAULT_LIFETIME


def current_authority(
    cluster: Cluster, stored: Stored, now: float, faults: dict[str, str], *, all_heard: bool
) -> pki.Authority | None:
    """Return the cluster's CA, with the next step of its rotation if that is due."""
    field = "spec.security.caSecretName"
    given: pki.Pair | None = None
    if stored.given_authority is not None:
        try:
            given = given_authority(stored.given_authority, now)
        except UnusableError as error:
            faults[field] = str(error)
    if stored.authority is None:
        if given is None and field in faults:
            return None
        fresh = pki.Authority(given) if given else pki.new_authority(f"{cluster.metadata.name} CA", now)
        return _with_the_trusted(fresh, stored, now)
    try:
        authority = pki.settled(authority_of(stored.authority), now, heard=all_heard)
    except (KeyError, ValueError):
        faults["status.security.caSecretName"] = (
            "the Secret with the cluster's CA holds no CA: restore it from a backup, or delete it so"
            " that the operator creates a new CA"
        )
        return None
    if given is not None:
        return pki.followed(authority, given, now, heard=all_heard)
    if stored.given_authority is None:
        return pki.changed(pki.withdrawn(authority), now, heard=all_heard)
    return pki.without_ended(authority, now)


def _with_the_trusted(authority: pki.Authority, stored: Stored, now: float) -> pki.Authority:
    """Keep trusting what the members trust: a user deleted the Secret of a CA that has signed for them."""
    members = stored.members or {}
    others = {each for text in remote_trust.stored(members).values() for each in pki.split(text)}
    own, known = pki.split(authority.signs.certificate)[0], pki.sound(members.get(TRUSTED, ""))
    trusted = tuple(each for each in known if each != own and each not in others)
    if not trusted or own in known:
        return pki.Authority(authority.signs, None, trusted)
    return pki.instead(authority, trusted, now)


def kept_or_issued(
    files: Files | None, authority: pki.Authority, name: str, names: tuple[str, ...], now: float, days: float
) -> pki.Pair | None:
    """Return the certificate that is there already if it is still good, otherwise a new one.

    None if the CA has ended: a given one whose successor cannot be used, so nothing more can be signed.
    """
    good = still_good(files, authority, names, now)
    if good is not None or pki.ends(authority.signs.certificate) <= now:
        return good
    return pki.issue(authority.signs, name, names, now, days)


def still_good(files: Files | None, authority: pki.Authority, names: tuple[str, ...], now: float) -> pki.Pair | None:
    """Return the certificate that is there already, if it is for these names, is trusted and is not due."""
    pair = pki.Pair((files or {}).get(CERTIFICATE, ""), (files or {}).get(KEY, ""))
    if not pair.certificate or not pki.fits_one(pair, pki.split(authority.bundle), names):
        return None
    return None if pki.due(pair.certificate, now) and _renewable(pair, authority, now) else pair


def _renewable(pair: pki.Pair, authority: pki.Authority, now: float) -> bool:
    """Return whether a new certificate would be valid longer, and accepted by every member.

    No certificate outlives the CA that signs it; and a CA that took the place of a lost one may not have reached every
    member.
    """
    end = pki.ends(pair.certificate)
    early = pki.young(authority, now) and end > now + pki.SETTLING
    return end < pki.ends(authority.signs.certificate) and not early


def _server(
    cluster: SearchCluster, stored: Stored, authority: pki.Authority, now: float, faults: dict[str, str]
) -> tuple[pki.Pair, str] | None:
    """Return the given certificate for clients, or the last good one, and its CAs; None if none was given."""
    if stored.given_server is None:
        return None
    try:
        return given_server(stored.given_server, service_name(cluster), now)
    except UnusableError as error:
        faults["spec.security.http.secretName"] = str(error)
    before = stored.members or {}
    pair = pki.Pair(before.get(HTTP, ""), before.get(HTTP_KEY, ""))
    if pair.certificate == before.get(CERTIFICATE, "") or not pki.belongs(pair):
        return None
    operator = stored.operator or {}
    # The others are added anyway: with them, the bundle would grow with each round until no Secret can hold it.
    others = {*pki.split(authority.bundle), *pki.split(operator.get(trust.LAST, ""))}
    known = dict.fromkeys(pki.sound(operator.get(TRUSTED, "")))
    return pair, "".join(each for each in known if each not in others and pki.ends(each) > now)
