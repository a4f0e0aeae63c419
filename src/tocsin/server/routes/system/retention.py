"""Routes of retention: settings, dry run and legal holds; for administrators.

Next: ``docs/retention.md``, ``jobs/retention.py``.
"""

from __future__ import annotations

from uuid import uuid4

from fastapi import Response

from tocsin.catalogue.people.retention import note_hold, write_settings
from tocsin.clock import steady_s
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import suggestion_for
from tocsin.model.retention import PRESETS, LegalHold, LegalHoldRequest, RetentionSettings, effects_of
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.retention_shapes import HOLD, READER
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer, list_answer

MOST_HOLDS = 1_000
"""Legal holds in force at a time."""

PREVIEW_S = 10.0
"""Seconds after which a dry run answers with what it has counted."""

router = DeclaredRoutes(prefix="/system/retention", tags=["system"])


@router.get("", openapi_extra=answers("Retention"))
def read_retention(caller: Asked) -> Response:
    """Return the settings of retention, what they take away, the readers of the log and the last run."""
    _check_administrator(caller)
    return answer(_overview(caller))


@router.put("", openapi_extra=answers("Retention", reads="RetentionRequest"))
def write_retention(body: DocumentBody, caller: Asked) -> Response:
    """Replace the settings of retention, by a preset (`off`, `standard`) or in full.

    What is left out is kept indefinitely. The answer says what the settings take away.
    """
    _check_administrator(caller)
    write_settings(caller.parts.writes, _parse_settings(body), actor=caller.actor)
    return answer(_overview(caller))


@router.post("/preview", openapi_extra=answers("RetentionPreview", reads="RetentionRequest", never="409"))
def preview_retention(body: DocumentBody, caller: Asked) -> Response:
    """Return what a run would remove from the log now, by event type; nothing is changed.

    An empty body asks for the settings that are stored. After ten seconds the answer is what was counted until then,
    and `isComplete` is false; `tocsin retention run --dry-run` counts everything, the lake included.
    """
    _check_administrator(caller)
    overview = caller.parts.alert_stores.retention
    settings = _parse_settings(body) if body else overview.settings()
    end_s = steady_s() + PREVIEW_S
    now_ms = caller.parts.clock.now_ms()
    counts, is_complete = overview.preview(settings, now_ms=now_ms, is_over=lambda: steady_s() > end_s)
    return answer(
        {
            "log": sum(counts.removed.values()),
            "logByType": dict(sorted(counts.by_type().items())),
            "kept": {reason.value: count for reason, count in sorted(counts.protected.items())},
            "isComplete": is_complete,
            "takesAway": effects_of(settings),
        }
    )


@router.get("/holds", openapi_extra=answers("LegalHoldPage"))
def list_holds(caller: Asked) -> Response:
    """List every legal hold, the newest first; lifted ones say who lifted them."""
    _check_administrator(caller)
    return list_answer([json_of(HOLD, hold) for hold in caller.parts.alert_stores.retention.holds.all()])


@router.post("/holds", status_code=201, openapi_extra=answers("LegalHold", reads="LegalHoldRequest"))
def set_hold(body: DocumentBody, caller: Asked) -> Response:
    """Set a legal hold: nothing that it covers is removed until it is lifted.

    It covers the events of an entity (`entityId`), of a person (`userName`), of a time (`since`, `until`): of several,
    what meets all.
    """
    _check_administrator(caller)
    request, parts = parse_as(LegalHoldRequest, body), caller.parts
    if request.user_name is not None and (name := parts.people.other_spelling(request.user_name)) is not None:
        raise InvalidInput(f"did you mean {name}? Names are compared letter by letter", field="userName")
    holds = parts.alert_stores.retention.holds
    if sum(one.lifted_at_ms is None for one in holds.all()) >= MOST_HOLDS:
        raise InvalidInput(f"There are {MOST_HOLDS} legal holds in force; lift some first.")
    hold = LegalHold(
        id=str(uuid4()),
        reason=request.reason,
        set_by=caller.actor.name,
        set_at_ms=parts.clock.now_ms(),
        entity_id=None if request.entity_id is None else str(request.entity_id),
        user_name=request.user_name,
        since_ms=request.since,
        until_ms=request.until,
    )
    holds.add(hold)
    note_hold(parts.writes, hold.id, is_lifted=False, actor=caller.actor)
    return answer(json_of(HOLD, hold), status=201)


@router.delete("/holds/{hold_id}", openapi_extra=answers("LegalHold"))
def lift_hold(hold_id: PathId, caller: Asked) -> Response:
    """Lift a legal hold; it stays in the list, with who lifted it."""
    _check_administrator(caller)
    parts = caller.parts
    now_ms = parts.clock.now_ms()
    hold = parts.alert_stores.retention.holds.lift(str(hold_id), lifted_by=caller.actor.name, now_ms=now_ms)
    if hold is None:
        raise NotFound(f"There is no legal hold {hold_id}.")
    if (hold.lifted_by, hold.lifted_at_ms) == (caller.actor.name, now_ms):
        note_hold(parts.writes, hold.id, is_lifted=True, actor=caller.actor)
    return answer(json_of(HOLD, hold))


def _check_administrator(caller: Caller) -> None:
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may see and change retention.")


def _parse_settings(body: Document) -> RetentionSettings:
    if "preset" not in body:
        return parse_as(RetentionSettings, body)
    name = body["preset"]
    if len(body) > 1:
        raise InvalidInput("a preset stands alone; leave it out to give rules", field="preset")
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidInput(f"there is no preset {name!r}; {suggestion_for(str(name), sorted(PRESETS))}", field="preset")
    return PRESETS[name]


def _overview(caller: Caller) -> Document:
    overview = caller.parts.alert_stores.retention
    settings = overview.settings()
    log_count, lake_count = overview.progress.removed_counts()
    return {
        "settings": settings.to_wire(),
        "presets": {name: preset.to_wire() for name, preset in PRESETS.items()},
        "takesAway": effects_of(settings),
        "readers": [json_of(READER, state) for state in overview.readers(settings)],
        "removed": {"log": log_count, "lake": lake_count},
        "lastRun": overview.progress.last_run(),
    }
