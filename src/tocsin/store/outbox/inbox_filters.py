"""Conditions of SQL for filters of an inbox: rows that may match, found without their documents.

Whether a row does match is judged by what its reader may see of it (``server/inbox/entry_filters.py``): rows of wholes
and parts are led by others for some readers, so all of these may. Next: ``store/outbox/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, and_, or_

from tocsin.model.causes import parse_token
from tocsin.model.inbox_filter import EntryFilter
from tocsin.model.subscription import Channel
from tocsin.model.thread import THREAD
from tocsin.store.database.tables import change_event, notification

_EVENT, _ROW = change_event.c, notification.c
_ABOUT_OTHERS = (THREAD, "testCase", "testSuite")
"""Types of entities whose events may be about an asset that is not their entity."""


def may_match(entry_filter: EntryFilter) -> ColumnElement[bool] | None:
    """Return whether a row, joined with its event, may match; None of a filter that says nothing of rows."""
    conditions = list(_conditions_of(entry_filter))
    all_of = [or_(_ROW.whole_id.is_not(None), and_(*conditions))] if conditions else []
    if entry_filter.needs_me:  # of a whole, its lead decides; by the index of such rows
        all_of += [_ROW.channel == Channel.ACTIVITY_FEED.value, _ROW.need.is_not(None)]
    return and_(*all_of) if all_of else None


def _conditions_of(entry_filter: EntryFilter) -> Iterator[ColumnElement[bool]]:
    if entry_filter.asset is not None:
        yield or_(_EVENT.entity_id == str(entry_filter.asset), _EVENT.entity_type.in_(_ABOUT_OTHERS))
    if entry_filter.alert is not None:
        yield _ROW.reasons.contains(f'"{entry_filter.alert}"')
    if entry_filter.reasons:
        yield or_(*(_ROW.reasons.contains(f'"{reason.value}"') for reason in entry_filter.reasons))
    if entry_filter.actor is not None:
        yield _EVENT.user_name == entry_filter.actor
    if entry_filter.cause is not None and (token := parse_token(entry_filter.cause)) is not None:
        yield _ROW.log_offset.between(token.first, token.last)
    if entry_filter.start_ms is not None:
        yield _EVENT.timestamp_ms >= entry_filter.start_ms
    if entry_filter.end_ms is not None:
        yield _EVENT.timestamp_ms <= entry_filter.end_ms
