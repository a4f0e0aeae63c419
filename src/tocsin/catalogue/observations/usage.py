"""Daily usage counts of assets, aggregated to the schema and database of a table.

A usage report makes an event (field ``usageSummary``) without a version; the aggregates make no events.
Source: OpenMetadata's ``UsageRepository``. Next: ``store/catalogue/observations/usage.py``.
"""

from __future__ import annotations

from datetime import date, timedelta

from tocsin.catalogue.observations.field_checks import checked_document, count, day, shape
from tocsin.errors import InvalidInput
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.write import Record
from tocsin.model.change import describe
from tocsin.model.entity import Document
from tocsin.model.phrases import with_article
from tocsin.model.stored import Stored, Written

USED_TYPES = ("table", "dashboard", "chart", "pipeline", "mlmodel")
"""Types whose use can be reported."""

FIELD = "usageSummary"
_ADDS_UP_FOR = ("databaseSchema", "database")
RANKED_TYPES = (*USED_TYPES, *_ADDS_UP_FOR)
"""Types whose entities are ranked: those that are used, and those to which that is added up."""

_REPORT = shape({"date": day, "count": count})
_EPOCH = date(1970, 1, 1)


def day_number(text: str) -> int:
    """Return a date, ``2026-01-31``, as the number of days since 1970-01-01.

    Raises
    ------
    InvalidInput : it is no date
    """
    day(text, "date")
    return (date.fromisoformat(text) - _EPOCH).days


def day_text(number: int) -> str:
    """Return the date of a number of days since 1970-01-01."""
    return (_EPOCH + timedelta(days=number)).isoformat()


def report_usage(record: Record, entity: Stored, request: Document, *, add: bool) -> Written:
    """Keep how often something was used on a day: ``add`` to what was reported, or in its place.

    Raises
    ------
    InvalidInput : it is malformed, or the use of this type is not reported.
    """
    if entity.entity_type not in USED_TYPES:
        raise InvalidInput(
            f"usage of {with_article(entity.entity_type)} cannot be reported; valid types: {', '.join(USED_TYPES)}"
        )
    report = checked_document(_REPORT, request)
    on_day, usage = day_number(report["date"]), record.transaction.usage
    before = usage.details(entity.id, on_day)
    old_count = before["dailyStats"]["count"] if before else 0
    new_count = old_count + report["count"] if add else report["count"]
    usage.put(entity.id, entity.entity_type, on_day, new_count)
    if entity.entity_type == "table":
        for entity_type in _ADDS_UP_FOR:
            usage.add(entity.document[entity_type]["id"], entity_type, on_day, new_count - old_count)
    after = usage.details(entity.id, on_day)
    if before is not None and is_same(before, after):
        return Written(entity.document, None)
    return record.note(entity, describe(FIELD, old=before, new=after))
