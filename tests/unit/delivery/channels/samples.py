"""Events that every chat channel has a golden message of, and what no message may show as markup."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.unit.delivery.events import addition_of, change_event, dispatch, update_of
from tests.unit.delivery.wording.test_threads import event as thread_event
from tests.unit.delivery.wording.test_threads import task

from tocsin.delivery.dispatch import Button, Dispatch
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.notification import Reason, ReasonKind

HOME = "https://tocsin.example.org"
REASON = Reason(kind=ReasonKind.EXTERNAL, subscription_id="s", subscription_name="Orders", destination_id="d")
FAILED_MS, RECOVERED_MS = 1_760_000_000_000, 1_760_003_600_000
PASSED = {"testCaseStatus": "Success", "timestamp": 1_759_990_000_000, "result": "0 rows of 10 are null"}
FAILED = {
    "testCaseStatus": "Failed",
    "timestamp": FAILED_MS,
    "result": "Found 3 rows of 10 are null",
    "testResultValue": [{"name": "nullCount", "value": "3"}],
    "failedRows": 3,
    "passedRows": 7,
}
OPENED = {"testCaseResolutionStatusType": "New", "stateId": "5"}
REFUSED = {
    "operation": "EditTags",
    "entity": {"id": "o-1", "type": "table", "fullyQualifiedName": "acme.shop.public.orders"},
    "user": {"id": "7", "type": "user", "name": "ann"},
}
OWNERS = [
    {"type": "user", "id": "0d9c", "name": "dana", "displayName": "Dana Whitlock"},
    {"type": "team", "id": "7ea3", "name": "Shop"},
]
LINK = "<#E::table::acme.shop.public.orders::columns::email>"
TEST_ID = "123e4567-e89b-12d3-a456-426614174000"
TEST = {
    "id": TEST_ID,
    "name": "email_not_null",
    "owners": OWNERS,
    "entityLink": LINK,
    "parameterValues": [{"name": "minValue", "value": "0"}],
}
EVENTS = {
    "schema_change": change_event(),
    "type_change": change_event(update_of("columns.email.dataType", "VARCHAR", "TEXT")),
    "test_failure": change_event(
        ChangeDescription(
            fields_added=(FieldChange(name="incidentStatus", new_value=OPENED),),
            fields_updated=(FieldChange(name="testCaseResult", old_value=PASSED, new_value=FAILED),),
        ),
        event_type=EventType.TEST_CASE_FAILURE,
        entity_type="testCase",
        entity_fully_qualified_name="acme.shop.public.orders.email.email_not_null",
        entity=TEST,
    ),
    "recovery": change_event(
        update_of("testCaseResult", FAILED, PASSED | {"timestamp": RECOVERED_MS}),
        timestamp=RECOVERED_MS,
        entity_type="testCase",
        entity_fully_qualified_name="acme.shop.public.orders.email.email_not_null",
        entity=TEST,
    ),
    "policy_violation": change_event(
        addition_of("violation", REFUSED),
        event_type=EventType.POLICY_VIOLATION,
        entity_type="policy",
        entity_fully_qualified_name="PiiPolicy",
        entity={"id": "123e4567-e89b-12d3-a456-426614174000", "name": "PiiPolicy"},
    ),
    "deletion": change_event(None, event_type=EventType.ENTITY_SOFT_DELETED),
    "task": thread_event("threadCreated", **task("RequestDescription", "ann")),
}
HOSTILE = (
    "<!channel> <@U012> @here <at>all</at> <users/all> [click](https://evil.example) <https://evil.example|x>"
    " *b* _i_ `c` ~s~ <b>x</b> {{DATE(2026-01-01T00:00:00Z)}} :tada:"
)


def sample(name: str) -> Dispatch:
    return dispatch(EVENTS[name], reasons=(REASON,))


def with_incident(message: Dispatch) -> Dispatch:
    """Return a message with a button to acknowledge an incident for each of its notifications."""
    button = Button("Acknowledge INC-7", f"{HOME}/#/incidents/INC-7", "token")
    return replace(message, buttons={one.notification_id: (button,) for one in message.entries})


def hostile() -> Dispatch:
    event = change_event(
        update_of("description", HOSTILE, HOSTILE),
        user_name=HOSTILE,
        entity_fully_qualified_name=f"acme.{HOSTILE}",
        entity={"id": "i", "name": HOSTILE},
    )
    return dispatch(event, reasons=(REASON.model_copy(update={"subscription_name": HOSTILE}),))


def enormous() -> Dispatch:
    many = tuple(
        FieldChange(name=f"columns.c{number}.description", old_value="ü" * 2_000, new_value="<" * 2_000)
        for number in range(500)
    )
    return dispatch(change_event(ChangeDescription(fields_updated=many)), reasons=(REASON,))


def digest(count: int, event: ChangeEvent | None = None) -> Dispatch:
    """Return a message about that many assets, to which the same has happened."""
    sample = dispatch(event or change_event(update_of("description", "old", "<b>new</b>")), reasons=(REASON,))
    events = (sample.event.model_copy(update={"entity_id": f"{place:036}"}) for place in range(count))
    entries = [replace(sample.first, notification_id=f"n{place}").with_event(one) for place, one in enumerate(events)]
    return replace(sample, entries=tuple(entries))


def enormous_digest() -> Dispatch:
    long = tuple(FieldChange(name=f"field{n}", old_value="x" * 900, new_value="y" * 900) for n in range(5))
    return digest(30, change_event(ChangeDescription(fields_updated=long)))


def texts_of(value: Any) -> list[str]:
    """Return every text anywhere in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_of(one)]


def assert_golden(rendered: object, golden: Path) -> None:
    """Compare with a golden file; ``WRITE_GOLDEN=1`` writes it anew: read the difference before committing it."""
    if os.environ.get("WRITE_GOLDEN") == "1":
        golden.write_text(json.dumps(rendered, indent=2, ensure_ascii=False) + "\n")
    assert rendered == json.loads(golden.read_text())
