"""Repairing members while another one has lost its volume: that is no reason to keep a correction from them."""

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import observation as o
from stateward.planning.model.member import Member
from stateward.planning.steps.upkeep.repair import broken_by_same_change
from tests.unit.planning.world import mixed, settled

NO_CLAIM = 'Unschedulable: persistentvolumeclaim "data-c-all-1" not found'


def problem(*, claim: bool, trouble: str) -> str | None:
    """Return what keeps a correction from c-all-0 while c-all-1 has it and does not start."""
    world = settled(mixed()).edit(pools=[mixed(config={"config/a": "good"})])
    seen = world.observe()

    def corrected(member: Member) -> Member:
        pod = member.pod
        assert pod is not None
        inputs = {**pod.inputs, "config/a": "good"}
        waits = replace(pod, inputs=inputs, ready=False, running=False, node="", trouble=trouble)
        return replace(member, pod=waits, claim=member.claim if claim else None)

    members = tuple(corrected(m) if m.name == "c-all-1" else m for m in seen.members)
    facts = derive(replace(seen, members=members, database=o.Unknown("silent")), world.now + 60)
    return broken_by_same_change(facts, facts.members["c-all-0"])


def test_a_correction_is_not_kept_from_others_because_of_a_member_whose_claim_is_lost() -> None:
    """The disaster this prevents: the one with a lost claim gets it first, never starts, and the others wait for it."""
    assert problem(claim=False, trouble=NO_CLAIM) is None
    assert problem(claim=True, trouble="CrashLoopBackOff: invalid setting") == (
        "c-all-1 does not start with the change that c-all-0 would get"
    )
    assert problem(claim=True, trouble="Unschedulable: 0/3 nodes match the selector") is not None
