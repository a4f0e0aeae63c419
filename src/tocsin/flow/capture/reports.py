"""What is written about an entity without making a new version of it? Followers, test results, pipeline runs."""

from __future__ import annotations

from collections.abc import Callable

from tocsin.errors import InvalidInput
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.ports import Stored, Written
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, EventType, FieldChange
from tocsin.model.entity import Document


def follow(record: Record, entity: Stored, user: Document) -> Written:
    """Make ``user`` (a full reference) a follower; nothing if they are one already."""
    if not record.transaction.follow(entity, user["id"], record.at_ms):
        return Written(entity.document, None)
    change = FieldChange(name="followers", new_value=[user])
    return record.note(entity, ChangeDescription(fields_added=(change,)))


def unfollow(record: Record, entity: Stored, user: Document) -> Written:
    """Make ``user`` (a full reference) no follower; nothing if they are none."""
    if not record.transaction.unfollow(entity, user["id"]):
        return Written(entity.document, None)
    change = FieldChange(name="followers", old_value=[user])
    return record.note(entity, ChangeDescription(fields_deleted=(change,)))


def add_test_result(record: Record, case: Stored, result: Document) -> Written:
    """Keep the result of one run of a test case; a failure makes a ``testCaseFailure``."""
    status = _text(result, "testCaseStatus")
    failed = status == "Failed"
    event_type = EventType.TEST_CASE_FAILURE if failed else EventType.ENTITY_UPDATED
    return _report(record, case, ("testCaseResult", result), event_type, lambda: {"testCaseStatus": status})


def add_pipeline_status(record: Record, pipeline: Stored, status: Document) -> Written:
    """Keep the state of one run of a pipeline."""
    _text(status, "executionStatus")
    return _report(record, pipeline, ("pipelineStatus", status), EventType.ENTITY_UPDATED, dict)


def _report(
    record: Record,
    entity: Stored,
    report: tuple[str, Document],
    event_type: EventType,
    beside: Callable[[], Document],
) -> Written:
    key, new = report
    at_ms = _timestamp(new)
    if not record.transaction.report(entity, at_ms, new):
        return Written(entity.document, None)
    old = entity.document.get(key)
    if old is None:
        description = ChangeDescription(fields_added=(FieldChange(name=key, new_value=new),))
    else:
        change = FieldChange(name=key, old_value=None if is_same(old, new) else old, new_value=new)
        description = ChangeDescription(fields_updated=(change,))
    is_latest = old is None or at_ms >= old["timestamp"]
    document = entity.document | {key: new} | beside() if is_latest else None
    return record.note(entity, description, event_type=event_type, document=document)


def _text(report: Document, key: str) -> str:
    value = report.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"the report needs {key}", field=key)
    return value


def _timestamp(report: Document) -> int:
    at_ms = report.get("timestamp")
    if not isinstance(at_ms, int) or isinstance(at_ms, bool):
        raise InvalidInput("the report needs a timestamp in milliseconds", field="timestamp")
    return at_ms
