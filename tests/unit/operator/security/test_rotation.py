"""A CA is replaced by the next one only after all members and clients trust the new one."""

import pytest
from msgspec.structs import replace

from stateward import pki
from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import HttpSecurity, Security, SecurityStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import Condition, Metadata
from stateward.engines.opensearch import OPENSEARCH
from stateward.engines.search.configuration.security import alternatives, inputs
from stateward.engines.search.spec.pools import find
from stateward.operator.security.material import Material, MaterialResult, Stored, desired_material
from stateward.operator.security.protection import protection
from stateward.operator.security.trust import PATIENCE, last_trusted
from stateward.pki.files import TRUSTED
from stateward.planning.model.past_times import AHEAD

NOW = 1_800_000_000.0
DAY = 86400.0
RELOADS, RESTARTS = "2.19.3", "2.17.1"


def theirs(name: str = "company CA") -> dict[str, str]:
    """Return a Secret as cert-manager writes it for a certificate with isCA: true."""
    pair = pki.new_authority(name, NOW).signs
    return {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.certificate}


def cluster(version: str, *, known: MaterialResult | None = None, ready: bool = True) -> OpenSearchCluster:
    """Return a cluster whose members run with what was made."""
    security = Security(enabled=True, ca_secret_name="company")
    spec = OpenSearchSpec(version=version, pools=[Pool(name="all", replicas=3)], security=security)
    metadata = Metadata(name="logs", namespace="data", uid="u", generation=4)
    bare = OpenSearchCluster(metadata=metadata, spec=spec)
    if known is None:
        return bare
    condition = Condition(
        type="Ready",
        status="True" if ready else "False",
        reason="r",
        message="",
        observed_generation=4,
        last_transition_time="",
    )
    status = ClusterStatus(version=version, security=status_of(bare, known), conditions=[condition])
    return replace(bare, status=status)


def status_of(of: OpenSearchCluster, known: MaterialResult) -> SecurityStatus:
    return protection(of, known, "", on=True).status()


def stored(known: MaterialResult, given: dict[str, str] | None = None) -> Stored:
    authority, members, operator = material(known).files
    return Stored(authority, members, operator, given)


def material(known: MaterialResult) -> Material:
    assert known.material is not None
    return known.material


def subjects(known: MaterialResult) -> list[str]:
    """Return the certificates that are trusted."""
    return list(pki.split(material(known).authority.bundle))


@pytest.mark.parametrize("version", [RELOADS, RESTARTS])
def test_a_ca_follows_another_with_both_trusted_from_before_until_after(version: str) -> None:
    """Each step is reported: trusted for a day, then signing, with the last one trusted until it expires."""
    one, two = theirs(), theirs()
    first = desired_material(cluster(version), Stored(given_authority=one), NOW)
    assert first.rotation == ""
    both = desired_material(cluster(version, known=first), stored(first, two), NOW)
    assert subjects(both) == [one["tls.crt"], two["tls.crt"]]
    assert material(both).member == material(first).member
    assert both.rotation == "the next CA is trusted, and signs from 2027-01-16T08:00:00Z"
    waiting = desired_material(cluster(version, known=both), stored(both, two), NOW + DAY / 2)
    assert material(waiting) == material(both)
    after = desired_material(cluster(version, known=both), stored(both, two), NOW + DAY + 1)
    assert subjects(after) == [two["tls.crt"], one["tls.crt"]]
    assert after.rotation.startswith("the last CA is trusted until 20")
    assert material(after).member == material(first).member
    renewed = desired_material(cluster(version, known=after), stored(after, two), NOW + 61 * DAY)
    signs = material(after).authority.signs
    assert pki.fits(material(renewed).member, signs, alternatives(cluster(version)))
    assert material(renewed).server == material(renewed).member
    assert subjects(renewed) == subjects(after)


