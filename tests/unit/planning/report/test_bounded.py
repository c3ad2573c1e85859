"""A status has a size that the API server takes, however many members do not start, and whatever texts say why."""

import msgspec
import pytest
from msgspec.structs import replace

from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.status import ClusterStatus, MemberStatus, WaitStatus
from stateward.planning.plan import plan
from stateward.planning.report.bounded import LONGEST, ROOM, begin, bounded, size
from stateward.planning.report.status import status
from tests.unit.planning.world import hot, managers, settled

OBJECT = 3 * 2**19
"""Bytes of the largest object that etcd takes."""
MANAGED = 400
"""Bytes that the API server adds for each member: whose fields they are."""
LAST_WORDS = "x" * 4096


def full(words: str, count: int = 1000) -> ClusterStatus:
    """Return the status of the largest cluster, of which no member starts, with long names."""
    names = [f"{'n' * 50}-{'p' * 30}-{number}" for number in range(count)]
    uid, time = "12345678-1234-1234-1234-123456789012", "2026-01-01T00:00:00Z"
    members = [
        MemberStatus(
            name=name,
            pool="p" * 30,
            state="Down",
            version="2.19.5",
            volume=uid,
            node=f"ip-10-12-123-123.eu-central-1.compute.internal{number}",
            zone="eu-central-1a",
            address="10.12.123.123",
            pending="restart",
            reason=f"{name} does not start: {words}",
            last_transition_time=time,
            not_serving_since_time=time,
            missing_since_time=time,
            missing_reason="PodFailing",
        )
        for number, name in enumerate(names)
    ]
    waits = [WaitStatus(subject=n, reason="ReplacementHeld", message=f"{n}: {words}", since_time=time) for n in names]
    return ClusterStatus(member_states=members, waiting=waits, activity=words)


@pytest.mark.parametrize("words", [LAST_WORDS, "é" * 4096, '"\\' * 2048])
def test_the_status_of_the_largest_cluster_is_an_object_that_etcd_takes(words: str) -> None:
    found = bounded(full(words))
    assert len(msgspec.json.encode(found)) + len(found.member_states) * MANAGED < OBJECT
    assert all(m.reason.startswith(f"{m.name} does not start: ") for m in found.member_states)
    assert bounded(found) == found


def test_the_texts_of_a_few_members_and_short_ones_of_many_stay_whole() -> None:
    few = full(LAST_WORDS, count=20)
    assert bounded(few) == few
    many = full("the configuration is not the one that this pod was made for", count=900)
    assert bounded(many) == many


def test_one_sentence_is_bounded_as_well_and_so_are_those_of_removals() -> None:
    long = "x" * 2 * LONGEST
    removals = [RemovalStatus(name=f"c-hot-{n}", reason=long, start_time="") for n in range(100)]
    found = bounded(replace(full(long, count=1), pending_removals=removals))
    assert max(size(text) for text in (found.activity, found.member_states[0].reason)) <= LONGEST
    assert sum(size(removal.reason) for removal in found.pending_removals) <= ROOM


def test_a_text_is_cut_between_characters_and_ends_with_dots() -> None:
    assert begin("ééééé", 8) == "éé..."
    assert begin("éééé", 8) == "éééé"
    assert begin("xx", 1) == "..."


def test_a_cluster_whose_members_all_end_with_many_words_has_a_small_status() -> None:
    world = settled(managers(), hot(150))
    seen = world.observe()
    trouble = f"CrashLoopBackOff: back-off 5m0s (it ended with code 1: {LAST_WORDS})"
    broken = tuple(
        m if m.pod is None else replace(m, pod=replace(m.pod, ready=False, trouble=trouble)) for m in seen.members
    )
    observed = replace(seen, members=broken)
    written = status(observed, plan(observed, world.now), world.status, world.now)
    assert sum(LAST_WORDS[:1000] in member.reason for member in written.member_states) == 153
    assert len(msgspec.json.encode(written)) < 2 * ROOM
