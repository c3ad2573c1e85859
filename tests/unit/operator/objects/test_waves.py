"""Which operator manages a cluster: at every moment at most one, whatever labels and claims there are."""

from itertools import product

import pytest
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.names import ANNOTATION_CLAIM, LABEL_WAVE
from stateward.operator.objects.waves import Turn, turn
from tests.unit.operator.pod_rights.clusters import search

WAVES = ("", "canary", "early")


def labelled(wave: str, claim: str) -> Cluster:
    cluster = search()
    labels = {LABEL_WAVE: wave} if wave else {}
    annotations = {ANNOTATION_CLAIM: claim} if claim else {}
    return replace(cluster, metadata=replace(cluster.metadata, labels=labels, annotations=annotations))


@pytest.mark.parametrize(("label", "claim"), list(product(WAVES, WAVES)))
def test_at_most_one_operator_manages_a_cluster(label: str, claim: str) -> None:
    managing = [wave for wave in WAVES if turn(labelled(label, claim), wave) is Turn.MANAGE]
    assert len(managing) <= 1


@pytest.mark.parametrize(
    ("label", "claim", "wave", "wanted"),
    [
        ("", "", "", Turn.MANAGE),
        ("canary", "", "", Turn.MANAGE),
        ("canary", "canary", "", Turn.LEAVE),
        ("", "canary", "", Turn.LEAVE),
        ("", "", "canary", Turn.LEAVE),
        ("canary", "", "canary", Turn.CLAIM),
        ("canary", "canary", "canary", Turn.MANAGE),
        ("", "canary", "canary", Turn.RELEASE),
        ("early", "canary", "canary", Turn.RELEASE),
        ("early", "canary", "early", Turn.LEAVE),
    ],
)
def test_a_label_asks_and_a_claim_decides(label: str, claim: str, wave: str, wanted: Turn) -> None:
    assert turn(labelled(label, claim), wave) is wanted


@pytest.mark.parametrize("label", WAVES)
def test_without_a_claim_the_operator_of_all_others_manages_every_cluster(label: str) -> None:
    assert turn(labelled(label, ""), "") is Turn.MANAGE
