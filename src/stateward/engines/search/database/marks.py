"""Temporary changes of settings: what to write so that exactly the previous value can be restored.

The previous value is stored in the database, under `cluster.metadata.stateward`, a namespace that the database reserves
for users. So any later operator can revert the change, also after a crash between two requests. A transient setting
overrides a persistent one, so both are stored and set.
"""

from collections.abc import Iterable, Mapping

from stateward.api.values.base import Json
from stateward.engines.search.database.wire import ClusterSettings
from stateward.planning.model.observation import Allocation

ENABLE = "cluster.routing.allocation.enable"
EXCLUDE = "cluster.routing.allocation.exclude._name"
LIMITED = "cluster.metadata.stateward.allocation"
"""The persistent value before the limit, or `default`."""
LIMITED_TRANSIENT = "cluster.metadata.stateward.allocation_transient"
"""The transient value before the limit, if there was one."""
LIMITED_TO = "cluster.metadata.stateward.allocation_set"
"""The limit, to tell it from a value that others set later."""
REBALANCE = "cluster.routing.rebalance.enable"
BALANCING = "cluster.metadata.stateward.rebalance"
"""The persistent value before rebalancing was paused, or `default`."""
BALANCING_TRANSIENT = "cluster.metadata.stateward.rebalance_transient"
"""The transient value before rebalancing was paused, if there was one."""
BALANCING_TO = "cluster.metadata.stateward.rebalance_set"
"""The value that pauses it, to tell it from one that others set later."""
DRAINING = "cluster.metadata.stateward.draining"
"""The members that Stateward drains."""
DRAINING_SHARED = "cluster.metadata.stateward.draining_shared"
"""The drained members that others had already excluded: they stay excluded afterwards."""
DRAINING_SHARED_TRANSIENT = "cluster.metadata.stateward.draining_shared_transient"
"""The same for the transient setting, if there is one."""
DEFAULT = "default"
RUN_TIME_SETTINGS = frozenset({ENABLE, EXCLUDE, REBALANCE})
"""The database's settings that Stateward changes for a time."""
MARKS = "cluster.metadata.stateward"
"""Beginning of the settings with the previous values."""

Marks = tuple[str, str, str]
"""The settings with the previous persistent value, the previous transient value, and the value of Stateward."""
LIMIT_MARKS: Marks = (LIMITED, LIMITED_TRANSIENT, LIMITED_TO)
BALANCE_MARKS: Marks = (BALANCING, BALANCING_TRANSIENT, BALANCING_TO)

_STRICTNESS = (Allocation.ALL, Allocation.PRIMARIES, Allocation.NEW_PRIMARIES, Allocation.NONE)

Change = Json
"""The body of a request that changes settings; None resets a setting."""


def allocation(settings: ClusterSettings) -> Allocation:
    """Return the effective allocation; raise ValueError for an unknown value."""
    text = _text(settings.transient, ENABLE) or _text(settings.persistent, ENABLE) or Allocation.ALL.value
    return Allocation(text.lower())


def limited(settings: ClusterSettings) -> bool:
    """Whether Stateward has limited the allocation."""
    return LIMITED in settings.persistent


def balance_paused(settings: ClusterSettings) -> bool:
    """Whether Stateward has paused rebalancing."""
    return BALANCING in settings.persistent


def draining(settings: ClusterSettings) -> frozenset[str]:
    """Return the members that Stateward drains: they are marked, and excluded by the setting in force."""
    section = settings.transient if EXCLUDE in settings.transient else settings.persistent
    return marked_as_draining(settings).intersection(_names(section, EXCLUDE))


def marked_as_draining(settings: ClusterSettings) -> frozenset[str]:
    """Return the members that Stateward has marked as draining, whether or not they are still excluded."""
    return frozenset(_names(settings.persistent, DRAINING))


def limit(settings: ClusterSettings, wanted: Allocation) -> Change | None:
    """Return the change that limits the allocation; None if Stateward has done so already.

    Never loosen an existing limit.
    """
    stricter = max(wanted, allocation(settings), key=_STRICTNESS.index)
    if limited(settings) and stricter is allocation(settings):
        return None
    return _override(settings, ENABLE, stricter.value, LIMIT_MARKS)


def restore(settings: ClusterSettings) -> Change | None:
    """Return the change that restores the allocation; None if Stateward has not limited it."""
    return _put_back(settings, ENABLE, LIMIT_MARKS)


