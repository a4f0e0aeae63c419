"""Bodies of webhook requests: one event, or an array of several; without the entity where an event is too large.

Source: CloudEvents 1.0 JSON batch format and its ``dataref`` extension; Standard Webhooks 1.0.0 (small payloads).
Next: ``delivery/channels/webhook/sender.py``.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid5

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.event_formats import EVENT_FORMATS, as_cloud_event, render_event
from tocsin.model.message import Entry
from tocsin.model.notification import NAMESPACE

LIMIT_BYTES = 262_144
"""Most bytes of a body, before it is compressed."""

COMPRESSED_FROM_BYTES = 4_096
"""Smaller bodies are not compressed."""

GZIP = "gzip"


@dataclass(frozen=True)
class Body:
    """Body of one request: the notifications in it, and the addresses of the events of which only a part is in it."""

    id: str
    entries: tuple[Entry, ...]
    content_type: str
    payload: bytes
    full_events: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rendered:
    entry: Entry
    payload: bytes
    full_event: str | None = None
    is_own: bool = False


def bodies_of(dispatch: Dispatch, payload_format: str, *, source: str) -> list[Body]:
    """Return the bodies of the requests that carry a message; ``source`` is the address of this server.

    An unknown format is the default one: the API refuses it when the destination is saved, and an event in another
    shape is worth more than none. A body of several has the message's id only if it is the only one: what else is
    in a body changes its id, or a receiver would take it for one that it has.
    """
    own_payloads = dispatch.payloads
    parts = [
        _Rendered(entry, own_payloads[entry.notification_id], is_own=True)
        if entry.notification_id in own_payloads
        else _render_entry(entry, payload_format, source)
        for entry in dispatch.entries
    ]
    groups = _arrays_of(parts, dispatch) if dispatch.sends_arrays else [[part] for part in parts]
    ids = [dispatch.message.id] if len(groups) == 1 else [_id_of(dispatch, group) for group in groups]
    return [
        _body(body_id, group, payload_format, is_array=dispatch.sends_arrays)
        for body_id, group in zip(ids, groups, strict=True)
    ]


def compress_payload(payload: bytes) -> bytes:
    """Return a payload as gzip; the same bytes for the same payload."""
    return gzip.compress(payload, mtime=0)


def _render_entry(entry: Entry, payload_format: str, source: str) -> _Rendered:
    """Return a notification with its event as a payload, which is made once for all messages that carry the event."""
    event, key = entry.carried, (payload_format, source, str(entry.in_brief))
    if key not in event.payloads:
        event.payloads[key] = render_event(
            event.as_wire(), payload_format, source, limit_bytes=LIMIT_BYTES, in_brief=entry.in_brief
        )
    return _Rendered(entry, *event.payloads[key])


def _arrays_of(rendered: Sequence[_Rendered], dispatch: Dispatch) -> list[list[_Rendered]]:
    """Return the events of each array, in log order.

    Where each array is of one entity type, a type comes earlier if its first event does; events of one entity stay in
    order, since all of them are of one type.
    """
    by_type: dict[str, list[_Rendered]] = {}
    for part in rendered:
        by_type.setdefault(part.entry.event.entity_type if dispatch.sends_types_apart else "", []).append(part)
    return [group for parts in by_type.values() for group in _split(parts, dispatch.batch_size)]


def _split(rendered: Iterable[_Rendered], most_events: int) -> Iterator[list[_Rendered]]:
    """Yield the events in groups of at most ``most_events``, each within the limit as an array."""
    group: list[_Rendered] = []
    size = 2
    for part in rendered:
        if group and (len(group) == most_events or size + len(part.payload) + 1 > LIMIT_BYTES):
            yield group
            group, size = [], 2
        group.append(part)
        size += len(part.payload) + 1
    yield group


def _id_of(dispatch: Dispatch, group: list[_Rendered]) -> str:
    ids = " ".join(one.entry.notification_id for one in group)
    return str(uuid5(NAMESPACE, f"part of {dispatch.message.id}: {ids}"))


def _body(body_id: str, group: list[_Rendered], payload_format: str, *, is_array: bool) -> Body:
    is_cloud = EVENT_FORMATS.get(payload_format) is as_cloud_event and not any(one.is_own for one in group)
    kind = "application/cloudevents-batch+json" if is_array else "application/cloudevents+json"
    payload = b"[" + b",".join(one.payload for one in group) + b"]" if is_array else group[0].payload
    return Body(
        id=body_id,
        entries=tuple(one.entry for one in group),
        content_type=kind if is_cloud else "application/json",
        payload=payload,
        full_events=tuple(one.full_event for one in group if one.full_event),
    )
