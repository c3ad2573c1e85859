"""Data that members use but the operator does not write: ConfigMaps and Secrets of others.

Each key is an input, named `Kind/name:key`. It counts if it differs from what the member's pod was created with, and
not because an object was created, deleted, or marked as irrelevant for restarts: such a member continues as it is. Data
that its pod does not record yet is recorded on the pod without a restart, so that its next change is noticed. This also
applies to pods that were created before Stateward tracked data.
"""

from stateward.api.values.digests import comparable, differs
from stateward.planning.model.actions import RecordData
from stateward.planning.model.observation import Inputs, Member

KINDS = ("ConfigMap", "Secret", "SecretProviderClass")
KEPT = "keystore"
"""First part of the names of inputs that are data which the operator itself copies, so that it is never absent."""


def input_changed(name: str, before: Inputs, after: Inputs) -> bool:
    """Return whether an input differs between the current and the desired inputs."""
    if is_referenced_data(name):
        return differs(name, before, after)
    was, now = before.get(name), after.get(name)
    kept = name.startswith(f"{KEPT}/") and was is not None and now is not None
    return was != now and (not kept or comparable(was or "", now or ""))


def is_referenced_data(name: str) -> bool:
    """Return whether an input is data of others."""
    return name.partition("/")[0] in KINDS


def recorded_inputs(was: Inputs, target: Inputs) -> Inputs:
    """Return the inputs of a pod with the current state of the data that it uses; absent data stays recorded."""
    data = {name: digest for name, digest in target.items() if is_referenced_data(name) or name.startswith(f"{KEPT}/")}
    whole = {name for name in data if name.endswith(":")}
    kept = {name: digest for name, digest in was.items() if f"{name.partition(':')[0]}:" not in whole}
    return {**kept, **data}


def record_data(member: Member, target: Inputs) -> tuple[RecordData, ...]:
    """Return what is written down on the pod of a member that needs no restart."""
    pod = member.pod
    if pod is None or pod.terminating or (inputs := recorded_inputs(pod.inputs, target)) == pod.inputs:
        return ()
    why = "the state of the data that it uses is recorded"
    return (RecordData(why=why, member=member.name, pod=pod.ref, inputs=inputs),)
