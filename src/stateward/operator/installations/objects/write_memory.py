"""How this process has left the objects of installations; forgetting it costs a few questions and changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

import msgspec

from stateward.api.values.base import Json
from stateward.kube.cache.apply import state_of
from stateward.kube.objects.metadata import ObjectMeta
from stateward.packages.plans.health import Health, health_of
from stateward.packages.restarts.dependencies import CONFIG_MAP, SECRET, template_path
from stateward.packages.restarts.restarts import digest_in


@dataclass(slots=True)
class _Left:
    """One installation: the states of its objects by UID, and the order in which data and workloads were applied.

    `digests` are those in the pod templates, each with the state in which this process wrote it. `unhealthy` has the
    objects that were not healthy when they were read.
    """

    states: dict[str, str] = field(default_factory=dict[str, str])
    digests: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    unhealthy: dict[str, Json] = field(default_factory=dict[str, Json])
    judged: dict[str, int] = field(default_factory=dict[str, int])
    data: int = 0
    run: str = ""
    whole: bool = False
    renewed: bool = False


class WriteMemory:
    """What was applied, by installation."""

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}
        self._order = count(1)

    def begin(self, set_id: str, run: str, *, first: bool) -> None:
        """Note that this process carries out a run (by its start) from its beginning; `first`: no other went before."""
        left = self._of(set_id)
        left.run, left.whole = run, left.whole or first

    def listed(self, set_id: str) -> None:
        """Record that the server has listed all objects of an installation since this process started."""
        self._of(set_id).whole = True

    def renewed(self, set_id: str) -> bool:
        """Return whether no record of an installation has a lost key."""
        left = self._left.get(set_id)
        return left is not None and left.renewed

    def renew(self, set_id: str) -> None:
        """Record that all records of an installation have the current key."""
        self._of(set_id).renewed = True

    def knows(self, set_id: str, run: str) -> bool:
        """Return whether every object either existed at the last list, or is known here.

        Others may exist if another process has performed a part of the run (by its start), or of an earlier one.
        """
        left = self._left.get(set_id)
        return left is not None and left.whole and bool(run) and left.run == run

    def keep(self, set_id: str, states: Mapping[str, str]) -> None:
        """Note how the objects of an installation are left."""
        self._of(set_id).states = dict(states)

    def note(self, set_id: str, body: Json, *, changed: bool = True) -> None:
        """Record how a plan has left one object: a settled installation needs no further read."""
        left, meta = self._of(set_id), meta_of(body)
        left.states[meta.uid] = state_of(meta)
        self.observed(set_id, body)
        if body.get("kind") in {CONFIG_MAP, SECRET} and changed:
            left.data = next(self._order)
        if template_path(body) is not None:
            left.judged[meta.uid] = next(self._order)
            left.digests[meta.uid] = (state_of(meta), digest_in(body))

    def observed(self, set_id: str, body: Json) -> None:
        """Record an object as the server has it, if it is not healthy: it is read again when it has changed."""
        left, uid = self._of(set_id), meta_of(body).uid
        if health_of(body).health is Health.HEALTHY:
            left.unhealthy.pop(uid, None)
        else:
            left.unhealthy[uid] = body

    def unchanged(self, set_id: str, seen: ObjectMeta) -> Json | None:
        """Return an unhealthy object that is still at the version at which it was read; None for any other."""
        left = self._left.get(set_id)
        body = left.unhealthy.get(seen.uid) if left is not None else None
        return body if body is not None and meta_of(body).resource_version == seen.resource_version else None

    def digest_in_template(self, set_id: str, seen: ObjectMeta) -> str | None:
        """Return the digest in a workload's pod template, if its spec and metadata are as this process wrote them.

        The disaster this prevents: restart control has changed the digest since, an apply sets the old one again, and
        all pods restart for nothing.
        """
        left = self._left.get(set_id)
        state, digest = left.digests.get(seen.uid, ("", "")) if left is not None else ("", "")
        return digest if state == state_of(seen) else None

    def drop(self, set_id: str, uid: str) -> None:
        """Forget an object that is gone, or going."""
        if set_id in self._left:
            left = self._left[set_id]
            for noted in (left.states, left.judged, left.digests, left.unhealthy):
                noted.pop(uid, None)

    def up_to_date(self, set_id: str, uid: str) -> bool:
        """Return whether no data of the installation was changed after a workload was applied."""
        left = self._left.get(set_id)
        return left is not None and left.judged.get(uid, 0) > left.data

    def of(self, set_id: str) -> Mapping[str, str]:
        """Return how the objects of an installation were left."""
        left = self._left.get(set_id)
        return left.states if left is not None else {}

    def forget(self, set_id: str) -> None:
        """Forget an installation."""
        self._left.pop(set_id, None)

    def _of(self, set_id: str) -> _Left:
        return self._left.setdefault(set_id, _Left())


def meta_of(body: Json) -> ObjectMeta:
    """Return the metadata of a whole object."""
    return msgspec.convert(body["metadata"], ObjectMeta)