def pause_balancing(settings: ClusterSettings) -> Change | None:
    """Return the change that pauses rebalancing; None if Stateward has done so already."""
    now = _text(settings.transient, REBALANCE) or _text(settings.persistent, REBALANCE)
    if balance_paused(settings) and now == "none":
        return None
    return _override(settings, REBALANCE, "none", BALANCE_MARKS)


def resume_balancing(settings: ClusterSettings) -> Change | None:
    """Return the change that restores rebalancing; None if Stateward has not paused it."""
    return _put_back(settings, REBALANCE, BALANCE_MARKS)


def drain(settings: ClusterSettings, members: Iterable[str]) -> Change | None:
    """Return the change that makes exactly these members the ones that Stateward drains; None if they are already."""
    wanted = sorted(set(members))
    theirs = _theirs(settings, settings.persistent, DRAINING_SHARED)
    persistent = {
        EXCLUDE: _joined(theirs, wanted),
        DRAINING: ",".join(wanted) or None,
        DRAINING_SHARED: _shared(theirs, wanted),
        DRAINING_SHARED_TRANSIENT: None,
    }
    transient: dict[str, str | None] = {}
    if EXCLUDE in settings.transient:
        overriding = _theirs(settings, settings.transient, DRAINING_SHARED_TRANSIENT)
        transient = {EXCLUDE: _joined(overriding, wanted)}
        persistent[DRAINING_SHARED_TRANSIENT] = _shared(overriding, wanted)
    if _holds(settings.persistent, persistent) and _holds(settings.transient, transient):
        return None
    return {"persistent": persistent, **({"transient": transient} if transient else {})}


def _override(settings: ClusterSettings, key: str, value: str, marked: Marks) -> Change:
    """Return the change that sets a value and stores it and the previous ones under the marks."""
    before, before_transient, ours = marked
    persistent: Json = {key: value, ours: value}
    if before not in settings.persistent:
        persistent[before] = _text(settings.persistent, key) or DEFAULT
    transient = _text(settings.transient, key)
    if transient is None:
        return {"persistent": persistent}
    if before_transient not in settings.persistent:
        persistent[before_transient] = transient
    return {"persistent": persistent, "transient": {key: None}}


def _put_back(settings: ClusterSettings, key: str, marked: Marks) -> Change | None:
    """Return the change that restores the values under the marks; None if there are no marks.

    A value that is not the one of Stateward was set meanwhile, by a person or another client, and stays.
    """
    before, before_transient, ours = marked
    saved = _text(settings.persistent, before)
    if saved is None:
        return None
    persistent: Json = {before: None, before_transient: None, ours: None}
    # An earlier version of Stateward did not store what it had set.
    if ours not in settings.persistent or _text(settings.persistent, key) == _text(settings.persistent, ours):
        persistent[key] = None if saved == DEFAULT else saved
    transient = _text(settings.persistent, before_transient)
    mine = transient is not None and key not in settings.transient
    return {"persistent": persistent, **({"transient": {key: transient}} if mine else {})}


def _theirs(settings: ClusterSettings, section: Mapping[str, str | list[str]], shared: str) -> list[str]:
    """Return the excluded names of a section that are not there only because of Stateward.

    A marked name is Stateward's also in a section that is not in force. The disaster this prevents: a person sets a
    transient exclusion during a drain, and the member stays in the persistent one forever.
    """
    return _without(_names(section, EXCLUDE), marked_as_draining(settings) - set(_names(settings.persistent, shared)))


def _shared(theirs: list[str], wanted: list[str]) -> str | None:
    return ",".join(name for name in wanted if name in theirs) or None


def _holds(current: Mapping[str, str | list[str]], wanted: Mapping[str, str | None]) -> bool:
    return all((_text(current, key) or None) == value for key, value in wanted.items())


def _without(names: list[str], gone: Iterable[str]) -> list[str]:
    removed = set(gone)
    return [name for name in names if name not in removed]


def _joined(theirs: list[str], ours: list[str]) -> str | None:
    return ",".join([*theirs, *_without(ours, theirs)]) or None


def _names(section: Mapping[str, str | list[str]], key: str) -> list[str]:
    return [name.strip() for name in (_text(section, key) or "").split(",") if name.strip()]


def _text(section: Mapping[str, str | list[str]], key: str) -> str | None:
    value = section.get(key)
    return ",".join(value) if isinstance(value, list) else value
