"""The state of the data that a cluster uses, from what was read of it; pure.

An object that could not be read, or that is not allowed for the cluster, is not absent: its recorded state stays, and
the cluster reports the reason. A deleted Secret of the keystore leaves the keystore unchanged; one that never existed
holds back what would be created without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stateward.api.kinds.additions.keystore import SecureSettings
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.base import Json
from stateward.api.values.digests import OUT, THERE
from stateward.engines.search.configuration.keystore import INPUT, Setting, files, missing_keys, settings
from stateward.operator.pod_rights.policy import NOT_ALLOWED
from stateward.packages.restarts.dependencies import SECRET, Dependency
from stateward.packages.restarts.digests import Key, data_of, digests_of, label, skipped
from stateward.planning.model.observation import Refusal

UNKNOWN, MISSING = "DataUnknown", "SecretMissing"
"""Reasons to wait: it could not be read; it is not there."""

Identity = tuple[str, str]
"""Kind and name of an object."""


@dataclass(frozen=True, slots=True)
class ReadData:
    """What was read: the objects that are there, why others could not be read, in words, and which are not allowed."""

    objects: Mapping[Identity, Json] = field(default_factory=dict[Identity, Json], repr=False)
    troubles: Mapping[Identity, str] = field(default_factory=dict[Identity, str])
    barred: frozenset[Identity] = frozenset()
    """They exist, and nothing more is known of them: the check of the pods reports that they are not allowed."""


@dataclass(frozen=True, slots=True)
class KnownData:
    """The known state: digests by name of the input, the files of keystores, and the refusals for missing data."""

    data: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] | None = field(default_factory=dict[str, str], repr=False)
    """None if some of their content is unknown: then nothing is created from the rest."""
    refusals: tuple[Refusal, ...] = ()


def asked_of(cluster: Cluster) -> Sequence[SecureSettings]:
    """Return the Secrets whose content goes into the keystores of a cluster."""
    return (cluster.spec.secure_settings or ()) if isinstance(cluster, SearchCluster) else ()


def known_data(
    cluster: Cluster, used: frozenset[Dependency], found: ReadData, copy: Sequence[Setting], key: Key
) -> KnownData:
    """Return what is known; `copy` are the settings that the members of the cluster have."""
    chosen: list[Setting] = []
    refusals = [unread(identity, why) for identity, why in sorted(found.troubles.items())]
    for i, asked in enumerate(asked_of(cluster)):
        here = settings_of(asked, found, copy)
        refusals += missing(i, asked, here, found)
        chosen += here
    digests = {name: digest_with_key(value, key) for name, value in digests_of(used, found.objects, key).items()}
    of_settings = {setting.input: _digest(setting, found, key) for setting in chosen}
    data = {**kept_data(cluster, found), **digests, **of_settings}
    if any(refusal.everything for refusal in refusals):
        return KnownData(data, None, tuple(refusals))
    return KnownData(data, files(chosen, key) if asked_of(cluster) else {}, tuple(refusals))


def incomplete(asked: SecureSettings, found: ReadData) -> bool:
    """Return whether something that the spec names was not found."""
    body = found.objects.get((SECRET, asked.secret_name))
    return body is None or bool(missing_keys(asked, list(settings(asked, data_of(body)))))


def without_key(name: str, why: str, *, held: bool) -> Refusal:
    """Return the state for a missing operator key: no change can be detected, and the recorded state stays."""
    text = (
        f"the operator cannot tell whether the data that {name} uses has changed, because it cannot"
        f" read the key of its digests: {why}"
    )
    return Refusal(name, UNKNOWN, text, everything=held)


def unread(identity: Identity, why: str) -> Refusal:
    """Return the state for an object that could not be read: its users continue unchanged."""
    text = f"{'/'.join(identity)} could not be read, so the operator cannot tell whether it has changed: {why}"
    return Refusal("/".join(identity), UNKNOWN, text, everything=False)


def settings_of(asked: SecureSettings, found: ReadData, copy: Sequence[Setting]) -> list[Setting]:
    """Return the settings of one Secret; what is not found in it is as the members have it."""
    body = found.objects.get((SECRET, asked.secret_name))
    here = list(settings(asked, data_of(body))) if body is not None else []
    have = [setting for setting in copy if setting.source.name == asked.secret_name]
    if asked.entries is None:
        return here if body is not None else have
    wanted = {(entry.key, entry.setting or entry.key) for entry in asked.entries}
    there = {(setting.source.key, setting.name) for setting in here}
    return [*here, *(s for s in have if (s.source.key, s.name) in wanted - there)]


def missing(i: int, asked: SecureSettings, here: Sequence[Setting], found: ReadData) -> Iterator[Refusal]:
    """Yield what holds everything back: members would start without a setting that exists nowhere."""
    identity, path = (SECRET, asked.secret_name), f"spec.secureSettings[{i}]"
    if identity in found.barred:
        if not here or missing_keys(asked, here):  # By what members have: which keys the Secret has is not told.
            text = (
                f"Secret {asked.secret_name} is not allowed for the cluster, and no member has all that is named of it"
            )
            yield Refusal(path, NOT_ALLOWED, f"{text}: members wait for it")
        return
    what = "could not be read" if identity in found.troubles else "does not exist"
    if identity not in found.objects and not here:
        text = f"Secret {asked.secret_name} {what}, and no member has its content: members wait for it"
        yield Refusal(path, MISSING, text)
        return
    lost = missing_keys(asked, here)
    if lost:
        text = f"Secret {asked.secret_name} has no key {', '.join(lost)}: members wait for it"
        yield Refusal(path, MISSING, text)


def kept_data(cluster: Cluster, found: ReadData) -> dict[str, str]:
    """Return what was known of objects that could not be read, or may not be."""
    before = cluster.status.data_digests or {}
    homes = tuple(f"{kind}/{name}:" for kind, name in (*found.troubles, *found.barred))
    return {name: digest for name, digest in before.items() if name.startswith(homes)} if homes else {}


def digest_with_key(digest: str, key: Key) -> str:
    """Return a digest with the name of its key; an invalid mark stays as it is."""
    return digest if digest in (OUT, THERE) else f"{key.name}/{digest}"


def _digest(setting: Setting, found: ReadData, key: Key) -> str:
    body = found.objects.get((SECRET, setting.source.name))
    out = skipped(body) if body is not None else frozenset[str]()
    if out is None or setting.source.key in out:
        return OUT
    return digest_with_key(key.digest(INPUT.encode(), label(setting.source).encode(), setting.value), key)
