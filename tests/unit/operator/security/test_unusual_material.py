"""Given Secrets that become unusable, and Secrets that users have edited, stop and add nothing for good."""

from msgspec.structs import replace

from stateward import pki
from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import HttpSecurity, Security
from stateward.api.values.base import Metadata
from stateward.operator.security.material import Material, Stored, desired_material
from stateward.operator.security.trust import last_trusted
from tests.unit.pki.year_zero import without_a_life

NOW = 1_800_000_000.0
DAY = 86400.0


def cluster(**security: object) -> OpenSearchCluster:
    spec = OpenSearchSpec(
        version="2.19.3",
        pools=[Pool(name="all", replicas=3)],
        security=Security(enabled=True, **security),  # pyright: ignore[reportArgumentType]
    )
    return OpenSearchCluster(metadata=Metadata(name="logs", namespace="data", uid="u"), spec=spec)


def made(of: OpenSearchCluster, known: Stored, now: float = NOW) -> Material:
    found = desired_material(of, known, now).material
    assert found is not None
    return found


def stored(material: Material) -> Stored:
    authority, members, operator = material.files
    return Stored(authority, members, operator)


def given(pair: pki.Pair) -> dict[str, str]:
    return {"tls.crt": pair.certificate, "tls.key": pair.key}


def test_while_the_given_certificate_for_clients_is_unusable_the_trusted_ones_stay_the_same() -> None:
    """They grew with each round, and each write began the next, until no Secret could hold them."""
    theirs = pki.new_authority("theirs", NOW).signs
    asked = cluster(http=HttpSecurity(secret_name="web"))
    web = given(pki.issue(theirs, "http", ["logs.data.svc"], NOW, 30)) | {"ca.crt": theirs.certificate}
    first = made(asked, Stored(given_server=web))
    later = made(asked, replace(stored(first), given_server={}))
    assert later == first
    lost = replace(stored(later), authority=None, given_server={})
    renewed = made(asked, lost)
    assert theirs.certificate in renewed.trusted
    again = made(asked, replace(stored(renewed), given_server={}))
    assert again == renewed
    assert len(set(pki.split(again.trusted))) == len(pki.split(again.trusted))


def test_a_ca_of_the_given_certificate_whose_life_cannot_be_read_does_not_stop_its_correction() -> None:
    theirs = pki.new_authority("theirs", NOW).signs
    asked = cluster(http=HttpSecurity(secret_name="web"))
    web = given(pki.issue(theirs, "http", ["logs.data.svc"], NOW, 30)) | {"ca.crt": theirs.certificate}
    strange = without_a_life()
    bad = made(asked, Stored(given_server=web | {"ca.crt": theirs.certificate + strange}))
    for wrong in (web, {}):
        after = made(asked, replace(stored(bad), given_server=wrong))
        assert theirs.certificate in after.trusted
        assert strange not in after.trusted


def test_while_the_given_ca_is_unusable_one_that_has_ended_is_not_trusted_any_more() -> None:
    asked = cluster(ca_secret_name="own-ca")
    one, two = (pki.new_authority(name, NOW, years).signs for name, years in (("one", 0.1), ("two", 1.0)))
    known = made(asked, Stored(given_authority=given(one)))
    for now in (NOW, NOW + 2 * DAY):
        known = made(asked, replace(stored(known), given_authority=given(two)), now)
    assert one.certificate in known.trusted_by_members
    for now, trusted in ((NOW + 3 * DAY, True), (NOW + 40 * DAY, False)):
        found = made(asked, replace(stored(known), given_authority={}), now)
        assert (one.certificate in found.trusted_by_members) is trusted
        assert found.authority.signs == two


def test_a_ca_that_its_user_took_back_within_the_day_never_signs() -> None:
    theirs = pki.new_authority("theirs", NOW).signs
    first = made(cluster(), Stored())
    asked = made(cluster(ca_secret_name="own-ca"), replace(stored(first), given_authority=given(theirs)), NOW)
    assert theirs.certificate in asked.trusted_by_members
    back = made(cluster(), stored(asked), NOW + 60)
    assert back.authority == first.authority
    assert made(cluster(), stored(back), NOW + 2 * DAY).authority == first.authority


def test_a_time_that_a_user_has_edited_is_none() -> None:
    one, two = (pki.new_authority(name, NOW).signs.certificate for name in ("one", "two"))
    for text in ("\u00b2", "9" * 5000, "nan", "-1"):
        found = last_trusted({"ca.crt": one, "last.crt": one, "last.until": text}, two, NOW, all_heard=False)
        assert found.certificates == one
