"""Records of a topic as events of other systems, and as dead letters where they are refused.

Source: CloudEvents 1.0.2, Kafka protocol binding: binary mode (3.2) and structured mode (3.3).
Next: ``catalogue/ingest/requests.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.catalogue.ingest.requests import EventArrival, has_attributes
from tocsin.delivery.wording.broker_headers import IDEMPOTENCY_HEADER
from tocsin.errors import InvalidInput, TocsinError
from tocsin.model.entity import Document
from tocsin.server.http.errors import explain
from tocsin.server.request import parse_json

Headers = Sequence[tuple[str, bytes | None]]

_ATTRIBUTE = "ce_"
_CONTENT_TYPE = "content-type"
_LONGEST_HEADER = 1_000


@dataclass(frozen=True)
class TopicRecord:
    """One record of a topic; ``at_ms`` is the time that the broker or its producer gave it."""

    topic: str
    partition: int
    offset: int
    at_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True)
class RefusedRecord:
    """A record that is refused, and why."""

    record: TopicRecord
    error: TocsinError

    def headers(self, group: str) -> list[tuple[str, bytes | None]]:
        """Return the headers of the record, and what is to be known of its refusal."""
        record, field = self.record, self.error.field if isinstance(self.error, InvalidInput) else None
        facts = {
            "reason": self.error.code,
            "message": explain(self.error)[:_LONGEST_HEADER],
            "field": field,
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.at_ms,
            "group": group,
        }
        fact_headers = [(f"tocsin-dead-{name}", str(fact).encode()) for name, fact in facts.items() if fact is not None]
        return [*record.headers, *fact_headers]


def read_event(record: TopicRecord, now_ms: int) -> tuple[object, EventArrival]:
    """Return the event of a record, as a CloudEvent or a change event, and where it arrived.

    Raises
    ------
    InvalidInput : its value is no JSON, a header no text, or its attributes lack ``ce_specversion``
    """
    headers = _texts_of(record.headers)
    place = f"{record.partition}/{record.offset}/{record.at_ms}"  # a topic that is made anew begins again with offset 0
    arrival = EventArrival(now_ms, f"kafka:{record.topic}", headers.get(IDEMPOTENCY_HEADER) or place)
    body = parse_json(record.value or b"")
    is_structured = headers.get(_CONTENT_TYPE, "").startswith("application/cloudevents")
    if is_structured or not has_attributes(headers, _ATTRIBUTE):
        return body, arrival
    attributes: Document = {
        name[len(_ATTRIBUTE) :]: text for name, text in headers.items() if name.startswith(_ATTRIBUTE)
    }
    content_type = headers.get(_CONTENT_TYPE)
    return attributes | ({"datacontenttype": content_type} if content_type else {}) | {"data": body}, arrival


def _texts_of(headers: Headers) -> dict[str, str]:
    """Return the headers that are read, by their names in lower case but for our own."""
    texts: dict[str, str] = {}
    for name, value in headers:
        key = name if name == IDEMPOTENCY_HEADER else name.lower()
        if key.startswith(_ATTRIBUTE) or key in (_CONTENT_TYPE, IDEMPOTENCY_HEADER):
            try:
                texts[key] = (value or b"").decode()
            except UnicodeDecodeError as error:
                raise InvalidInput("a header must be a text in UTF-8", field=name) from error
    return texts
