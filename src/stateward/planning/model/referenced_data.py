"""Data of others that members use: ConfigMaps and Secrets that nobody of ours has written.

Each key of it is an input, called `Kind/name:key`. It counts when it is another one than the member's pod was made
with, and not because an object has appeared, is gone, or is said to restart nothing: such a member goes on as it is.
What its pod does not say of such data is written down on it without a restart, so that the next change of it is seen.
That is also how pods made before Stateward looked at data come to know of it.
"""

from stateward.api.values.digests import comparable, differs
from stateward.planning.model.actions import NoteData
from stateward.planning.model.observation import Inputs, Member

KINDS = ("ConfigMap", "Secret", "SecretProviderClass")
KEPT = "keystore"
"""First part of the names of inputs that are data which the operator itself hands on, so that it is never away."""


def changed(name: str, before: Inputs, after: Inputs) -> bool:
    """Return whether an input differs between what something was made from and what it should be made from."""
    if of_others(name):
        return differs(name, before, after)
    was, now = before.get(name), after.get(name)
    kept = name.startswith(f"{KEPT}/") and was is not None and now is not None
    return was != now and (not kept or comparable(was or "", now or ""))


def of_others(name: str) -> bool:
    """Return whether an input is data of others."""
    return name.partition("/")[0] in KINDS


def noted(was: Inputs, target: Inputs) -> Inputs:
    """Return the inputs of a pod with what is known now of the data that it uses; what is away now stays known."""
    data = {name: digest for name, digest in target.items() if of_others(name) or name.startswith(f"{KEPT}/")}
    whole = {name for name in data if name.endswith(":")}
    kept = {name: digest for name, digest in was.items() if f"{name.partition(':')[0]}:" not in whole}
    return {**kept, **data}


def note(member: Member, target: Inputs) -> tuple[NoteData, ...]:
    """Return what is written down on the pod of a member that needs no restart."""
    pod = member.pod
    if pod is None or pod.terminating or (inputs := noted(pod.inputs, target)) == pod.inputs:
        return ()
    why = "the state of the data that it uses is recorded"
    return (NoteData(why=why, member=member.name, pod=pod.ref, inputs=inputs),)
