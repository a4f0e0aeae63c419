"""Routes of usage counts per day: report, read, and rank within the type."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from fastapi import Path, Query, Response

from tocsin.catalogue.observations.usage import RANKED_TYPES, USED_TYPES, day_number, day_text, report_usage
from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import Record
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key, Written
from tocsin.server.access.permissions import permitted_document, require_apart
from tocsin.server.entities.reports import write_permitted
from tocsin.server.entities.response import with_address
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, TypeName, answer
from tocsin.server.routes.people.followers import event_of

Days = Annotated[int, Query(ge=1, le=30, description="Number of days up to the date.")]
RankedDay = Annotated[str, Path(max_length=10, description="The last of the days, `2026-01-31`.")]
Day = Annotated[str | None, Query(alias="date", max_length=10, description="A day, `2026-01-31`; default: today.")]

router = DeclaredRoutes(prefix="/usage", tags=["usage"])


@router.post("/compute.percentile/{entity_type}/{date}", status_code=201, openapi_extra=answers("Ranked"))
def rank(entity_type: TypeName, date: RankedDay, caller: Asked) -> Response:
    """Compute the usage percentiles of a type up to a day (``2026-01-31``)."""
    name, day = _type_of(entity_type, RANKED_TYPES, "ranked"), day_number(date)
    require_apart(caller, Operation.EDIT_USAGE, ENTITY_TYPES[name])

    def work(record: Record) -> Written:
        record.transaction.usage.rank(name, day)
        return Written({}, None)

    caller.parts.writes.within(work, actor=caller.actor)
    return answer({"entityType": name, "date": date}, 201)


@by_id_and_name(
    router.post, "/{entity_type}/{entity_id}", status_code=201, openapi_extra=answers("ChangeEvent", reads="DailyCount")
)
def report(entity_type: TypeName, key: Key, body: DocumentBody, caller: Asked) -> Response:
    """Set the usage of a day (``date``, ``count``)."""
    return _report(entity_type, key, body, caller, add=False)


@by_id_and_name(
    router.put, "/{entity_type}/{entity_id}", status_code=201, openapi_extra=answers("ChangeEvent", reads="DailyCount")
)
def add(entity_type: TypeName, key: Key, body: DocumentBody, caller: Asked) -> Response:
    """Add to the usage of a day."""
    return _report(entity_type, key, body, caller, add=True)


@by_id_and_name(router.get, "/{entity_type}/{entity_id}", openapi_extra=answers("EntityUsage"))
def read(entity_type: TypeName, key: Key, caller: Asked, *, date: Day = None, days: Days = 1) -> Response:
    """Return the usage of ``days`` days up to ``date`` (today), newest first."""
    if "usageSummary" not in (ENTITY_TYPES[entity_type].keys if entity_type in ENTITY_TYPES else ()):
        raise InvalidInput(f"usage of {with_article(entity_type)} cannot be reported", field="entityType")
    document = permitted_document(entity_type, key, caller, Operation.VIEW_USAGE)
    reference = caller.parts.catalogue.reference(entity_type, Key.by_id(document["id"])) or {}
    day = day_number(date or day_text(today(caller)))
    usage = caller.parts.reports.usage.of(document["id"], day, days)
    return answer({"entity": with_address(reference, caller.root), "usage": usage})


def today(caller: Caller) -> int:
    """Return the day it is, in UTC, counted from 1970-01-01."""
    now = datetime.fromtimestamp(caller.parts.clock.now_ms() / 1000, UTC)
    return day_number(now.date().isoformat())


def _report(entity_type: str, key: Key, body: Document, caller: Caller, *, add: bool) -> Response:
    row = ENTITY_TYPES[_type_of(entity_type, USED_TYPES, "reported")]
    work = partial(report_usage, request=body, add=add)
    return answer(event_of(row, write_permitted(row.name, key, caller, Operation.EDIT_USAGE, work), caller), 201)


def _type_of(name: str, types: Sequence[str], participle: str) -> str:
    """Return the name of a type as it is written here; upstream's client writes some of them in lower case."""
    type_name = next((one for one in types if one.lower() == name.lower()), None)
    if type_name is None:
        raise InvalidInput(
            f"usage of {with_article(name)} cannot be {participle}; valid types: {', '.join(types)}", field="entityType"
        )
    return type_name
