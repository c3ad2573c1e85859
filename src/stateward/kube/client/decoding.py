"""Decodes answers into projections, so that one malformed object never hides the others.

The fast path decodes a whole answer at once. Only if that fails is the answer split, to find the malformed object,
which is reported as `Unreadable` with as much of its metadata as is readable.
"""

from functools import cache
from typing import Any, cast

import msgspec

from stateward.kube.client.client import Page
from stateward.kube.client.depth import TOO_DEEP, shallow
from stateward.kube.objects.errors import ApiError, DecodeError, Status, error_for
from stateward.kube.objects.metadata import ObjectMeta, PartialObject, T, WireRecord
from stateward.kube.objects.watching import Bookmark, Failed, Unreadable, WatchEvent, event_type

_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError)
"""What msgspec raises; the second for a text that is not UTF-8."""


class _ListMeta(WireRecord):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")


class _RawList(WireRecord):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


class _RawEvent(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _Version(WireRecord):
    resource_version: str = ""


class _Answer(WireRecord):
    kind: str = ""
    metadata: _Version = _Version()


class _Named(WireRecord):
    """The metadata that identifies an object, for when nothing else is readable."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _NamedObject(WireRecord):
    metadata: _Named = _Named()


@cache
def _decoder(view: Any) -> msgspec.json.Decoder[Any]:
    # Decoders are made once per type: making one costs more than decoding a pod.
    return msgspec.json.Decoder(view)


@cache
def _event_decoder(view: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(event_type(view))


@cache
def _list_decoder(view: Any) -> msgspec.json.Decoder[Any]:
    fields = [("metadata", _ListMeta, _ListMeta()), ("items", list[view] | None, None)]
    return msgspec.json.Decoder(msgspec.defstruct("_List", fields, gc=False))


def decode_object(view: type[T], body: bytes) -> T:
    """Decode one object; raise DecodeError with the field that does not fit."""
    try:
        return cast("T", _decoder(view).decode(body))
    except _MALFORMED as error:
        raise DecodeError(f"cannot read the server's answer: {error}") from error
    except RecursionError as error:
        raise DecodeError(f"cannot read the server's answer: {TOO_DEEP}") from error


def decode_page(view: type[T], body: bytes) -> Page[T]:
    """Decode one page of a list; malformed objects are reported in it, not lost."""
    try:
        whole = _list_decoder(view).decode(body)
    except (*_MALFORMED, RecursionError):
        return _decode_page_apart(view, body)
    meta: _ListMeta = whole.metadata
    return Page(tuple(whole.items or ()), meta.resource_version, meta.continue_token)


def decode_event(view: type[T], line: bytes) -> WatchEvent[T]:
    """Decode one line of a watch; raise the typed error of an ERROR event, or DecodeError for a malformed line."""
    try:
        event = _event_decoder(view).decode(line)
    except _MALFORMED as error:
        return _decode_event_apart(line, str(error))
    except RecursionError:
        return _decode_event_apart(line, TOO_DEEP)
    if isinstance(event, Failed):
        raise _stream_error(event.object)
    return cast("WatchEvent[T]", event)


def is_gone(body: bytes) -> bool:
    """Whether the answer to a delete says that the object no longer exists: a bare `Status`, or no version.

    The API server removes an object without a grace period in two steps: it marks it, and then deletes it. If another
    client deletes it in between, the answer is the marked object with an empty version (`lastExisting` in
    `Store.Delete` of k8s.io/apiserver). No watch ever reports that version.
    """
    answer = decode_object(_Answer, body)
    return answer.kind == "Status" or not answer.metadata.resource_version


def _decode_page_apart(view: type[T], body: bytes) -> Page[T]:
    raw, cut = _read(_RawList, body)
    items: list[T] = []
    unreadable: list[Unreadable] = []
    for i, item in enumerate(raw.items or ()):
        if i in cut:
            unreadable.append(_unreadable(item, TOO_DEEP))
            continue
        try:
            items.append(_decoder(view).decode(item))
        except _MALFORMED as error:
            unreadable.append(_unreadable(item, str(error)))
        except RecursionError:
            unreadable.append(_unreadable(item, TOO_DEEP))
    return Page(tuple(items), raw.metadata.resource_version, raw.metadata.continue_token, tuple(unreadable))


def _decode_event_apart(line: bytes, reason: str) -> Bookmark | Unreadable:
    try:
        event, _ = _read(_RawEvent, line)
    except DecodeError as error:
        raise DecodeError(f"the watch sent a line that is not an event: {error}") from error
    if event.type in {"BOOKMARK", "ERROR"}:
        raise DecodeError(f"the watch sent an {event.type} event that cannot be read: {reason}")
    return _unreadable(event.object, reason, deleted=event.type == "DELETED")


def _read(view: type[T], body: bytes) -> tuple[T, frozenset[int]]:
    """Return the outer parts of an answer, and the list elements that had to be cut for it; raise DecodeError."""
    try:
        return msgspec.json.decode(body, type=view), frozenset()
    except RecursionError:
        body, cut = shallow(body)
        return decode_object(view, body), cut
    except _MALFORMED as error:
        raise DecodeError(f"cannot read the server's answer: {error}") from error


def _unreadable(raw: msgspec.Raw, reason: str, *, deleted: bool = False) -> Unreadable:
    return Unreadable(_metadata_of(raw), reason, deleted)


def _metadata_of(raw: bytes | msgspec.Raw) -> ObjectMeta:
    # The metadata itself may be malformed: its minimum still identifies the object.
    for view in (PartialObject, _NamedObject):
        try:
            return _full(_read(view, bytes(raw))[0].metadata)
        except DecodeError:
            continue
    return ObjectMeta()


def _full(metadata: ObjectMeta | _Named) -> ObjectMeta:
    return metadata if isinstance(metadata, ObjectMeta) else ObjectMeta(**msgspec.structs.asdict(metadata))


def _stream_error(status: Status) -> ApiError:
    # An error in a stream has the status code only inside the object.
    return error_for(status)
