"""Rows that failed a test, for mails to one person each and for inboxes: as far as that person may see them then.

Rights and masks are those of the route of failed rows, asked even where everybody may view everything. Excerpts of the
rows are read, never the rows. Next: ``delivery/wording/failing_rows.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import NamedTuple

from sqlalchemy import Engine

from tocsin.access.decide import Permissions
from tocsin.access.permission_cache import PermissionCache
from tocsin.access.sample_masks import masked_rows, masked_tags_for
from tocsin.access.visibility_parents import FOUND
from tocsin.catalogue.observations.failed_rows import EXCERPT, RESULT_AT
from tocsin.chunks import chunks_of
from tocsin.clock import Steady, steady_s
from tocsin.delivery.dispatch import Dispatch, FailingRows
from tocsin.delivery.wording.failing_rows import failing_rows_of
from tocsin.delivery.wording.reports import is_failure_report, reported_at_ms
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.observations.reads import ObservationReads
from tocsin.store.outbox.send_permission import SURE_FOR_S

_CASE, _TABLE = "testCase", "table"
_WITHHELD = FailingRows(are_withheld=True)
_CASES_AT_ONCE = 25
"""So many tests are read in one statement: the documents of their tables come along."""

_REMEMBERED_S = 10.0


class ResultPlace(NamedTuple):
    """A result of a test case, by the time that it reports."""

    case_id: str
    at_ms: int | None


class _VisibleRows(NamedTuple):
    """What readers may see of the rows of a test case, since when that is known, and of which result the rows are."""

    asked_at_s: float
    result_at_ms: int | None
    by_reader: Mapping[str, FailingRows | None]


class FailedRowSamples:
    """The rows of one store that failed tests; values of columns with one of these tags are masked.

    An answer holds for a second. After it the next reader asks anew, for all readers of the same test.
    """

    def __init__(
        self,
        engine: Engine,
        masked_tags: Collection[str],
        permission_cache: PermissionCache,
        *,
        steady: Steady = steady_s,
    ) -> None:
        self._masked_tags = masked_tags
        self._permission_cache = permission_cache
        self._steady = steady
        self._observations = ObservationReads(engine)
        self._states = SqlEntityStates(engine)
        self._rows_by_case: dict[str, _VisibleRows] = {}

    def look_ahead(self, dispatches: Iterable[Dispatch]) -> None:
        """Ask for all of these messages together, in few statements, what they may show; they will be sent soon."""
        readers_by_case: dict[str, set[str]] = defaultdict(set)
        for dispatch in dispatches:
            if (reader_id := _reader_of(dispatch)) is not None:
                readers_by_case[dispatch.event.entity_id].add(reader_id)
        if readers_by_case:
            self._ask(readers_by_case)

    def of(self, dispatch: Dispatch) -> FailingRows | None:
        """Return rows of the result that a mail to one person tells of; None if there are none, or for other messages.

        Withheld are rows that the person may not see. Those of a newer result, and what goes to a bot, are not shown.
        """
        reader_id = _reader_of(dispatch)
        if reader_id is None:
            return None
        case_id = dispatch.event.entity_id
        visible_rows = self._rows_by_case.get(case_id)
        if (
            visible_rows is None
            or self._steady() >= visible_rows.asked_at_s + SURE_FOR_S
            or reader_id not in visible_rows.by_reader
        ):
            readers = visible_rows.by_reader.keys() if visible_rows else frozenset[str]()
            visible_rows = self._ask({case_id: readers | {reader_id}})[case_id]
        is_of_result = visible_rows.result_at_ms == reported_at_ms(dispatch.event)
        return visible_rows.by_reader.get(reader_id) if is_of_result else None

    def visible_to(self, reader_id: str, results: Iterable[ResultPlace]) -> dict[ResultPlace, FailingRows]:
        """Return what a person may see now of the rows of these results of tests; of most there are none."""
        wanted_results = set(results)
        if not wanted_results:
            return {}
        rows_by_case = self._ask({result.case_id: {reader_id} for result in wanted_results})
        rows_by_result = {
            ResultPlace(case_id, visible_rows.result_at_ms): visible_rows.by_reader[reader_id]
            for case_id, visible_rows in rows_by_case.items()
        }
        return {
            result: failing_rows
            for result in wanted_results
            if (failing_rows := rows_by_result.get(result)) is not None
        }

    def _ask(self, readers_by_case: Mapping[str, AbstractSet[str]]) -> Mapping[str, _VisibleRows]:
        """Return, and remember, what these readers may see now of the rows of each of these test cases."""
        now_s = self._steady()
        excerpts = self._observations.attachments(list(readers_by_case), EXCERPT)
        all_readers = {reader_id for case_id in excerpts for reader_id in readers_by_case[case_id]}
        permissions = self._permission_cache.current_policies().of_many(all_readers)
        rows_by_case = {
            case_id: _VisibleRows(now_s, None, dict.fromkeys(readers)) for case_id, readers in readers_by_case.items()
        }
        for case_ids in chunks_of(sorted(excerpts), _CASES_AT_ONCE):
            for case_id, (_, case) in self._states.of(case_ids).items():
                if not case.get("deleted"):
                    readers_of_case = {one: permissions[one] for one in readers_by_case[case_id]}
                    by_reader = self._visible_rows(readers_of_case, excerpts[case_id], case)
                    rows_by_case[case_id] = _VisibleRows(now_s, excerpts[case_id].get(RESULT_AT), by_reader)
        recent_rows = {
            case_id: visible_rows
            for case_id, visible_rows in self._rows_by_case.items()
            if now_s < visible_rows.asked_at_s + _REMEMBERED_S
        }
        self._rows_by_case = recent_rows | rows_by_case
        return rows_by_case

    def _visible_rows(
        self, readers: Mapping[str, Permissions], excerpt: Document, case: Document
    ) -> dict[str, FailingRows | None]:
        """Return what each of these readers may see of an excerpt of the rows of a test case."""
        table = next((subject for kind, subject in case.get(FOUND, ()) if kind == _TABLE), None)
        if table is None:
            return dict.fromkeys(readers, _WITHHELD)

        @cache
        def masked_excerpt(tags: frozenset[str]) -> FailingRows:
            return failing_rows_of(excerpt, lambda kept_rows: masked_rows(kept_rows, table, tags, masks_unknown=True))

        def rows_for(reader: Permissions) -> FailingRows:
            if reader.subject.is_bot or not reader.may(Operation.VIEW_SAMPLE_DATA, _CASE, case):
                return _WITHHELD
            return masked_excerpt(masked_tags_for(reader.subject, self._masked_tags, lambda: table.get("owners") or ()))

        return {reader_id: rows_for(reader) for reader_id, reader in readers.items()}


def is_failed_test(event: ChangeEvent) -> bool:
    """Return whether an event reports that a test failed."""
    return event.entity_type == _CASE and is_failure_report(event)


def may_show_rows(channel: str, entity_type: str) -> bool:
    """Return whether a message of a single event may show rows that failed a test, by its channel and what it is of."""
    return channel == Channel.EMAIL and entity_type == _CASE


def _reader_of(dispatch: Dispatch) -> str | None:
    """Return whom a mail about a failed test is for, if that is one person and nobody else reads the address."""
    entry = dispatch.first
    is_personal = dispatch.reaches_recipient and all(reason.is_personal for reason in entry.reasons)
    is_of_test = len(dispatch.entries) == 1 and may_show_rows(dispatch.message.channel, entry.event.entity_type)
    is_failure = is_of_test and is_failure_report(entry.event)
    return entry.recipient_id if is_personal and is_failure and not entry.recipient_gone else None
