"""A configuration that someone has edited is written as it was, and only if the Secret is the member's own."""

from types import SimpleNamespace
from typing import Any

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.connection.base import Target
from stateward.kube.client.client import PatchKind
from stateward.kube.election.fence import unfenced
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import SystemClock
from stateward.operator.act.act import Actor
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.objects.ownership import NotOwnedError, TakenNames
from stateward.planning.model import actions as a
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.act.test_act import LABELS, MEMBER, Recorder, api, existing

__all__ = ["api"]

KEY = Key("data", MEMBER)
WRITTEN = {"opensearch.yml": "YQ=="}


def owned_by(uid: str) -> Json:
    """Return the metadata of an object of the member, with an owner."""
    owner = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "name": "logs", "uid": uid}
    meta = {"namespace": "data", "name": MEMBER, "labels": LABELS, "ownerReferences": [{**owner, "controller": True}]}
    return {**meta, "annotations": {names.ANNOTATION_CHECKSUM: "sha256:1"}}


async def stage(api: WorldApi, *, again: bool) -> None:
    """Write the configuration of the member."""
    config: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": owned_by("u"), "data": WRITTEN}
    template = {"metadata": {"annotations": dict[str, str]()}}
    spec: Json = {"serviceName": "logs", "selector": {"matchLabels": LABELS}, "template": template}
    workload: Json = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": owned_by("u"), "spec": spec}
    told: Any = Recorder([])

    def made(*_: object, **__: object) -> Any:
        return SimpleNamespace(config=config, claim=None, workload=workload)

    family: Any = SimpleNamespace(kind=OPENSEARCH, engine=told, member_objects=made)
    hands = Actor(api, Caches(), family, told, unfenced, taken=TakenNames(api, SystemClock()))
    action = a.Stage(why="x", member=MEMBER, pool="hot", version="2.19.5", again=again)
    await hands.carry_out(action, existing(), Target((), "logs"))


@pytest.mark.parametrize("again", [False, True])
async def test_what_others_have_added_to_a_configuration_is_removed_if_it_is_written_again(
    api: WorldApi, again: bool
) -> None:
    await stage(api, again=again)
    edit: Json = {"data": {"opensearch.yml": "Yg==", "my.yml": "Yw=="}}
    await api.patch(kinds.SECRETS.raw(), KEY, edit, kind=PatchKind.MERGE)
    await stage(api, again=again)
    found = (await api.get(kinds.SECRETS.raw(), KEY))["data"]
    assert found == WRITTEN | ({} if again else {"my.yml": "Yw=="})


async def test_nothing_is_removed_from_a_secret_of_another_owner(api: WorldApi) -> None:
    """Someone has deleted the member's Secret, and keeps something else under its name."""
    await api.create(kinds.SECRETS.raw(), {"metadata": owned_by("another"), "data": {"my.yml": "Yw=="}})
    with pytest.raises(NotOwnedError):
        await stage(api, again=True)
    assert (await api.get(kinds.SECRETS.raw(), KEY))["data"] == {"my.yml": "Yw=="}


async def test_a_secret_that_a_user_keeps_under_the_name_of_a_member_stays_as_it_is(api: WorldApi) -> None:
    """Without a controller, the API server would let it be taken over: it would be deleted with the member."""
    theirs: Json = {"metadata": {"namespace": "data", "name": MEMBER}, "data": {"my.yml": "Yw=="}}
    before = await api.create(kinds.SECRETS.raw(), theirs)
    with pytest.raises(NotOwnedError):
        await stage(api, again=False)
    assert await api.get(kinds.SECRETS.raw(), KEY) == before


async def test_a_secret_that_is_gone_is_written(api: WorldApi) -> None:
    await stage(api, again=True)
    assert (await api.get(kinds.SECRETS.raw(), KEY))["data"] == WRITTEN