def test_where_trust_takes_a_restart_the_next_ca_signs_only_after_all_have_restarted() -> None:
    """A rollout may be blocked for longer than a day; members that have not restarted would be cut off."""
    first = desired_material(cluster(RESTARTS), Stored(given_authority=theirs()), NOW)
    two = theirs()
    both = desired_material(cluster(RESTARTS, known=first), stored(first, two), NOW)
    late = NOW + 9 * DAY
    for known in (cluster(RESTARTS, known=both, ready=False), cluster(RESTARTS, known=first)):
        waits = desired_material(known, stored(both, two), late)
        assert material(waits) == material(both)
        assert "once the cluster is Ready" in waits.rotation
    assert subjects(desired_material(cluster(RESTARTS, known=both), stored(both, two), late))[0] == two["tls.crt"]
    assert (
        subjects(desired_material(cluster(RELOADS, known=both, ready=False), stored(both, two), late))[0]
        == two["tls.crt"]
    )


def test_members_that_do_not_reload_restart_for_each_step_and_others_for_none() -> None:
    first = desired_material(cluster(RESTARTS), Stored(given_authority=theirs()), NOW)
    both = desired_material(cluster(RESTARTS, known=first), stored(first, theirs()), NOW)

    def made_from(version: str, known: MaterialResult) -> dict[str, object]:
        return dict(inputs(find(OPENSEARCH, cluster(version, known=known), "all"), version))

    assert made_from(RESTARTS, first) != made_from(RESTARTS, both)
    assert made_from(RELOADS, first) == made_from(RELOADS, both)


def test_a_cluster_in_the_middle_of_an_upgrade_is_as_slow_to_hear_as_its_older_members() -> None:
    first = desired_material(cluster(RESTARTS), Stored(given_authority=theirs()), NOW)
    two = theirs()
    both = desired_material(cluster(RESTARTS, known=first), stored(first, two), NOW)
    mixed = cluster(RESTARTS, known=both, ready=False)
    mixed = replace(mixed, spec=replace(mixed.spec, version=RELOADS))
    assert material(desired_material(mixed, stored(both, two), NOW + 9 * DAY)) == material(both)


def test_an_expired_ca_is_replaced_at_once() -> None:
    first = desired_material(cluster(RESTARTS), Stored(given_authority=theirs()), NOW)
    late = NOW + 6 * 365 * DAY
    new = pki.new_authority("company CA", late).signs
    given = {"tls.crt": new.certificate, "tls.key": new.key}
    after = desired_material(cluster(RESTARTS, known=first, ready=False), stored(first, given), late)
    assert subjects(after) == [new.certificate]


def test_a_ca_made_for_a_lost_one_signs_nothing_on_its_first_day_that_can_wait() -> None:
    """The members have not received it, and the old signing key is lost."""
    first = desired_material(cluster(RELOADS), Stored(given_authority=theirs()), NOW)
    due = NOW + 61 * DAY
    lost = replace(stored(first), authority=None)
    fresh = desired_material(cluster(RELOADS, known=first), lost, due)
    assert material(fresh).member == material(first).member
    assert len(subjects(fresh)) == 2
    settled = desired_material(cluster(RELOADS, known=fresh), stored(fresh), due + DAY + 1)
    assert pki.fits(material(settled).member, material(fresh).authority.signs, alternatives(cluster(RELOADS)))
    ending = desired_material(cluster(RELOADS, known=first), lost, NOW + 89.5 * DAY)
    assert material(ending).member != material(first).member


def test_a_ca_made_for_a_lost_one_signs_nothing_that_can_wait_before_all_members_have_restarted() -> None:
    """A rollout may be held for longer than its first day; members that have not restarted would be cut off."""
    first = desired_material(cluster(RESTARTS), Stored(given_authority=theirs()), NOW)
    lost = replace(stored(first), authority=None)
    fresh = desired_material(cluster(RESTARTS, known=first), lost, NOW + 40 * DAY)
    due = NOW + 61 * DAY
    for known in (cluster(RESTARTS, known=fresh, ready=False), cluster(RESTARTS, known=first)):
        waits = desired_material(known, stored(fresh), due)
        assert material(waits).member == material(first).member
        assert material(waits).operator == material(first).operator
    trusted = desired_material(cluster(RESTARTS, known=fresh), stored(fresh), due)
    assert pki.fits(material(trusted).member, material(fresh).authority.signs, alternatives(cluster(RESTARTS)))
    ending = desired_material(cluster(RESTARTS, known=first), stored(fresh), NOW + 89.5 * DAY)
    assert material(ending).member != material(first).member


