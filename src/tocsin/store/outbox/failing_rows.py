"""Rows that failed a test, for a mail to one person: as far as that person may see them when it is sent.

Rights and masks are those of the route of failed rows, asked even where everybody may view everything.
Next: ``delivery/wording/failing_rows.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.sample_masks import masked_rows, masked_tags_for
from tocsin.access.subject import Subject
from tocsin.catalogue.observations.profiles import place_of
from tocsin.catalogue.observations.samples import FAILED_ROWS, RESULT_AT
from tocsin.delivery.dispatch import Dispatch, FailingRows
from tocsin.delivery.wording.failing_rows import failing_rows_of
from tocsin.delivery.wording.reports import is_failure_report, reported_at_ms
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.observations.reads import ObservationReads

_CASE, _TABLE = "testCase", "table"
_WITHHELD = FailingRows(are_withheld=True)


class FailedRowSamples:
    """The rows of one store that failed tests; values of columns with one of these tags are masked."""

    def __init__(self, engine: Engine, masked_tags: Collection[str]) -> None:
        self._masked_tags = masked_tags
        self._observations = ObservationReads(engine)
        self._permission_cache = PermissionCache(SqlSubjects(engine))
        self._states = SqlEntityStates(engine)

    def of(self, dispatch: Dispatch) -> FailingRows | None:
        """Return rows of the result that a mail to one person tells of; None if there are none, or for other messages.

        Withheld are rows that the person may not see. Those of a newer result, and what goes to a bot, are not shown.
        """
        reader_id = _reader_of(dispatch)
        if reader_id is None:
            return None
        case_id = dispatch.event.entity_id
        sample = self._observations.attachments([case_id], FAILED_ROWS).get(case_id)
        if sample is None or sample.get(RESULT_AT) != reported_at_ms(dispatch.event) or not sample["rows"]:
            return None
        permissions = self._permission_cache.current_policies().of(reader_id)
        _, case = self._states.of([case_id]).get(case_id, (_CASE, {}))
        if not case or case.get("deleted"):
            return None
        may_see = permissions.may(Operation.VIEW_SAMPLE_DATA, _CASE, case)
        table = self._tested_table(case) if may_see and not permissions.subject.is_bot else None
        return _WITHHELD if table is None else self._shown_rows(sample, table, permissions.subject)

    def _shown_rows(self, sample: Document, table: Document, reader: Subject) -> FailingRows:
        tags = masked_tags_for(reader, self._masked_tags, partial(self._observations.owners, table["id"]))
        return failing_rows_of(sample, lambda shown: masked_rows(shown, table, tags, masks_unknown=True))

    def _tested_table(self, case: Document) -> Document | None:
        name, _ = place_of(case["entityFQN"])
        references = self._states.references_named([name]).get(name, ())
        table_id = next((one["id"] for one in references if one["type"] == _TABLE), None)
        return None if table_id is None else self._states.of([table_id]).get(table_id, (_TABLE, None))[1]


def _reader_of(dispatch: Dispatch) -> str | None:
    """Return whom a mail about a failed test is for, if that is one person and nobody else reads the address."""
    entry = dispatch.first
    is_personal = dispatch.reaches_recipient and all(reason.is_personal for reason in entry.reasons)
    is_single_mail = dispatch.message.channel == Channel.EMAIL and len(dispatch.entries) == 1
    is_of_test = entry.event.entity_type == _CASE and is_failure_report(entry.event)
    return entry.recipient_id if is_personal and is_single_mail and is_of_test and not entry.recipient_gone else None
