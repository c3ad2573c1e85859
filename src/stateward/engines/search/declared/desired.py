"""The desired and the observed state of one object in the database, and where they differ. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from stateward.api.kinds.search_object import Claim, Drift, Existing
from stateward.api.values.base import GROUP, Json
from stateward.engines.search.declared.comparison import contains, deviation, normal, pointer_in_one_form, stored_body
from stateward.engines.search.declared.identity import Declared, settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import concealed, found, without

_NOTE = f"{GROUP}~1search-object"
"""The key of the note, in a JSON pointer."""
_PROTECTED = ("reserved", "hidden", "static")
"""Flags of objects that come with the security plugin."""


@dataclass(frozen=True)
class Memory:
    """What the status of the resource has of earlier reconciliations."""

    claim: str = ""
    applied: str = ""
    """Digest of the body that was last written."""
    stored: str = ""
    """Digest of what the database stored then."""
    settings: frozenset[str] = frozenset()
    """For cluster settings: those that are claimed."""
    unwritten: frozenset[str] = frozenset()
    """Those of them that may not be written yet: what the database has of them may be what others have made."""

    @property
    def doubtful(self) -> frozenset[str]:
        """The claimed cluster settings of which it is not known whether they were written."""
        return self.settings if self.claim in (Claim.CREATING, Claim.ADOPTING) else self.unwritten


@dataclass(frozen=True)
class Desired:
    """The desired state of one object, and what to do about other clients."""

    what: Declared
    body: Json
    """The declared body, without the values of Secrets."""
    sent: Json
    """The body with them."""
    digest: str
    """Keyed digest of `sent`."""
    owner: str
    """Namespace and name of the resource."""
    memory: Memory
    hidden: tuple[str, ...] = ()
    """JSON pointers to the values of Secrets: they are neither compared nor shown."""
    existing: Existing = Existing.REFUSE
    drift: Drift = Drift.CORRECT
    retain: bool = False
    """Whether the object stays when the resource is deleted."""

    @cached_property
    def settings(self) -> frozenset[str]:
        """The cluster settings that are declared; empty for all other kinds."""
        return frozenset(settings_of(self.sent)) if self.what.kind.write is Write.SETTINGS else frozenset()

    @property
    def takes_over(self) -> bool:
        """Whether the object was merged into, and the body is to replace it since an edit."""
        return self.memory.claim == Claim.MERGED and self.existing is Existing.ADOPT

    @property
    def surely_set(self) -> "Desired":
        """The same for no settings but those that the resource has surely set, still declared or not."""
        known = self.memory
        return replace(self, body={}, sent={}, memory=replace(known, settings=known.settings - known.doubtful))

    def given_up(self, taken: frozenset[str]) -> frozenset[str]:
        """Return the settings that it has surely set and declares no more, without those that others have set too."""
        return self.surely_set.memory.settings - self.settings - taken

    @property
    def note(self) -> str:
        """JSON pointer to the note about the owner; empty if the object has no place for one."""
        return f"{self.what.kind.mark}/{_NOTE}" if self.what.kind.mark else ""


@dataclass(frozen=True)
class Observed:
    """What the database answered; `answer` is None if it has no such object."""

    answer: object | None
    versions: frozenset[str]
    """The versions of all nodes; empty if a node did not tell."""

    @property
    def number(self) -> Mapping[str, str]:
        """The parameters that name the version that was read, for databases that number them."""
        fields = cast("Json", self.answer) if isinstance(self.answer, Mapping) else {}
        names = {"if_seq_no": "_seq_no", "if_primary_term": "_primary_term"}
        return {name: str(fields[key]) for name, key in names.items() if key in fields}


def stored(desired: Desired, observed: Observed) -> object | None:
    """Return the stored object; None if there is none. Of cluster settings, only those that the resource concerns."""
    if observed.answer is None:
        return None
    body = stored_body(desired.what, observed.answer, desired.body)
    if desired.what.kind.write is not Write.SETTINGS:
        return body
    concerned = desired.settings | desired.memory.settings
    return {key: value for key, value in settings_of(cast("Json", body or {})).items() if key in concerned} or None


def comparable(desired: Desired, body: object) -> object:
    """Return a declared or stored body in normal form, without the note and the values of Secrets."""
    body = normal(desired.what, body)
    if desired.note:
        body = without(body, desired.note)
    for pointer in desired.hidden:
        for form in (pointer.removeprefix("/persistent"), pointer_in_one_form(pointer)):
            body = concealed(body, form)
    return body


def difference(desired: Desired, body: object) -> str | None:
    """Return where a stored object deviates from what is declared, as a JSON pointer; None if it agrees."""
    shared = desired.memory.claim == Claim.MERGED
    return deviation(desired.what, comparable(desired, body), comparable(desired, desired.body), shared=shared)


def unwritten(desired: Desired, body: Json) -> list[str]:
    """Return the cluster settings in the database of which it is not known whether the resource has written them."""
    return sorted(body.keys() & desired.memory.doubtful)


def differing(desired: Desired, body: Json, settings: Iterable[str]) -> list[str]:
    """Return which settings in the database are not as they are declared; the values of Secrets are not compared."""
    wanted, found = cast("Json", comparable(desired, desired.body)), cast("Json", comparable(desired, body))
    # What is in no body without Secrets has its value from one.
    return [
        each
        for each in settings
        if (contains(found, {each: wanted[each]}) is not None if each in wanted else each not in desired.settings)
    ]


def owner_of(desired: Desired, body: object) -> str:
    """Return the resource that the note in a stored object names; empty without a note."""
    note = next(found(body, desired.note), "") if desired.note else ""
    return note if isinstance(note, str) else ""


def protection(body: object | None) -> str | None:
    """Return the flag that protects a stored object from all clients; None if it has none, or there is no object."""
    fields = cast("Json", body) if isinstance(body, Mapping) else {}
    metadata = fields.get("metadata")
    if isinstance(metadata, Mapping) and cast("Json", metadata).get("_reserved") is True:
        return "reserved"
    return next((flag for flag in _PROTECTED if fields.get(flag) is True), None)