@pytest.mark.parametrize("ahead", [0.0, 900 * DAY])
def test_a_given_ca_in_the_place_of_a_lost_one_signs_nothing_on_its_first_day_however_old_it_is(ahead: float) -> None:
    """No member has received it; a clock that was ahead when it came lengthens the day by one."""
    first = desired_material(cluster(RELOADS), Stored(given_authority=theirs()), NOW)
    two, due = theirs(), NOW + 61 * DAY
    fresh = desired_material(cluster(RELOADS, known=first), replace(stored(first, two), authority=None), due)
    assert material(fresh).member == material(first).member
    known = stored(fresh, two)
    files = dict(known.authority or {})
    assert files.pop("next.since") == str(int(due))
    known = replace(known, authority={**files, "next.since": str(int(due + ahead))})
    soon = desired_material(cluster(RELOADS, known=fresh), known, due + DAY / 2)
    assert material(soon).member == material(first).member
    settled = desired_material(cluster(RELOADS, known=soon), stored(soon, two), due + 1.5 * DAY + 1)
    assert pki.fits(material(settled).member, material(fresh).authority.signs, alternatives(cluster(RELOADS)))
    assert "next.since" not in material(settled).files[0]


def web(authority: pki.Pair) -> dict[str, str]:
    """Return a certificate for clients as cert-manager writes it."""
    pair = pki.issue(authority, "web", ["logs.data.svc"], NOW, 30)
    return {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}


@pytest.mark.parametrize("version", [RELOADS, RESTARTS])
def test_the_client_ca_may_change_and_the_operator_still_knows_members_that_have_not_changed(version: str) -> None:
    """It cannot restart members that it does not trust, and members that have not restarted use the old certificate."""
    one, two = (pki.new_authority("web CA", NOW).signs for _ in range(2))
    asked = cluster(version)
    assert asked.spec.security is not None
    served = replace(asked.spec, security=replace(asked.spec.security, http=HttpSecurity(secret_name="web")))
    given = theirs()

    def after(known: MaterialResult, server: dict[str, str], now: float, *, ready: bool) -> MaterialResult:
        state = replace(cluster(version, known=known, ready=ready), spec=served)
        return desired_material(state, replace(stored(known, given), given_server=server), now)

    first = desired_material(replace(asked, spec=served), Stored(given_authority=given, given_server=web(one)), NOW)
    other = web(two)
    both = after(first, other, NOW + 60, ready=True)
    assert material(both).server.certificate == other["tls.crt"]
    assert {one.certificate, two.certificate} <= set(pki.split(material(both).trusted))
    assert one.certificate not in material(both).authority.bundle
    held = after(both, other, NOW + DAY, ready=False)
    assert (one.certificate in material(held).trusted) is (version == RESTARTS)
    assert one.certificate in material(after(both, other, NOW + 300, ready=True)).trusted
    done = after(both, other, NOW + DAY, ready=True)
    assert one.certificate not in material(done).trusted
    assert material(after(done, other, NOW + DAY + 60, ready=True)) == material(done)


def test_a_ca_is_trusted_besides_until_it_expires_and_not_from_then_on() -> None:
    one, two = (pki.new_authority(name, NOW).signs.certificate for name in ("one", "two"))
    ends = pki.ends(one)
    for now, kept in ((ends - 1, one), (ends, "")):
        assert last_trusted({TRUSTED: one}, two, now, all_heard=False).certificates == kept


@pytest.mark.parametrize("ahead", [100.0, 1000 * DAY])
def test_a_ca_is_trusted_besides_no_longer_than_usual_after_a_clock_was_ahead(ahead: float) -> None:
    one, two = (pki.new_authority(name, NOW).signs.certificate for name in ("one", "two"))
    files = last_trusted({TRUSTED: one}, two, NOW + ahead, all_heard=True).files()
    first = last_trusted({TRUSTED: one + two, **files}, two, NOW, all_heard=True)
    assert first.certificates == one
    stored = {TRUSTED: one + two, **first.files()}
    assert last_trusted(stored, two, NOW + PATIENCE - 1, all_heard=True) == first, "it is stored once"
    assert not last_trusted(stored, two, NOW + PATIENCE + AHEAD, all_heard=True).certificates
