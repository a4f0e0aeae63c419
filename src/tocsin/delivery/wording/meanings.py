"""Meaning of each change of an event in words, beside its parts, for who reads events as JSON.

Next: ``delivery/wording/event_formats.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.conditions.changes import ChangeOperation, EventChange, changes_of
from tocsin.delivery.lines import clean_line
from tocsin.delivery.wording.changes import description_of, event_text
from tocsin.delivery.wording.incidents import tells_of_incident
from tocsin.delivery.wording.paths import words_of_path
from tocsin.delivery.wording.reports import REPORT_LINES, WITHOUT_OWNER, is_report
from tocsin.model import fqn
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document

_REPORTED, _BARE = "reported", frozenset({"quality", "run", "access"})


def semantic_changes(event: ChangeEvent) -> list[Document]:
    """Return what each change of the event means, as JSON: its parts, and ``text`` that says it in words."""
    report, changes = _report_words(event), list(changes_of(event))
    renames = _rename_texts(event, changes)
    return [
        {
            "category": change.category,
            "operation": change.operation.value,
            "target": change.target,
            **({"value": change.value} if change.value is not None else {}),
            "text": report.get(_reported_category(change))
            or renames.get((change.operation, change.target))
            or description_of(change),
        }
        for change in changes
    ]


def _rename_texts(event: ChangeEvent, changes: Sequence[EventChange]) -> Mapping[tuple[ChangeOperation, str], str]:
    """Return what is said of an announced rename, by the targets of the removal and the addition it is written as."""
    targets = {(one.operation, one.target) for one in changes if one.category == "schema"}
    texts: dict[tuple[ChangeOperation, str], str] = {}
    for announcement in event.announcements or ():
        new_name = announcement.renamed_to
        if announcement.field and new_name:
            *above, name = fqn.steps_of(announcement.field)
            went, came = [*above, name], [*above, new_name]
            keys = (ChangeOperation.REMOVE, fqn.join(went)), (ChangeOperation.ADD, fqn.join(came))
            if targets.issuperset(keys):
                texts |= dict.fromkeys(keys, clean_line(f"{words_of_path(went)} renamed to {new_name}"))
    return texts


def _report_words(event: ChangeEvent) -> Mapping[str, str]:
    """Return what an event reports in words, by the category of a change that says only that something did."""
    is_request = event.event_type is EventType.CHANGE_REQUEST_UPDATED
    if not (is_report(event) or tells_of_incident(event) or is_request):
        return {}
    lines = [line.text for line in event_text(event).all_lines if not line.label]
    ownerless = next((text for text in lines if text == WITHOUT_OWNER), None)
    return {_REPORTED: lines[0], **({"owner": ownerless} if ownerless else {})} if lines else {}


def _reported_category(change: EventChange) -> str:
    """Return ``_REPORTED`` for a change that only names the field of a report; ``owner`` for that of owners."""
    if change.category == "owner" and change.value is None:
        return "owner"
    is_bare = change.value is None and change.category in _BARE
    return _REPORTED if is_bare or (change.category == "other" and change.value in REPORT_LINES) else ""
