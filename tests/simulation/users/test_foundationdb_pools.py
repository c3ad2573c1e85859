"""Every edit of the pools of a FoundationDB cluster leaves a spec that the operator accepts, and all of them occur."""

import random
from collections import Counter
from copy import deepcopy

import msgspec
import pytest

from stateward.api.checks.foundationdb import check
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values.base import Json
from stateward.api.values.problem import Severity
from stateward.simulation.campaign.engine_setups import ENGINE_SETUPS
from stateward.simulation.campaign.foundationdb_setup import FOUNDATIONDB_PROFILES
from stateward.simulation.users.foundationdb_edits import CHOICE, SINGLE_EDITS
from stateward.simulation.users.foundationdb_pools import POOL_EDITS, PoolsDraft, is_enough, pool_of, size_of
from stateward.simulation.users.member_requests import REQUESTS
from stateward.simulation.world.engine_products import DEFAULT

SETUP = ENGINE_SETUPS["foundationdb"]


def errors(spec: Json) -> list[str]:
    meta = {"name": "logs", "namespace": "default"}
    cluster = msgspec.convert({"metadata": meta, "spec": spec}, FoundationDBCluster)
    return [str(problem) for problem in check(cluster) if problem.severity is Severity.ERROR]


def draft(spec: Json, rng: random.Random) -> PoolsDraft:
    return PoolsDraft(spec, "logs", rng, DEFAULT)


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a sequence of edits that can be repeated


def first(seed: int) -> Json:
    return SETUP.spec(seeded(seed), None)


def test_the_first_specs_have_each_redundancy_and_stateless_members_with_and_without_volumes() -> None:
    specs = [first(seed) for seed in range(60)]
    assert {spec["redundancy"] for spec in specs} == {"single", "double", "triple"}
    assert {str(pool["storage"]) for spec in specs for pool in spec["pools"]} == {
        "{'size': '2Gi'}",
        "{'ephemeral': True}",
    }
    assert all(is_enough(spec) and not errors(spec) for spec in specs)


@pytest.mark.parametrize("seed", range(20))
def test_no_sequence_of_edits_makes_a_spec_that_is_refused_or_too_small(seed: int) -> None:
    rng, spec = seeded(seed), first(seed)
    for _ in range(60):
        edit = rng.choice(SINGLE_EDITS if rng.random() < 0.5 else POOL_EDITS)
        trial = deepcopy(spec)
        if edit.change(draft(trial, rng)):
            assert is_enough(trial), edit.name
            # Members that are listed twice are a wrong edit, which is drawn on purpose.
            assert not [text for text in errors(trial) if "members" not in text], edit.name
            spec = trial


def test_every_edit_happens() -> None:
    done = Counter[str]()
    for seed in range(60):
        rng, spec = seeded(seed), first(seed)
        for _ in range(40):
            edit = rng.choice(CHOICE)
            trial = deepcopy(spec)
            if edit.change(draft(trial, rng)) and edit.name != "invalid edit":
                spec, done[edit.name] = trial, done[edit.name] + 1
    needs_a_removal = {"replacement cancelled"}
    assert {edit.name for edit in CHOICE} - {"invalid edit"} - needs_a_removal <= set(done)


def test_the_edits_of_profiles_exist() -> None:
    known = {edit.name for edit in CHOICE} | {name for name, _, _ in REQUESTS}
    assert {name for profile in FOUNDATIONDB_PROFILES for name in profile.edits} <= known


def test_a_pool_without_a_size_has_what_the_redundancy_needs() -> None:
    pool = pool_of("storage", "storage", 1)
    del pool["replicas"]
    spec = {"version": "7.1.57", "pools": [pool], "redundancy": "triple"}
    assert size_of(spec, pool) == 5
    assert draft(spec, seeded(1)).member() in {f"logs-storage-{n}" for n in range(6)}


def test_fewer_members_than_the_redundancy_needs_are_not_enough() -> None:
    pools = [pool_of("storage", "storage", 3), pool_of("log", "log", 3), pool_of("stateless", "stateless", 1)]
    assert is_enough({"version": "7.1.57", "pools": pools, "redundancy": "double"})
    assert not is_enough({"version": "7.1.57", "pools": pools, "redundancy": "triple"})
    assert not is_enough({"version": "7.1.57", "pools": pools[:2], "redundancy": "single"})
