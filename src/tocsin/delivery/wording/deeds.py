"""What an event says was done, and by whom: ``changed by ann,``, ``reported`` of results, which nobody has changed.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from tocsin.delivery.lines import clean_line
from tocsin.delivery.wording.change_requests import is_change_overdue
from tocsin.delivery.wording.incidents import tells_of_incident
from tocsin.delivery.wording.reports import is_report
from tocsin.model.change import OF_CHANGE_REQUESTS, ChangeEvent, EventType
from tocsin.model.thread import THREAD

_DONE = {
    EventType.ENTITY_CREATED: "created by",
    EventType.ENTITY_SOFT_DELETED: "deleted by",
    EventType.ENTITY_DELETED: "permanently deleted by",
    EventType.ENTITY_RESTORED: "restored by",
    **dict.fromkeys(OF_CHANGE_REQUESTS, "by"),
}
_SESSIONS = {EventType.USER_LOGIN: "logged in", EventType.USER_LOGOUT: "logged out"}
_REPORTED = "reported"
_OF_NOBODY = frozenset({EventType.CHANGE_REQUEST_ANSWERED, EventType.CHANGE_REQUEST_REMINDER})
"""Types of events that name nobody as their author."""


def deed_text(event: ChangeEvent, times: int) -> str:
    """Return what an event says was done, and by whom; the last of several that are told as one."""
    if is_report(event) or event.event_type in _OF_NOBODY or is_change_overdue(event):
        return f"{_REPORTED} {times:,} times, last" if times > 1 else _REPORTED
    if event.event_type in _SESSIONS:
        return _SESSIONS[event.event_type]
    verb = "from" if event.entity_type == THREAD else _DONE.get(event.event_type, "changed by")
    verb = "by" if tells_of_incident(event) else "imported by" if event.is_import else verb
    verb = f"changed {times:,} times by" if times > 1 else verb
    return f"{verb} {clean_line(event.user_name or 'a person')},"
