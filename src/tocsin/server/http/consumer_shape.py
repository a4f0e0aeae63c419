"""Shape of answers about registered consumers of the log. Next: ``server/routes/system/consumers.py``."""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.consumer import Consumer
from tocsin.server.http.answer_shapes import Shape
from tocsin.server.http.json_schema import COUNT, TEXT, TIME, nullable


@dataclass(frozen=True)
class OwnedConsumer:
    """A consumer with the name of its user, None if that user was deleted."""

    consumer: Consumer
    user_name: str | None


CONSUMER: Shape[OwnedConsumer] = {
    "name": (TEXT, lambda owned: owned.consumer.name),
    "user": (nullable(TEXT), lambda owned: owned.user_name),
    "offset": (COUNT, lambda owned: owned.consumer.log_offset),
    "registeredAt": (TIME, lambda owned: owned.consumer.registered_at_ms),
    "committedAt": (nullable(TIME), lambda owned: owned.consumer.committed_at_ms),
}
