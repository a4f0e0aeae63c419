"""Digests by mail that were composed ahead of their time: their words, and the key of all that these are made of.

The words of a mail follow from its dispatch and from where its links lead. Who sends it judges rights, mutes and
preferences as always, and uses the stored words only where the key of what may be sent now is the key that they were
stored with; a key is a cryptographic digest, so that no text can be made to fit. Links that act for their reader, or
mark what they have read, are signed when a mail is sent: who composes has no secret. Why:
docs/decisions/0235-digests-are-composed-on-spark.md. Next: ``store/outbox/composed_digests.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from html import escape
from importlib.metadata import version
from itertools import count

import orjson
from pydantic import BaseModel

from tocsin.delivery.dispatch import ComposedContent, Dispatch
from tocsin.delivery.links.pages import FRAGMENT
from tocsin.flow.eventlog.differences import DamagedText, compress_snapshot, decompress_snapshot
from tocsin.model.entity import Document
from tocsin.model.message import Entry
from tocsin.model.notification import Reason
from tocsin.model.subscription import Channel

_KEY_BYTES = 16

_OF_PAGE, _OF_ROOT = "p", "r"
"""Marks at the end of an address: of a page, and of the first page, which is named without a fragment."""

OF_THE_WORDS = (
    *("shares", "reaches_recipient", "answerable", "requests", "answers", "failure", "guidance", "incidents"),
    *("streaks", "zone", "is_reduced"),
)
"""The fields of a dispatch that words follow from, beside its notifications, its buttons, and who may acknowledge."""

NOT_OF_THE_WORDS = (
    *("message", "event_bytes", "batch_size", "sends_arrays", "sends_types_apart", "payloads", "addresses", "payer"),
    *("judged_at_s", "composed", "texts", "page_link"),
)
"""The others: of the message, or of other channels than mail. What templates say is never composed ahead."""


def composed_texts(dispatch: Dispatch, base_url: str, unsubscribe: str) -> Document | None:
    """Return the subject, text and HTML that were composed ahead, if they are of what may be sent now.

    Their links are those of now: ``unsubscribe``, which must not be empty, and those of the buttons.
    """
    if dispatch.composed is None or not unsubscribe or not may_be_composed(dispatch):
        return None
    if dispatch.composed.key != composition_key(dispatch, base_url):
        return None
    with suppress(DamagedText, ValueError):
        return _with_links(texts_of(dispatch.composed), dispatch, unsubscribe)
    return None


def may_be_composed(dispatch: Dispatch) -> bool:
    """Return whether a message is a digest by mail, and no template words it."""
    return dispatch.message.channel == Channel.EMAIL and len(dispatch.entries) > 1 and not dispatch.texts


def content_of(key: bytes, texts: Document) -> ComposedContent:
    """Return the words of a digest as they are stored."""
    return ComposedContent(key, compress_snapshot(orjson.dumps(texts)))


def texts_of(composed: ComposedContent) -> Document:
    """Return the subject, text and HTML that were composed; raises DamagedText or ValueError if these are none."""
    texts = orjson.loads(decompress_snapshot(composed.content))
    if not isinstance(texts, dict) or not all(isinstance(texts.get(key), str) for key in ("subject", "text", "html")):
        raise ValueError("no words of a mail")
    return texts


def mark_of(key: bytes, place: int = 0) -> str:
    """Return what stands for a link, at first that to unsubscribe: no message can say the digest of itself."""
    return f"{key.hex()}-{place:06}"


def with_marked_links(dispatch: Dispatch, key: bytes) -> Dispatch:
    """Return a digest with marks in place of the links that a secret signs, and behind those to pages."""
    places = count(1)
    buttons = {
        entry.notification_id: tuple(one._replace(address=mark_of(key, next(places))) for one in own_buttons)
        for entry in dispatch.entries
        if (own_buttons := dispatch.buttons.get(entry.notification_id))
    }
    entry_places = {entry.notification_id: place for place, entry in enumerate(dispatch.entries)}

    def marked_address(address: str, notification_id: str) -> str:
        ending = _OF_PAGE if FRAGMENT in address else _OF_ROOT if address.endswith("/") else ""
        return f"{address}{key.hex()}-{ending}{entry_places[notification_id]:06}" if ending else address

    return replace(dispatch, buttons=buttons, page_link=marked_address)


def _with_links(texts: Document, dispatch: Dispatch, unsubscribe: str) -> Document:
    """Return texts with the links of now in place of their marks."""
    key = dispatch.composed.key if dispatch.composed else b""
    page_link = dispatch.page_link or (lambda address, _: address)
    addresses = [
        page_link(button.address, entry.notification_id)
        for entry in dispatch.entries
        for button in dispatch.buttons.get(entry.notification_id, ())
    ]

    def ending(mark: re.Match[str]) -> str:
        address = FRAGMENT if mark[1] == _OF_PAGE else "/"
        return page_link(address, dispatch.entries[int(mark[2])].notification_id).removeprefix(address)

    endings = re.compile(rf"{key.hex()}-([{_OF_PAGE}{_OF_ROOT}])([0-9]{{6}})")
    text = endings.sub(ending, str(texts["text"]))
    html = endings.sub(lambda mark: escape(ending(mark)), str(texts["html"]))
    for place, address in enumerate([unsubscribe, *addresses]):
        text, html = text.replace(mark_of(key, place), address), html.replace(mark_of(key, place), escape(address))
    return texts | {"text": text, "html": html}


def composition_key(dispatch: Dispatch, base_url: str) -> bytes:
    """Return the key of all that the words of a digest are made of, the version of Tocsin included."""
    digest = blake2b(digest_size=_KEY_BYTES)
    read_only = dispatch.read_only or frozenset()
    facts = [_plain(getattr(dispatch, name)) for name in OF_THE_WORDS]
    of_entries = [
        (
            _facts_of(entry),
            [one.text for one in dispatch.buttons.get(entry.notification_id, ())],
            entry.notification_id in read_only,
        )
        for entry in dispatch.entries
    ]
    digest.update(orjson.dumps([_version(), base_url, dispatch.cause_thread is not None, facts, of_entries]))
    digest.update(b"".join(entry.carried.fingerprint for entry in dispatch.entries))
    return digest.digest()


def _facts_of(entry: Entry) -> list[object]:
    """Return what words follow from beside the event of a notification; mostly no more than ids and reasons."""
    facts = [entry.notification_id, entry.log_offset, entry.recipient_id, entry.recipient_gone, entry.whole_id]
    facts += [entry.in_brief, entry.told_count, _text_of(entry.reasons)]
    if entry.incident or entry.answered_reasons or entry.parts:
        facts += [_plain(entry.incident), _text_of(entry.answered_reasons), [_facts_of(one) for one in entry.parts]]
        facts += [one.carried.fingerprint.hex() for one in entry.parts]
    return facts


@lru_cache(maxsize=10_000)
def _text_of(reasons: tuple[Reason, ...]) -> str:
    return orjson.dumps([reason.to_wire() for reason in reasons]).decode()


@lru_cache(maxsize=1)
def _version() -> str:
    return version("tocsin")


def _plain(value: object) -> object:
    """Return a value as JSON that is the same in every process: sets are in no order."""
    match value:
        case None | str() | int() | float():
            return value
        case BaseModel():
            return _plain(value.model_dump())
        case Mapping():
            return sorted((str(key), _plain(one)) for key, one in value.items()) if value else None
        case AbstractSet():
            return sorted(str(one) for one in value)
        case tuple() | list():
            return [_plain(one) for one in value]
        case _ if is_dataclass(value):
            return [_plain(getattr(value, field.name)) for field in fields(value)]
        case _:
            raise TypeError(f"{type(value).__name__} has no key")
