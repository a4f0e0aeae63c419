"""Answer about an erasure of a user. Next: ``server/routes/people/erasure.py``."""

from __future__ import annotations

from typing import NamedTuple

from tocsin.model.erasure import Erasure
from tocsin.model.requested_job import JobState
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, ID, OPEN, TEXT, TIME, either


class ToldErasure(NamedTuple):
    """An erasure, and what there is to say about its state."""

    erasure: Erasure
    message: str | None


_PROGRESS: Shape[ToldErasure] = {
    "done": (COUNT, lambda told: told.erasure.done_count),
    "total": (COUNT, lambda told: told.erasure.total_count),
}
ERASURE: Shape[ToldErasure] = {
    "id": (ID, lambda told: told.erasure.id),
    "userId": (ID, lambda told: told.erasure.user_id),
    "dryRun": (FLAG, lambda told: told.erasure.is_dry),
    "state": (either(*JobState), lambda told: told.erasure.state.value),
    "requestedBy": (ID, lambda told: told.erasure.requested_by),
    "requestedAt": (TIME, lambda told: told.erasure.requested_at_ms),
    "endedAt?": (TIME, lambda told: told.erasure.ended_at_ms),
    "progress": (schema_of(_PROGRESS), lambda told: json_of(_PROGRESS, told)),
    "reason?": (TEXT, lambda told: told.erasure.reason),
    "message?": (TEXT, lambda told: told.message),
    "result?": (OPEN, lambda told: told.erasure.result),
}
